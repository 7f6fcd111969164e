package run

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/wagent-dev/wagent/host/model"
)

// ErrOrder is wrapped by the error of [Apply] for an event that cannot follow.
var ErrOrder = errors.New("event out of order")

// Apply folds e into s and returns the new state. It is pure: no clock, no
// random numbers, no input or output, so the same events give the same state
// anywhere. It consumes s, whose slices it may append to; use [State.Clone] to
// keep one. Transient events leave the state as it is.
func Apply(s State, e Event) (State, error) {
	if e.Transient() {
		return s, nil
	}
	if err := s.admits(&e); err != nil {
		return s, err
	}
	if err := s.fold(e.Body); err != nil {
		return s, fmt.Errorf("%w: %s at %d: %w", ErrOrder, e.Body.kind(), e.Seq, err)
	}
	if s.Seq == 0 {
		s.Run, s.Started, s.Since.Time = e.Run, e.Time, e.Time
	}
	if _, again := e.Body.(Resumed); again {
		s.Since.Time = e.Time
	}
	s.Seq, s.Updated = e.Seq, e.Time
	return s, nil
}

// admits checks what holds for every event, whatever its body.
func (s *State) admits(e *Event) error {
	_, first := e.Body.(Prompted)
	_, again := e.Body.(Resumed)
	switch {
	case e.Body == nil:
		return fmt.Errorf("%w: event %d has no body", ErrOrder, e.Seq)
	case e.Seq != s.Seq+1:
		return fmt.Errorf("%w: got seq %d after %d", ErrOrder, e.Seq, s.Seq)
	case first != (s.Seq == 0):
		return fmt.Errorf("%w: %s at %d", ErrOrder, e.Body.kind(), e.Seq)
	case s.Seq > 0 && e.Run != s.Run:
		return fmt.Errorf("%w: event of run %s in run %s", ErrOrder, e.Run, s.Run)
	case s.Done && !again:
		return fmt.Errorf("%w: %s after the end", ErrOrder, e.Body.kind())
	case again && !s.Done:
		return fmt.Errorf("%w: %s before the end", ErrOrder, e.Body.kind())
	}
	return nil
}

func (s *State) fold(b Body) error {
	switch b := b.(type) {
	case Prompted:
		s.Agent, s.Manifest, s.Parts, s.Tools = b.Agent, b.Manifest, b.Parts, b.Tools
		s.Messages = append(s.Messages, b.Messages...)
		s.Given = len(s.Messages)
		s.User = maps.Clone(b.State)
		if b.Budget != nil {
			s.Budget = *b.Budget
		}
	case Began:
		return s.began(b)
	case Replied:
		return s.replied(b)
	case Planned:
		return s.planned(b)
	case Called:
		return s.called(b)
	case Returned:
		return s.returned(b)
	case Ended:
		return s.ended(b)
	case Hooked:
		return s.hooked(b)
	case Resumed:
		s.resumed(b)
	case Finished:
		if s.Turn != nil && s.Turn.Open() {
			return errors.New("a call has no result")
		}
		s.spend(Spent{Usage: b.Usage, Cost: b.Cost})
		s.Done, s.ExitReason, s.Output, s.Partial = true, b.ExitReason, b.Output, b.Partial
		s.Structured = b.Structured
	case Failed:
		if s.Turn != nil && s.Turn.Open() {
			return errors.New("a call has no result")
		}
		s.spend(Spent{Usage: b.Usage, Cost: b.Cost})
		err := b.Err
		s.Done, s.ExitReason, s.Failure = true, ExitError, &err
	default:
		return fmt.Errorf("unknown body %T", b)
	}
	return nil
}

func (s *State) began(b Began) error {
	switch {
	case s.Turn != nil && !s.Turn.Ended:
		return fmt.Errorf("step %d is open", s.Turn.Step)
	case s.Closing != nil:
		return errors.New("the model has given its last answer")
	}
	if b.Step != s.StepCount+1 {
		return fmt.Errorf("step %d after %d", b.Step, s.StepCount)
	}
	s.Turn = &Turn{Step: b.Step}
	return nil
}

// turn returns the open turn if it is step.
func (s *State) turn(step int) (*Turn, error) {
	switch {
	case s.Turn == nil || s.Turn.Ended:
		return nil, errors.New("no step is open")
	case s.Turn.Step != step:
		return nil, fmt.Errorf("step %d is open, not %d", s.Turn.Step, step)
	}
	return s.Turn, nil
}

func (s *State) replied(b Replied) error {
	if b.Step == 0 {
		return s.closing(b)
	}
	t, err := s.turn(b.Step)
	switch {
	case err != nil:
		return err
	case t.Reply != nil:
		return errors.New("the model has answered already")
	}
	t.Reply = &b
	if b.Message != nil {
		s.Messages = append(s.Messages, *b.Message)
	}
	s.StepCount = b.Step
	s.NoSchema = s.NoSchema || b.NoSchema
	s.spend(Spent{Usage: b.Usage, Cost: b.Cost})
	s.ContextTokens = b.ContextTokens
	return nil
}

func (s *State) spend(b Spent) {
	s.Usage = s.Usage.Add(b.Usage)
	s.Cost += b.Cost
	s.Nested += b.ToolCalls
}

// closing takes the answer that was asked for at a limit, which is no step.
func (s *State) closing(b Replied) error {
	switch {
	case s.Turn != nil && !s.Turn.Ended:
		return fmt.Errorf("step %d is open", s.Turn.Step)
	case s.Closing != nil:
		return errors.New("the model has given its last answer already")
	case b.Message != nil && len(b.Message.ToolCalls) > 0:
		return errors.New("the last answer calls tools")
	}
	s.Closing = &b
	if b.Message != nil {
		s.Messages = append(s.Messages, *b.Message)
	}
	s.spend(Spent{Usage: b.Usage, Cost: b.Cost})
	s.ContextTokens = b.ContextTokens
	return nil
}

func (s *State) planned(b Planned) error {
	t, err := s.turn(b.Step)
	switch {
	case err != nil:
		return err
	case t.Reply == nil:
		return errors.New("the model has not answered")
	case t.Plan != nil:
		return errors.New("the reply has been read already")
	case b.Feedback != "" && (len(b.Actions) > 0 || b.Finish != nil):
		return errors.New("a reply that is refused has actions or an end")
	}
	for _, id := range b.Outputs {
		if !slices.ContainsFunc(b.Actions, func(a Action) bool { return a.CallID == id }) {
			return fmt.Errorf("no action has the id %q", id)
		}
	}
	t.Plan = &b
	t.Slots = make([]Slot, len(b.Actions))
	return nil
}

// slot returns the place of the action with this id.
func (s *State) slot(step int, callID string) (*Slot, error) {
	t, err := s.turn(step)
	switch {
	case err != nil:
		return nil, err
	case t.Plan == nil:
		return nil, errors.New("nothing is planned")
	}
	for i := range t.Plan.Actions {
		if t.Plan.Actions[i].CallID == callID {
			return &t.Slots[i], nil
		}
	}
	return nil, fmt.Errorf("no action has the id %q", callID)
}

func (s *State) called(b Called) error {
	slot, err := s.slot(b.Step, b.CallID)
	switch {
	case err != nil:
		return err
	case slot.Called || slot.Returned != nil:
		return fmt.Errorf("call %q was made already", b.CallID)
	case s.Turn.Output(b.CallID):
		return fmt.Errorf("%q is the run's output and calls nothing", b.CallID)
	}
	slot.Called, slot.Wave = true, b.Wave
	if s.CallCounts == nil {
		s.CallCounts = make(map[string]int)
	}
	s.CallCounts[b.Tool]++
	return nil
}

func (s *State) returned(b Returned) error {
	slot, err := s.slot(b.Step, b.CallID)
	switch {
	case err != nil:
		return err
	case slot.Returned != nil:
		return fmt.Errorf("call %q has a result already", b.CallID)
	}
	slot.Returned = &b
	return nil
}

func (s *State) ended(b Ended) error {
	t, err := s.turn(b.Step)
	switch {
	case err != nil:
		return err
	case t.Reply == nil:
		return errors.New("the model has not answered")
	case t.Open():
		return errors.New("a call has no result")
	}
	t.Ended = true
	if t.Plan == nil {
		return nil
	}
	s.User = merged(s.User, t.Slots, math.MaxInt)
	limited := false
	s.judged(t)
	for i, a := range t.Plan.Actions {
		r := t.Slots[i].Returned
		limited = limited || r.Limited
		if r.Spent != nil {
			s.spend(*r.Spent) // here, since calls return in any order, and a sum of prices is not the same in each
		}
		s.Messages = append(s.Messages, model.Message{
			Role: model.Tool, CallID: a.CallID, Name: a.Tool, Content: r.Content, IsError: r.IsError,
		})
		s.Steps = append(s.Steps, Step{
			Number: t.Step, Action: a, Observation: model.PartsText(r.Content), IsError: r.IsError, ErrorKind: r.ErrorKind, Receipt: r.Receipt,
			Content:   r.Content,
			NestedRun: r.NestedRun, Spent: r.Spent,
		})
		s.found(r.Found)
	}
	if t.Plan.Feedback != "" {
		s.Messages = append(s.Messages, model.Text(model.User, t.Plan.Feedback))
	}
	if limited {
		s.Limited++
	}
	return nil
}

// hooked takes what a hook says after the end of a step.
func (s *State) hooked(b Hooked) error {
	switch {
	case s.Turn == nil || !s.Turn.Ended || s.Turn.Step != b.Step:
		return fmt.Errorf("step %d has not just ended", b.Step)
	case s.Turn.Noted:
		return errors.New("the step has been looked at already")
	}
	s.Turn.Noted = true
	s.Messages = append(s.Messages, b.Append...)
	return nil
}

// resumed opens the run again. A step that had no reply yet is still to be taken; what
// ended the run does not end it again.
func (s *State) resumed(b Resumed) {
	s.Done, s.ExitReason, s.Output, s.Partial, s.Failure, s.Closing = false, "", "", "", nil, nil
	s.Structured, s.Refused = nil, 0
	if s.Turn != nil && s.Turn.Ended {
		s.Turn = nil
	}
	s.Messages = append(s.Messages, b.Messages...)
	s.Since = Since{
		StepCount: s.StepCount, Steps: len(s.Steps), Tokens: s.Usage.TotalTokens, Cost: s.Cost,
		CallCounts: maps.Clone(s.CallCounts), Nested: s.Nested, Limited: s.Limited,
	}
}

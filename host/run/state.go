package run

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/wagent-dev/wagent/host/model"
)

// State is a run as of its last event. It is made by [Apply] alone. What it
// points to is shared and never written; [State.Clone] makes one that can be
// kept while the original goes on.
type State struct {
	Run     ID
	Seq     uint64 // of the last event
	Started time.Time
	Updated time.Time

	Agent    string
	Manifest string
	Parts    map[string]string // as in [Prompted]
	Tools    []string
	Budget   Budget // limits in the place of the agent's

	Messages      []model.Message
	Given         int // messages that the run began with, the first of Messages
	StepCount     int // model calls that were answered
	Turn          *Turn
	Closing       *Replied // the answer that was asked for at a limit; nil: none was
	Steps         []Step
	Usage         model.Usage
	ContextTokens int64 // the provider's count of the last request and reply
	CallCounts    map[string]int
	User          map[string]json.RawMessage // the state's own keys, apart from all that the host keeps
	Cost          float64                    // of all model calls, those of runs that calls began included
	Nested        int                        // tool calls of runs that calls began
	Limited       int                        // steps in which a call was not made because of a limit of the run
	Found         []string                   // tools that the model is shown because it looked for them, in the order that they were found
	Refused       int                        // outputs in a row that were not what the schema asks for
	NoSchema      bool                       // the endpoint has refused the schema of the output

	Since Since // what the run had come to when it was begun, or resumed for the last time

	Done       bool
	ExitReason ExitReason
	Output     string
	Structured json.RawMessage // the value that Output is the text of; nil: there is none
	Partial    string          // text of a reply that the end of the run broke off
	Failure    *Failure
}

// Since is where the limits of a run count from.
type Since struct {
	Time       time.Time
	StepCount  int
	Steps      int // how many there were
	Tokens     int64
	Cost       float64
	CallCounts map[string]int
	Nested     int
	Limited    int
}

// Turn is the step that is under way, or the last one.
type Turn struct {
	Step  int
	Reply *Replied // nil: the model has not answered
	Plan  *Planned // nil: the reply has not been read
	Slots []Slot
	Ended bool
	Noted bool // a hook has looked at it after its end
}

// Slot is where the outcome of one action goes.
type Slot struct {
	Called   bool
	Wave     int // of the call; see [Called]
	Returned *Returned
}

// Open says that the turn has a call without a result.
func (t *Turn) Open() bool {
	return slices.ContainsFunc(t.Slots, func(r Slot) bool { return r.Returned == nil })
}

// Clone returns a copy that shares nothing which Apply writes.
func (s State) Clone() State {
	s.Messages = slices.Clip(s.Messages)
	s.Steps = slices.Clip(s.Steps)
	s.Found = slices.Clip(s.Found)
	s.CallCounts = maps.Clone(s.CallCounts)
	s.User = maps.Clone(s.User)
	if s.Turn != nil {
		t := *s.Turn
		t.Slots = slices.Clone(t.Slots)
		s.Turn = &t
	}
	return s
}

// Spent returns what the run has used so far, with the runs that its calls began.
func (s *State) Spent() Spent {
	out := Spent{Usage: s.Usage, Cost: s.Cost, ToolCalls: s.Nested}
	for _, n := range s.CallCounts {
		out.ToolCalls += n
	}
	if s.Turn == nil || s.Turn.Ended {
		return out
	}
	for _, slot := range s.Turn.Slots { // the sums take it when the step ends
		if r := slot.Returned; r != nil && r.Spent != nil {
			out = out.Add(*r.Spent)
		}
	}
	return out
}

// Result returns what the run has come to so far. It shares the state's
// messages and steps.
func (s *State) Result() *Result {
	r := &Result{
		Schema: 1, RunID: s.Run, ExitReason: s.ExitReason, Output: s.Output, Structured: s.Structured, Partial: s.Partial,
		Messages: s.Messages, Steps: s.Steps, StepCount: s.StepCount,
		ToolCallCounts: maps.Clone(s.CallCounts), TokenUsage: s.Usage, Cost: s.Cost,
		ContextTokens: s.ContextTokens, State: s.User, Error: s.Failure,
	}
	if r.Steps == nil {
		r.Steps = []Step{}
	}
	if r.Messages == nil {
		r.Messages = []model.Message{}
	}
	if r.ToolCallCounts == nil {
		r.ToolCallCounts = map[string]int{}
	}
	if n := len(s.Messages); n > 0 {
		r.LastMessage = &s.Messages[n-1]
	}
	return r
}

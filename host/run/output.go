package run

import "slices"

// Output says that the action with this id gives the run's output.
func (t *Turn) Output(callID string) bool {
	return t.Plan != nil && slices.Contains(t.Plan.Outputs, callID)
}

// Taken returns the result of the action that gave the run's output, or nil.
func (t *Turn) Taken() *Returned {
	for _, s := range t.Slots {
		if r := s.Returned; r != nil && !r.IsError && t.Output(r.CallID) {
			return r
		}
	}
	return nil
}

// judged counts the outputs in a row that were refused. A reply that could not be
// read says nothing about that.
func (s *State) judged(t *Turn) {
	switch {
	case t.Plan.Feedback != "", len(t.Plan.Outputs) > 0 && t.Taken() == nil:
		s.Refused++
	case !t.Plan.Unreadable:
		s.Refused = 0
	}
}

// found adds tools to those that the model is shown. The order only grows.
func (s *State) found(names []string) {
	for _, name := range names {
		if !slices.Contains(s.Found, name) {
			s.Found = append(s.Found, name)
		}
	}
}

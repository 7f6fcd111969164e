package run

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
)

// Merge says what becomes of a value of the state when another is written.
type Merge string

// The ways to merge.
const (
	Replace Merge = "replace" // the new value is the value
	// Append puts the new value, which is an element or a list of them, behind the
	// list that there is. What is there and is no list becomes one of one element.
	Append Merge = "append"
)

// Write is a value for a key of the run's state.
type Write struct {
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"`
	Merge Merge           `json:"merge"`
}

// Merged returns what a key that has current, or nothing, has after the write.
func (w *Write) Merged(current json.RawMessage) json.RawMessage {
	if w.Merge != Append {
		return w.Value
	}
	all := append(elements(current), elements(w.Value)...)
	out, err := json.Marshal(all)
	if err != nil { // it was JSON when it was written
		return current
	}
	return out
}

// elements are those of a list, none for nothing and null, and the one value of all
// else.
func elements(v json.RawMessage) []json.RawMessage {
	v = bytes.TrimSpace(v)
	if len(v) == 0 || string(v) == "null" {
		return []json.RawMessage{}
	}
	list := []json.RawMessage{}
	if json.Unmarshal(v, &list) != nil {
		return []json.RawMessage{v}
	}
	return list
}

// Seen returns the state that a call of this wave sees: what was there before the
// step, and what calls of lower waves have written. The caller must not change it.
func (s *State) Seen(wave int) map[string]json.RawMessage {
	if s.Turn == nil || s.Turn.Ended {
		return s.User
	}
	return merged(s.User, s.Turn.Slots, wave)
}

// Would returns the state that the step under way comes to when a call of it, which has
// no result yet, writes this: with what the calls before and behind it have written so
// far. The caller must not change it.
func (s *State) Would(callID string, writes []Write) map[string]json.RawMessage {
	if s.Turn == nil || s.Turn.Ended || s.Turn.Plan == nil {
		return s.User
	}
	slots := slices.Clone(s.Turn.Slots)
	for i := range s.Turn.Plan.Actions {
		if s.Turn.Plan.Actions[i].CallID == callID {
			slots[i].Returned = &Returned{Writes: writes}
		}
	}
	return merged(s.User, slots, math.MaxInt)
}

// merged returns user with what the slots below wave wrote. Calls of one wave count in
// their order and not in that in which they ended, which is another each time.
func merged(user map[string]json.RawMessage, slots []Slot, wave int) map[string]json.RawMessage {
	var writers []*Slot
	for i := range slots {
		if s := &slots[i]; s.Wave < wave && s.Returned != nil && len(s.Returned.Writes) > 0 {
			writers = append(writers, s)
		}
	}
	if len(writers) == 0 {
		return user
	}
	slices.SortStableFunc(writers, func(a, b *Slot) int { return cmp.Compare(a.Wave, b.Wave) })
	out := maps.Clone(user)
	if out == nil {
		out = make(map[string]json.RawMessage)
	}
	lists := make(map[string][]json.RawMessage) // of keys that were appended to: each is written once
	for _, s := range writers {
		for _, w := range s.Returned.Writes {
			if w.Merge != Append {
				delete(lists, w.Key)
				out[w.Key] = w.Value
				continue
			}
			if lists[w.Key] == nil {
				lists[w.Key] = elements(out[w.Key])
			}
			lists[w.Key] = append(lists[w.Key], elements(w.Value)...)
		}
	}
	for key, list := range lists {
		if raw, err := json.Marshal(list); err == nil { // it was JSON when it was written
			out[key] = raw
		}
	}
	return out
}

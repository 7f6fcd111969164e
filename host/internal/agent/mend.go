package agent

import (
	"errors"
	"slices"
	"strconv"

	"github.com/wagent-dev/wagent/host/model"
)

var errNothingToSend = errors.New("nothing to answer: no message of the conversation holds anything")

// noResult is the result of a call that has none.
const noResult = "The run was interrupted before this call had a result. Whether it took effect is not known."

// mending is one look at messages that were not seen before.
type mending struct {
	*history
	msgs   []model.Message
	places map[string][]int // of calls and results by id; made when something is wrong
	taken  map[int]bool     // results that were put to their calls already
}

// next takes the message at i, and the results behind it, and returns what comes
// after them.
func (w *mending) next(i int) int {
	m := &w.msgs[i]
	switch {
	case m.Role == model.Tool:
		if !w.taken[i] {
			w.orphan(m)
		}
		w.leave(i)
		return i + 1
	case m.Role == model.Assistant && len(m.ToolCalls) > 0:
		return w.group(i)
	case !hasContent(m.Content):
		w.did.empty++
		w.leave(i)
	default:
		w.keep(i, i+1)
		w.answer(i)
	}
	return i + 1
}

// answer lets the user speak behind what the assistant said, when nobody does.
func (w *mending) answer(i int) {
	alone := i+1 == len(w.msgs) || w.msgs[i+1].Role == model.Assistant
	if !alone || i < w.own || w.msgs[i].Role != model.Assistant || w.between.Content == nil {
		return
	}
	w.leave(i + 1)
	w.sent = append(w.sent, w.between)
}

// orphan notes a result that belongs to no call.
func (w *mending) orphan(result *model.Message) {
	w.did.orphans++
	w.did.tools = addName(w.did.tools, result.Name)
}

// keep sends messages as they came.
func (w *mending) keep(from, to int) {
	if w.sent != nil {
		w.sent = append(w.sent, w.msgs[from:to]...)
	}
}

// leave sends other messages than those from i on. What is before it was sent as it came.
func (w *mending) leave(i int) {
	if w.sent == nil {
		w.sent = append(make([]model.Message, 0, len(w.msgs)), w.msgs[:i]...)
	}
}

// group takes a message with calls and the results behind it.
func (w *mending) group(i int) int {
	end := i + 1
	for end < len(w.msgs) && w.msgs[end].Role == model.Tool {
		end++
	}
	if w.sound(i, end) {
		w.keep(i, end)
		return end
	}
	w.leave(i)
	results := w.pair(i, end)
	m := w.msgs[i]
	m.ToolCalls = w.named(m.ToolCalls)
	w.sent = append(w.sent, m)
	for k, r := range results {
		r.CallID = m.ToolCalls[k].ID
		w.sent = append(w.sent, r)
	}
	return end
}

// sound says that a message with calls and what is behind it keep the law, and takes
// their ids.
func (w *mending) sound(i, end int) bool {
	calls := w.msgs[i].ToolCalls
	if len(calls) != end-i-1 {
		return false
	}
	for k := range calls {
		c := &calls[k]
		if w.taken[i+1+k] || w.msgs[i+1+k].CallID != c.ID || c.ID == "" || w.ids[c.ID] || unfit(c.Arguments) != "" {
			for _, before := range calls[:k] {
				delete(w.ids, before.ID)
			}
			return false
		}
		w.ids[c.ID] = true
	}
	return true
}

// named returns calls with ids that no other call has and arguments that are an
// object.
func (w *mending) named(calls []model.ToolCall) []model.ToolCall {
	out := slices.Clone(calls)
	for k := range out {
		c := &out[k]
		if c.ID == "" || w.ids[c.ID] {
			if c.WireID == "" {
				c.WireID = c.ID
			}
			c.ID = w.free()
			w.did.ids++
		}
		w.ids[c.ID] = true
		if mendArguments(c) {
			w.did.arguments++
			w.did.tools = addName(w.did.tools, c.Name)
		}
	}
	return out
}

// free returns an id that no call has. Calls of a run have the number of their step
// in theirs, which begins at one.
func (w *mending) free() string {
	for n := len(w.ids) + 1; ; n++ {
		if id := "call_0_" + strconv.Itoa(n); !w.ids[id] {
			return id
		}
	}
}

// pair returns one result for each call of the message at i: of those up to end, else
// one that came later, else one that says that there is none.
func (w *mending) pair(i, end int) []model.Message {
	calls := w.msgs[i].ToolCalls
	out := make([]model.Message, len(calls))
	for k, c := range calls {
		at := w.result(c.ID, i+1, end)
		if at < 0 {
			out[k] = model.Message{Role: model.Tool, Name: c.Name, IsError: true, Content: model.TextParts(noResult)}
			w.did.missing++
			w.did.tools = addName(w.did.tools, c.Name)
			continue
		}
		if at != i+1+k {
			w.did.moved++
		}
		w.taken[at] = true
		out[k] = w.msgs[at]
	}
	for at := i + 1; at < end; at++ {
		if !w.taken[at] {
			w.orphan(&w.msgs[at])
		}
	}
	return out
}

// result returns the place of the first result of id that no call has had, or -1. It
// may stand behind end, when no other call of that id comes before it.
func (w *mending) result(id string, from, end int) int {
	if w.places == nil {
		w.index(from)
	}
	places := w.places[id]
	for len(places) > 0 && (places[0] < from || w.taken[places[0]]) {
		places = places[1:]
	}
	w.places[id] = places
	if len(places) == 0 || w.msgs[places[0]].Role != model.Tool || id == "" && places[0] >= end {
		return -1
	}
	return places[0]
}

func (w *mending) index(from int) {
	w.places, w.taken = make(map[string][]int), make(map[int]bool)
	for i := from; i < len(w.msgs); i++ {
		switch m := &w.msgs[i]; m.Role {
		case model.Tool:
			w.places[m.CallID] = append(w.places[m.CallID], i)
		case model.Assistant:
			for k := range m.ToolCalls {
				w.places[m.ToolCalls[k].ID] = append(w.places[m.ToolCalls[k].ID], i)
			}
		}
	}
}

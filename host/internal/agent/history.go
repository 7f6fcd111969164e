package agent

import (
	"fmt"

	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/model"
)

// history is a conversation as a provider takes it. It holds to one law:
//
//   - behind a message with calls come exactly its results, in the order of the calls,
//     and no result stands anywhere else;
//   - no message is empty, but a result may be;
//   - each call has an id that no other call of the conversation has, and arguments
//     that are one JSON object;
//   - behind what the assistant said in a run, and called nothing, the user speaks.
//
// A conversation that keeps it is sent as it is. Of any other the truth is told: a
// result that stands elsewhere is put in its place, a call without one gets one that
// says so, and what can belong to nothing is left out. The messages that it is given
// are never changed.
//
// What was looked at is not looked at again: a conversation grows at its end.
type history struct {
	seen []model.Message // as they came
	sent []model.Message // as they are sent; nil: as they came
	ids  map[string]bool // of all calls that are sent
	did  repairs         // since it was asked for last

	// own is the place of the first message of the run itself, behind what it began with.
	// Where one of these that the assistant said is the last, or is followed by another,
	// between is sent behind it. Without content: nothing is.
	own     int
	between model.Message
}

// Repair returns a conversation that a provider takes: see [history] for what that
// is. The messages given are not changed; when nothing is wrong they are returned as
// they are. Messages of a role that there is not are kept.
func Repair(msgs []model.Message) []model.Message {
	h := new(history)
	for i := range msgs {
		if !known(msgs[i].Role) {
			return msgs
		}
	}
	return h.take(msgs)
}

func known(r model.Role) bool {
	switch r {
	case model.System, model.User, model.Assistant, model.Tool:
		return true
	}
	return false
}

// checkRoles refuses messages that nobody knows how to send.
func checkRoles(msgs []model.Message) error {
	for i := range msgs {
		if !known(msgs[i].Role) {
			return fmt.Errorf("message %d of the conversation has no role that there is: %.40q", i+1, msgs[i].Role)
		}
	}
	return nil
}

// take returns msgs as they are sent.
func (h *history) take(msgs []model.Message) []model.Message {
	if !h.goesOn(msgs) {
		*h = history{did: h.did, own: h.own, between: h.between}
	}
	if h.ids == nil {
		h.ids = make(map[string]bool)
	}
	from := len(h.seen)
	h.seen = msgs[:len(msgs):len(msgs)]
	w := mending{history: h, msgs: msgs}
	for i := from; i < len(msgs); {
		i = w.next(i)
	}
	if h.sent == nil {
		return msgs
	}
	return h.sent[:len(h.sent):len(h.sent)]
}

// goesOn says that msgs are what was seen and more. Results that come behind a
// group that was complete already are looked at with all that is before them.
func (h *history) goesOn(msgs []model.Message) bool {
	n := len(h.seen)
	if len(msgs) < n || len(msgs) > n && n > 0 && msgs[n].Role == model.Tool {
		return false
	}
	for i := range h.seen {
		if !h.seen[i].Same(&msgs[i]) {
			return false
		}
	}
	return true
}

// repairs counts what was done to a conversation.
type repairs struct {
	missing, moved, orphans, empty, ids, arguments int

	tools []string // of results that are missing or without a call, and of unreadable arguments
}

// told returns what was done as the arguments of a line of the log.
func (r repairs) told() []any {
	var out []any
	for _, c := range []struct {
		what string
		n    int
	}{
		{"results_missing", r.missing},
		{"results_moved", r.moved},
		{"results_without_call", r.orphans},
		{"messages_empty", r.empty},
		{"ids_used_before", r.ids},
		{"arguments_unreadable", r.arguments},
	} {
		if c.n > 0 {
			out = append(out, c.what, c.n)
		}
	}
	if len(r.tools) > 0 {
		out = append(out, "tools", r.tools)
	}
	return out
}

// sendable makes of a request what the provider takes, and tells the operator what
// had to be mended.
func (d *driver) sendable(req *model.Request) error {
	if err := checkRoles(d.state.Messages); err != nil {
		return err
	}
	req.Messages = d.history.take(req.Messages)
	d.tellRepairs()
	if len(req.Messages) == 0 {
		return errNothingToSend
	}
	return nil
}

func (d *driver) tellRepairs() {
	did := d.history.did
	d.history.did = repairs{}
	if what := did.told(); len(what) > 0 {
		d.Logger.Warn("the conversation was repaired before it was sent", append([]any{"run", d.state.Run}, what...)...)
	}
}

// opened is what a run begins with, repaired: what it comes to can then be sent again.
// Results that a planner of text has read have no calls before them, and are left to it.
func (d *driver) opened(given []model.Message) []model.Message {
	if _, native := d.Planner.(planner.Tools); !native || checkRoles(given) != nil {
		return given
	}
	given = d.history.take(given)
	d.tellRepairs()
	d.history = history{} // what is sent next are other values
	return given
}

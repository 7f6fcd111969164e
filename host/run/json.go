package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/wagent-dev/wagent/host/model"
)

// header is what every event's JSON begins with.
type header struct {
	Type  string    `json:"type"`
	Run   ID        `json:"run_id"`
	Seq   uint64    `json:"seq,omitempty"`
	After *uint64   `json:"after,omitempty"`
	Time  time.Time `json:"time"`
}

// MarshalJSON writes the event as one object: its header and the members of its
// body side by side.
func (e Event) MarshalJSON() ([]byte, error) {
	if e.Body == nil {
		return nil, fmt.Errorf("event %d has no body", e.Seq)
	}
	h := header{Type: e.Body.kind(), Run: e.Run, Seq: e.Seq, Time: e.Time}
	if e.Transient() {
		h.After = &e.After
	}
	head, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	body, err := marshal(e.Body)
	if err != nil {
		return nil, err
	}
	if len(body) > 2 { // not {}
		head[len(head)-1] = ','
		head = append(head, body[1:]...)
	}
	return head, nil
}

// maxNested is how deep events may lie in each other when they are read. Each level
// is looked through once more, and agents are never nested so deep.
const maxNested = 16

// UnmarshalJSON reads what MarshalJSON wrote. An unknown type is an error, and so are
// more than 16 events inside each other.
func (e *Event) UnmarshalJSON(data []byte) error { return e.read(data, 0) }

func (e *Event) read(data []byte, depth int) error {
	var h header
	if err := json.Unmarshal(data, &h); err != nil {
		return err
	}
	decode, ok := bodies[h.Type]
	if h.Type == (Nested{}).kind() {
		decode, ok = func(data []byte) (Body, error) { return readNested(data, depth+1) }, true
	}
	if !ok {
		return fmt.Errorf("event %d: unknown type %q", h.Seq, h.Type)
	}
	body, err := decode(data)
	if err != nil {
		return fmt.Errorf("event %d: %s: %w", h.Seq, h.Type, err)
	}
	*e = Event{Run: h.Run, Seq: h.Seq, Time: h.Time, Body: body}
	if h.After != nil {
		e.After = *h.After
	}
	return nil
}

func readNested(data []byte, depth int) (Body, error) {
	if depth > maxNested {
		return nil, fmt.Errorf("more than %d events inside each other", maxNested)
	}
	var j struct {
		CallID string          `json:"call_id"`
		Tool   string          `json:"tool"`
		Event  json.RawMessage `json:"event"`
	}
	if err := json.Unmarshal(data, &j); err != nil {
		return nil, err
	}
	n := Nested{CallID: j.CallID, Tool: j.Tool}
	err := n.Event.read(j.Event, depth)
	return n, err
}

// MarshalJSON adds the observation to what is stored.
func (r Returned) MarshalJSON() ([]byte, error) {
	type plain Returned
	return marshal(struct {
		plain
		Observation string `json:"observation"`
	}{plain(r), model.PartsText(r.Content)})
}

// bodies decodes each type of event but nested.
var bodies = map[string]func([]byte) (Body, error){
	"run_started":     decodeBody[Prompted],
	"step_started":    decodeBody[Began],
	"text_delta":      decodeBody[Delta],
	"reasoning_delta": decodeBody[Delta],
	"tool_call_delta": decodeBody[CallDelta],
	"retry":           decodeBody[Retried],
	"model_finished":  decodeBody[Replied],
	"actions":         decodeBody[Planned],
	"tool_started":    decodeBody[Called],
	"tool_progress":   decodeBody[Progressed],
	"tool_log":        decodeBody[Logged],
	"tool_finished":   decodeBody[Returned],
	"hook_finished":   decodeBody[Hooked],
	"run_resumed":     decodeBody[Resumed],
	"step_finished":   decodeBody[Ended],
	"run_finished":    decodeBody[Finished],
	"run_failed":      decodeBody[Failed],
}

func decodeBody[T Body](data []byte) (Body, error) {
	var b T
	err := json.Unmarshal(data, &b)
	return b, err
}

// marshal writes v without HTML escapes: the text is data and not a page.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

package sdk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// serve answers one request of the host. It always has an answer.
func (r *registry) serve(h host, request []byte) []byte {
	started := time.Now()
	var req abi.Request
	if err := json.Unmarshal(request, &req); err != nil {
		return respond(abi.Result{}, fmt.Errorf("the host's request is not valid: %w", err))
	}
	if req.V != abi.Version {
		return respond(abi.Result{}, fmt.Errorf("the host's request has version %d, this module reads %d", req.V, abi.Version))
	}
	t := r.find(req.Tool)
	if t == nil {
		return respond(abi.Result{}, unknownTool(req.Tool, r.names()))
	}
	if t.fault != nil {
		return respond(abi.Result{}, fmt.Errorf("tool %q cannot be served: %w", t.Name, t.fault))
	}
	c := &Call{ID: req.ID, Tool: req.Tool, Run: req.Run, config: req.Config, host: h}
	if req.DeadlineMS > 0 {
		c.Deadline = started.Add(time.Duration(req.DeadlineMS) * time.Millisecond)
	}
	return respond(t.run(c, req.Arguments))
}

func unknownTool(name string, known []string) error {
	if s := Suggest(name, known); s != "" {
		return Errorf(abi.NotFound, "this module has no tool %q: did you mean %q?", name, s)
	}
	return Errorf(abi.NotFound, "this module has no tool %q: it has %s", name, strings.Join(known, ", "))
}

// run calls the tool and makes an error of its panic.
func (t *tool) run(c *Call, args json.RawMessage) (res abi.Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.Errorf("panic: %v\n%s", p, debug.Stack())
			res, err = abi.Result{}, Errorf(abi.Internal, "panic: %v", p)
		}
	}()
	return t.call(c, args)
}

// respond puts a response into JSON. A result that has none, such as one with
// NaN in it, is an error in turn.
func respond(res abi.Result, err error) []byte {
	var b []byte
	if err == nil {
		if res.Content == nil {
			res.Content = []abi.Content{}
		}
		b, err = marshal(abi.Response{V: abi.Version, Result: res})
	}
	if err == nil {
		return b
	}
	// An error has no content, which abi.Response would write as null.
	b, err = marshal(struct {
		V     int        `json:"v"`
		Error *abi.Error `json:"error"`
	}{abi.Version, toolError(err)})
	if err != nil {
		return []byte(`{"v":1,"error":{"kind":"internal","message":"the error has no JSON"}}`)
	}
	return b
}

// marshal is json.Marshal without escapes for HTML: a model reads this.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

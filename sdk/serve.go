package sdk

import (
	"encoding/json"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// maxPanic is how many characters of a panic's message an error repeats.
const maxPanic = 1000

// serve answers one request of the host. It always has an answer.
func (r *registry) serve(h host, request []byte) []byte {
	started := time.Now()
	req, err := readRequest(request)
	if err != nil {
		return fail(fmt.Errorf("the host's request is not valid: %w", err))
	}
	if req.V != abi.Version {
		return fail(fmt.Errorf("the host's request has version %d, this module reads %d", req.V, abi.Version))
	}
	t := r.find(req.Tool)
	if t == nil {
		return fail(unknownTool(req.Tool, r.names()))
	}
	if t.fault != nil {
		return fail(fmt.Errorf("tool %q cannot be served: %w", t.Name, t.fault))
	}
	c := &Call{ID: req.ID, Tool: req.Tool, Run: req.Run, config: req.Config, host: h}
	if req.DeadlineMS > 0 {
		c.Deadline = started.Add(time.Duration(req.DeadlineMS) * time.Millisecond)
	}
	return respond(t.run(c, req.Arguments))
}

func unknownTool(name string, known []string) error {
	return Errorf(abi.NotFound, "this module has no tool %q%s", clip(name, maxPath), instead(name, known))
}

// run calls the tool and makes an error of its panic. The methods of its error
// and of its result run here too.
func (t *tool) run(c *Call, args json.RawMessage) (res abi.Result, failed *abi.Error) {
	defer func() {
		if p := recover(); p != nil {
			c.Errorf("panic: %v\n%s", p, debug.Stack())
			message := clip(fmt.Sprintf("panic: %v", p), maxPanic)
			res, failed = abi.Result{}, &abi.Error{Kind: abi.Internal, Message: message}
		}
	}()
	res, err := t.call(c, args)
	if err != nil {
		return abi.Result{}, toolError(err)
	}
	return res, nil
}

// respond puts a response into JSON. A result that has none, such as one whose
// structured content was not JSON to begin with, is an error in turn.
func respond(res abi.Result, failed *abi.Error) []byte {
	if failed == nil && res.Content == nil {
		res.Content = []abi.Content{}
	}
	b, err := writeResponse(&abi.Response{V: abi.Version, Result: res, Error: failed})
	if err != nil {
		return fail(fmt.Errorf("result: %w", err))
	}
	return b
}

// fail is the response that is an error and nothing else.
func fail(err error) []byte { return respond(abi.Result{}, toolError(err)) }

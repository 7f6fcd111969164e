package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// box is the fake tools of a case. It keeps what they were called with, in the
// order of the calls.
type box struct {
	tools map[string]toolSpec

	mu  sync.Mutex
	log []any // each is a tool's name and its arguments
}

// Call implements [agent.Toolbox].
func (b *box) Call(ctx context.Context, c agent.Call) agent.Result {
	var args map[string]any
	if err := json.Unmarshal(c.Arguments, &args); err != nil {
		return failed(err.Error())
	}
	b.mu.Lock()
	b.log = append(b.log, []any{c.Tool, args})
	b.mu.Unlock()
	t := b.tools[c.Tool]
	if t.MS > 0 {
		select {
		case <-time.After(time.Duration(t.MS) * time.Millisecond):
		case <-ctx.Done():
			return agent.Result{Content: model.TextParts("cancelled"), Kind: run.KindCancelled}
		}
	}
	value, err := t.do(args)
	if err != nil {
		return failed(err.Error())
	}
	return answered(value)
}

func failed(why string) agent.Result {
	return agent.Result{Content: model.TextParts(why), Kind: run.KindToolError}
}

// answered is what the host makes of a tool's value: a text is text, anything
// else is structure, which the model is shown as JSON.
func answered(value any) agent.Result {
	if s, ok := value.(string); ok {
		return agent.Result{Content: model.TextParts(s)}
	}
	data, err := json.Marshal(value)
	if err != nil {
		return failed(err.Error())
	}
	return agent.Result{Content: model.TextParts(string(data)), Structured: data}
}

// do is what a tool of each kind does.
func (t *toolSpec) do(args map[string]any) (any, error) {
	x, has := args["x"]
	switch t.Kind {
	case "echo":
		if !has {
			return nil, fmt.Errorf("x is missing")
		}
		return map[string]any{"echoed": x}, nil
	case "const":
		return t.Value, nil
	case "args":
		if args == nil {
			args = map[string]any{}
		}
		return args, nil
	case "fail":
		return nil, fmt.Errorf("%s", or(t.Message, "boom"))
	case "fail_if":
		if reflect.DeepEqual(x, t.X) {
			return nil, fmt.Errorf("%s", or(t.Message, "boom"))
		}
		if t.Value != nil {
			return t.Value, nil
		}
		return map[string]any{"echoed": x}, nil
	case "len":
		items, _ := args["items"].([]any)
		return map[string]any{"items": []any{fmt.Sprintf("item-%d", len(items))}}, nil
	case "res":
		return fmt.Sprintf("res(%v)", args["input"]), nil
	case "add":
		a, _ := args["a"].(float64)
		b, ok := args["b"].(float64)
		if !ok {
			b = 2
		}
		return a + b, nil
	}
	return nil, fmt.Errorf("there is no tool of the kind %q", t.Kind)
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

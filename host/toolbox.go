package host

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/internal/sandbox"
	"github.com/wagent-dev/wagent/host/internal/schema"
	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// binding is a tool that the model sees and the module behind it.
type binding struct {
	info         ToolInfo
	schema       *schema.Schema // of all arguments
	shown        *schema.Schema // of those that the model gives; nil: all
	reads        []agent.StateRead
	writes       []agent.StateWrite
	answers      json.RawMessage // schema of the structured result, as the module declares it; nil: it does not
	module       *sandbox.Module // nil: the tool is an agent
	agent        *Host           // nil: the tool is one of a module
	returnDirect bool
	entry        *manifest.Tool // of the manifest
}

// toolbox is the tools by their names.
type toolbox map[string]*binding

// runBox is the loop's only way to a module: the tools for one run.
type runBox struct {
	toolbox
	session *sandbox.Session
}

// Call implements [agent.Toolbox].
func (b runBox) Call(ctx context.Context, c agent.Call) agent.Result {
	t := b.toolbox[c.Tool]
	if t == nil {
		return agent.Result{Kind: run.KindUnknownTool, Content: model.TextParts("There is no such tool.")}
	}
	if t.agent != nil {
		return t.ask(ctx, c)
	}
	out := t.module.Call(ctx, sandbox.Call{
		ID: c.ID, Tool: t.info.ModuleTool, Arguments: c.Arguments, State: c.State,
		Run:      abi.RunRef{ID: string(c.Run), Step: c.Step},
		Session:  b.session,
		Progress: c.Progress,
		Log: func(level abi.Level, message string) {
			if c.Log != nil {
				c.Log(levelName(level), message)
			}
		},
	})
	r := receipt(&out.Receipt)
	return agent.Result{
		Content: parts(&out.Result), Structured: out.Result.StructuredContent,
		Kind: kind(&out), Detail: out.Detail, Receipt: &r,
	}
}

// fit returns arguments as the tool takes them, or says why it does not.
func (t *binding) fit(args json.RawMessage) (json.RawMessage, error) {
	if t.agent != nil {
		return fitPrompt(args)
	}
	return t.schema.Fit(args)
}

// call calls a tool outside of a run.
func (t *binding) call(ctx context.Context, args json.RawMessage, watch func(run.Body), trace *sandbox.Trace) Outcome {
	if t.agent != nil {
		return t.asked(ctx, args, watch)
	}
	c := sandbox.Call{ID: "call_0_1", Tool: t.info.ModuleTool, Arguments: args, Trace: trace}
	if watch != nil {
		var mu sync.Mutex
		one := func(b run.Body) {
			mu.Lock()
			defer mu.Unlock()
			watch(b)
		}
		c.Progress = func(permille int, message string) {
			one(run.Progressed{CallID: c.ID, Tool: t.info.Name, Permille: permille, Message: message})
		}
		c.Log = func(level abi.Level, message string) {
			one(run.Logged{CallID: c.ID, Tool: t.info.Name, Level: levelName(level), Message: message})
		}
	}
	out := t.module.Call(ctx, c)
	return Outcome{Result: out.Result, Kind: kind(&out), Detail: out.Detail, Receipt: receipt(&out.Receipt)}
}

// kind says how a call ended in the words of a run.
func kind(o *sandbox.Outcome) run.ErrorKind {
	switch {
	case o.Fault != "":
		return run.ErrorKind(o.Fault)
	case o.Result.IsError:
		return run.KindToolError
	default:
		return ""
	}
}

func receipt(r *sandbox.Receipt) run.Receipt {
	hosts := r.Hosts
	if hosts == nil {
		hosts = []string{}
	}
	return run.Receipt{
		Module: r.Module, WallMS: float64(r.Wall.Microseconds()) / 1000, Fuel: r.Fuel, PeakMemoryBytes: r.PeakMemory,
		InputBytes: r.InputBytes, OutputBytes: r.OutputBytes, Hosts: hosts,
		LogBytes: r.LogBytes, LogsCut: r.LogsCut,
	}
}

// parts turns a result into what a message holds. A tool that gave structure
// alone is shown to the model as that structure.
func parts(r *abi.Result) []model.Part {
	out := make([]model.Part, 0, len(r.Content))
	for _, c := range r.Content {
		out = append(out, part(&c))
	}
	if len(out) == 0 && len(r.StructuredContent) > 0 {
		out = model.TextParts(string(r.StructuredContent))
	}
	return out
}

func part(c *abi.Content) model.Part {
	switch {
	case c.Type == "image":
		return model.Part{Type: model.ImagePart, MIME: c.MIMEType, Data: c.Data}
	case c.Resource != nil && c.Resource.Text != "":
		return model.Part{Type: model.TextPart, Text: c.Resource.Text}
	case c.Resource != nil:
		return model.Part{Type: model.FilePart, MIME: c.Resource.MIMEType, Data: c.Resource.Blob, Name: c.Resource.URI}
	default:
		return model.Part{Type: model.TextPart, Text: c.Text}
	}
}

func levelName(l abi.Level) string {
	switch {
	case l <= abi.LevelDebug:
		return "debug"
	case l == abi.LevelInfo:
		return "info"
	case l == abi.LevelWarn:
		return "warn"
	default:
		return "error"
	}
}

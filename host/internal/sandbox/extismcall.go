package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/wagent-dev/wagent/sdk/abi"
)

func (p *extismPlugin) close(ctx context.Context) error {
	err := p.code.Close(ctx)
	if e := p.entry.close(ctx); err == nil {
		err = e
	}
	return err
}

// extismCall is what both forms of a plugin call a tool by.
type extismCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// extismContext is the context of the v2 form.
type extismContext struct {
	ID   string   `json:"id"`
	Meta struct{} `json:"_meta"`
}

func (p *extismPlugin) encode(req *abi.Request) ([]byte, error) {
	call := extismCall{req.Tool, req.Arguments}
	var v any
	switch {
	case p.form == extismV2:
		v = struct {
			Request extismCall    `json:"request"`
			Context extismContext `json:"context"`
		}{call, extismContext{ID: req.ID}}
	case p.form == extismV1:
		v = struct {
			Params extismCall `json:"params"`
		}{call}
	case p.src.Text:
		return textArgument(req.Arguments)
	default:
		return req.Arguments, nil
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fault(FaultInternal, "the request could not be written: %v", err)
	}
	return b, nil
}

// textArgument takes the one string out of the arguments.
func textArgument(args json.RawMessage) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(args, &fields); err != nil || len(fields) != 1 {
		return nil, fault(FaultInvalidArgs, "the tool takes exactly one argument, a string")
	}
	var s string
	for name, v := range fields {
		if err := json.Unmarshal(v, &s); err != nil {
			return nil, fault(FaultInvalidArgs, "the argument %q has to be a string", oneLine(name, maxToolName))
		}
	}
	return []byte(s), nil
}

func (p *extismPlugin) describe(g *guest) ([]byte, error) {
	if p.form != extismV2 {
		return p.exec(g, "describe", nil)
	}
	raw, err := p.exec(g, "list_tools", []byte(`{"request":null,"context":{"id":"describe","_meta":{}}}`))
	if err != nil {
		return nil, err
	}
	var page struct {
		Next string `json:"nextCursor"`
	}
	if checkDepth(raw) == nil && json.Unmarshal(raw, &page) == nil && page.Next != "" {
		return nil, fault(FaultInvalidResult, "the plugin lists its tools in pages, which is not supported yet")
	}
	return raw, nil
}

func (p *extismPlugin) call(g *guest, req *request) (*answer, error) {
	name := map[extismForm]string{extismV1: "call", extismV2: "call_tool", extismPlain: p.src.Export}[p.form]
	raw, err := p.exec(g, name, req.input)
	var said *pluginError
	switch {
	case errors.As(err, &said):
		failed := textResult(cleanText(said.text), true)
		return &answer{raw: raw, result: &failed}, nil
	case err != nil:
		return nil, err
	case p.form != extismPlain:
		return &answer{raw: raw}, nil
	}
	plain := textResult(cleanText(string(raw)), false)
	return &answer{raw: raw, result: &plain}, nil
}

// pluginError is what a plugin itself reported.
type pluginError struct{ text string }

func (e *pluginError) Error() string { return "the plugin reported: " + oneLine(e.text, maxMessage) }

// exec calls one function of a fresh plugin. Only return code 0 without an
// error, of the SDK or of the plugin, is success.
func (p *extismPlugin) exec(g *guest, name string, input []byte) ([]byte, error) {
	quietExtism()
	var exited *uint32
	ctx := experimental.WithCloseNotifier(g.ctx, experimental.CloseNotifyFunc(func(_ context.Context, code uint32) {
		exited = &code
	}))
	plugin, err := p.code.Instance(ctx, extism.PluginInstanceConfig{ModuleConfig: g.config(noInput(), g.log())})
	if err != nil {
		return nil, err
	}
	defer func() {
		// As with any instance, what it held is given back by its owner.
		_ = plugin.CloseWithContext(context.WithoutCancel(ctx))
	}()
	plugin.SetLogger(func(l extism.LogLevel, line string) { g.sink.Line(extismLevel(l), line) })
	if need := int64(len(input)) + extismSlack; g.arena.total+need > g.limits.Memory {
		return nil, fault(FaultMemory, "the arguments (%s) do not fit into the tool's memory limit of %s", size(int64(len(input))), size(g.limits.Memory))
	}
	rc, out, err := plugin.CallWithContext(ctx, name, input)
	switch {
	case exited != nil && g.ctx.Err() == nil:
		return nil, g.exitedWith(*exited)
	case err != nil:
		return nil, extismError(err)
	case rc != 0:
		return nil, &pluginError{fmt.Sprintf("the tool failed with code %d and gave no reason%s", rc, g.lastWords())}
	case int64(len(out)) > g.limits.Output:
		return nil, tooMuchOutput(g.limits.Output)
	}
	return out, nil
}

func extismLevel(l extism.LogLevel) abi.Level {
	return nearestLevel(int32(l) - int32(extism.LogLevelInfo))
}

// extismError tells a plugin's own error from that of the engine. The SDK
// hands the former on as bare text, so a plugin can pass its own error off as a
// crash; it gains nothing by that.
func extismError(err error) error {
	text := strings.TrimPrefix(err.Error(), "failed to initialize runtime: ")
	var exit *sys.ExitError
	switch {
	case strings.HasPrefix(text, "HTTP request to ") && strings.Contains(text, " is not allowed (recovered by wazero)"):
		return fault(FaultDenied, "the tool tried to make an HTTP request; HTTP for Extism plugins is not supported yet")
	case strings.HasPrefix(text, "unknown function"):
		return fault(FaultInvalidResult, "the plugin has no such function (%s)", oneLine(strings.TrimPrefix(text, "unknown function: "), maxToolName))
	case errors.As(err, &exit), isTrap(text), text == stackOverflow, strings.Contains(text, "(recovered by wazero)"),
		text == "module is closed":
		return errors.New(text)
	default:
		return &pluginError{text}
	}
}

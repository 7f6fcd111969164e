package sandbox

import (
	"encoding/json"
	"errors"

	"github.com/wagent-dev/wagent/sdk/abi"
)

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

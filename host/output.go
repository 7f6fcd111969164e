package host

import (
	"errors"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/internal/schema"
	"github.com/wagent-dev/wagent/host/model"
)

// outputName is what a provider calls the schema of the output.
const outputName = "output"

// compileOutput reads the schema of agent.output, if there is one.
func (h *Host) compileOutput() error {
	o := h.manifest.Agent.Output
	if o == nil || o.Schema == nil {
		return nil
	}
	if kind, ok := o.Schema["type"]; ok && kind != "object" {
		return nil // the check of the manifest says so
	}
	raw := h.manifest.OutputSchema()
	compiled, err := schema.Compile(raw)
	if fault, ok := errors.AsType[*schema.Error](err); ok {
		told := *fault
		told.Pointer = "" // the field is the place
		return h.manifest.OutputFault(fault.Pointer, &told)
	}
	if err != nil {
		return h.manifest.OutputFault("", err)
	}
	h.output = &agent.Output{
		Schema: compiled, Attempts: o.Attempts,
		Asked: model.OutputSchema{Name: outputName, Schema: raw, Strict: schema.InStrictSubset(raw)},
	}
	return nil
}

// outputOf returns what a run is asked for, in the way that mod and the planner have.
// Asked for native alone, what the endpoint refuses ends the run; asked for auto it is
// asked in the next best way.
func (h *Host) outputOf(mod model.Model) *agent.Output {
	if h.output == nil {
		return nil
	}
	o := *h.output
	best := agent.ByTool
	if h.manifest.Agent.Planner != plannerTools {
		best = agent.ByPrompt
	}
	switch h.manifest.Agent.Output.Strategy {
	case "native":
		o.Strategy = agent.Native
	case "tool":
		o.Strategy = agent.ByTool
	case "prompt":
		o.Strategy = agent.ByPrompt
	default:
		o.Strategy = best
		if m, ok := mod.(model.OutputSchemas); ok && best == agent.ByTool && m.TakesOutputSchemas() {
			o.Strategy, o.Otherwise = agent.Native, best
		}
	}
	return &o
}

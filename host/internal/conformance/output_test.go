package conformance

import (
	"encoding/json"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/internal/schema"
	"github.com/wagent-dev/wagent/host/model"
)

// outputSpec is the value that a run of a case is to give.
type outputSpec struct {
	Schema   json.RawMessage `json:"schema"`
	Strategy string          `json:"strategy"`
	Attempts int             `json:"attempts"` // 0: as many as the script has replies
}

// output gives the loop the output of the case.
func (c *testCase) output(a *agent.Agent) error {
	o := c.Agent.Output
	if o == nil {
		return nil
	}
	compiled, err := schema.Compile(o.Schema)
	if err != nil {
		return err
	}
	a.Output = &agent.Output{
		Schema: compiled, Strategy: agent.Strategy(o.Strategy), Attempts: o.Attempts,
		Asked: model.OutputSchema{Name: "output", Schema: o.Schema},
	}
	if o.Attempts == 0 {
		a.Output.Attempts = len(c.Script)
	}
	return nil
}

package sandbox

import (
	"bytes"
	"encoding/json"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// Most tools of a module, and most bytes of the name of one.
const (
	maxTools    = 500
	maxToolName = 128
)

// parseDescription reads what describe returned.
func parseDescription(raw []byte) (abi.Description, error) {
	var d abi.Description
	if err := checkDepth(raw); err != nil {
		return d, err
	}
	clean := cleanJSON(raw)
	err := json.Unmarshal(clean, &d)
	if err == nil {
		err = checkNames(clean)
	}
	if err != nil {
		f := fault(FaultInvalidResult, "the module's description is not valid")
		f.Detail = oneLine(err.Error(), maxMessage)
		return d, f
	}
	if len(d.Tools) == 0 {
		return d, fault(FaultInvalidResult, "the module describes no tool")
	}
	if len(d.Tools) > maxTools {
		return d, fault(FaultInvalidResult, "the module describes %d tools, the limit is %d", len(d.Tools), maxTools)
	}
	seen := make(map[string]bool)
	for i := range d.Tools {
		if err := checkTool(&d.Tools[i], seen); err != nil {
			return d, err
		}
	}
	return d, nil
}

func checkTool(t *abi.Tool, seen map[string]bool) error {
	name := oneLine(t.Name, maxToolName)
	switch {
	case name == "" || name != t.Name:
		return fault(FaultInvalidResult, "the module describes a tool whose name %q is empty, too long or not printable", name)
	case seen[name]:
		return fault(FaultInvalidResult, "the module describes the tool %q twice", name)
	}
	seen[name] = true
	t.Title, t.Description = cleanText(t.Title), cleanText(t.Description)
	for i, schema := range []*json.RawMessage{&t.InputSchema, &t.OutputSchema} {
		what := [...]string{"inputSchema", "outputSchema"}[i]
		s := bytes.TrimSpace(*schema)
		switch {
		case len(s) == 0 || string(s) == "null":
			*schema = nil
		case s[0] != '{':
			return fault(FaultInvalidResult, "the %s of tool %q is not an object", what, name)
		}
	}
	return nil
}

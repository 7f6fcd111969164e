package manifest

import (
	"reflect"
	"slices"
	"strings"
	"time"
)

// besideAgent are the fields of an entry that say something of an agent. All others
// are about a module, and one that is not obeyed would promise something.
var besideAgent = []string{"agent", "sha256", "name", "description", "limits", "allow", "outputs_to_state", "polling", "return_direct"}

// maxAgentTimeout is the longest that a call of an agent may be given.
const maxAgentTimeout = 30 * 24 * time.Hour

// agentTool checks an entry whose tool is another agent. What its manifest holds is
// looked at by whoever opens it.
func (c *checker) agentTool(field string, t *Tool) {
	switch {
	case t.Agent == "": // of which something has been told
	case remote(t.Agent):
		c.fail(field+".agent", "an agent is a manifest, which is a file")
	default:
		c.regular(field+".agent", t.Agent)
	}
	c.strangers(field, reflect.ValueOf(t).Elem(), besideAgent)
	c.strangers(field+".limits", reflect.ValueOf(&t.Limits).Elem(), []string{"timeout"})
	c.digest(field, t)
	c.name(field+".name", t.Name)
	c.described(field+".description", t.Description)
	c.duration(field+".limits.timeout", t.Limits.Timeout, maxAgentTimeout)
	c.stateOf(field, t)
	c.allow(field, t)
}

// strangers refuses the fields of v that are given and not among known.
func (c *checker) strangers(field string, v reflect.Value, known []string) {
	names, index := fieldsOf(v.Type())
	for _, name := range names {
		at := within(field, name)
		key, written := c.origin.key(at)
		if slices.Contains(known, name) || (!written && v.Field(index[name]).IsZero()) {
			continue
		}
		f := fault{field: at, position: key, message: "is for modules, and this tool is an agent, which has only: " + strings.Join(known, ", ")}
		if name == "module" {
			f.message = "a tool is a module or an agent, and not both"
		}
		if !written {
			f.position = c.origin.near(at)
		}
		if !c.known[at] {
			c.add(f)
		}
	}
}

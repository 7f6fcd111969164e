package manifest

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Check applies the rules of the file to a manifest, and looks at the files and
// folders that it names. In one made in Go paths are relative to Dir, or to the
// working directory where Dir is empty. The error holds every fault, joined, each
// an [*Error] with its field, and its place where the manifest was read.
func (m *Manifest) Check() error {
	c := &checker{Manifest: m, faults: &faults{}}
	c.manifest()
	return c.join(m.Path)
}

// checker looks at the values, wherever they came from.
type checker struct {
	*Manifest
	*faults
	known map[string]bool // fields that something is wrong with already
	own   []belonging     // what no tool may write, once it is needed
}

func (c *checker) fail(field, format string, args ...any) {
	c.tell(fault{field: field, message: fmt.Sprintf(format, args...)})
}

// absent tells a fault of a file or a folder that the manifest names.
func (c *checker) absent(field, format string, args ...any) {
	c.tell(fault{field: field, message: fmt.Sprintf(format, args...), files: true})
}

func (c *checker) tell(f fault) {
	if c.known[f.field] {
		return
	}
	f.position = c.origin.near(f.field)
	c.add(f)
}

// broken are the fields that could not be read: their values are not looked at.
func (r *reader) broken() map[string]bool {
	all := map[string]bool{}
	for _, f := range r.all {
		all[f.field] = true
	}
	return all
}

// near is the position of the field, or of what it is in.
func (o *origin) near(field string) position {
	for o != nil && field != "" {
		if p, ok := o.values[field]; ok {
			return p
		}
		field = field[:max(strings.LastIndexAny(field, ".["), 0)]
	}
	if o == nil {
		return position{}
	}
	return position{1, 1}
}

func (c *checker) manifest() {
	if c.Version < 0 || c.Version > 1 {
		c.fail("version", "this version of the format is not known: write 1")
	}
	c.name("name", c.Name)
	c.described("description", c.Description)
	c.model()
	c.agent()
	if len(c.Tools) > 1000 {
		c.fail("tools", "more than 1000 modules")
		return
	}
	for i := range c.Tools {
		c.tool(item("tools", i), &c.Tools[i])
	}
}

// empty reports whether the file has the field and nothing in it. In a manifest made
// in Go what is empty is not there.
func (c *checker) empty(field string) bool { return c.origin != nil && c.origin.empty[field] }

// word checks a field whose value is one of a few words; later are those of the
// format that do not work yet.
func (c *checker) word(field, value string, now []string, later ...string) {
	switch {
	case value == "" && !c.empty(field) || slices.Contains(now, value):
	case slices.Contains(later, value):
		c.fail(field, "%q is not supported yet; use %s", value, strings.Join(now, " or "))
	default:
		c.fail(field, "unknown value %s%s", show(value), suggest(value, now))
	}
}

// isName reports whether s can be the name of an agent or a tool.
func isName(s string) bool {
	return len(s) <= 64 && s != "" && s[0] != '-' && isVariable(strings.ReplaceAll(s, "-", "_"))
}

func (c *checker) name(field, value string) {
	if (value != "" || c.empty(field)) && !isName(value) {
		c.fail(field, "%s is not a name: at most 64 letters, digits, _ and -, and no digit or - first", show(value))
	}
}

func (c *checker) between(field string, value, least, most int64) {
	if value != 0 && (value < least || value > most) {
		c.fail(field, "must be from %d to %d", least, most)
	}
}

func (c *checker) size(field string, value Size, least, most int64) {
	if value != 0 && (int64(value) < least || int64(value) > most) {
		c.fail(field, "must be from %s to %s", Size(least), Size(most))
	}
}

func (c *checker) duration(field string, value Duration, most time.Duration) {
	if value != 0 && (time.Duration(value) < time.Millisecond || time.Duration(value) > most) {
		c.fail(field, "must be from 1ms to %s", most)
	}
}

func (c *checker) model() {
	m := &c.Model
	c.word("model.provider", m.Provider, []string{"openai", "replay"})
	switch {
	case m.Recording != "":
		c.regular("model.recording", m.Recording)
	case m.Provider == "replay":
		c.fail("model", `the field "recording" is missing: provider replay plays it`)
	}
	c.endpoint("model", m)
	if d := m.withDefaults().Retry; d.Initial > d.Max {
		c.fail("model.retry.initial", "is longer than model.retry.max")
	}
	c.fallback(m)
}

// address checks an endpoint. What it is, is never in the error: it may come
// from the environment.
func (c *checker) address(field, address string) {
	if address == "" {
		return
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "":
		c.fail(field, `must be an address such as "https://api.openai.com/v1"`)
	case u.User != nil:
		c.fail(field, "has a user or password in it: use api_key")
	case u.Fragment != "":
		c.fail(field, `has a "#" in it`)
	}
}

func (c *checker) agent() {
	a := &c.Agent
	c.word("agent.planner", a.Planner, []string{"tools", "react", "json"})
	c.word("agent.early_stopping", a.EarlyStopping, []string{"force", "generate"})
	c.word("agent.on_tool_error", a.OnToolError, []string{"feedback", "fail"})
	if n := a.MaxSteps; n != nil && (*n < 0 || *n > 100_000) {
		c.fail("agent.max_steps", "must be from 0 to 100000")
	}
	if n := a.TrimSteps; n != nil && (*n < 0 || *n > 100_000) {
		c.fail("agent.trim_steps", "must be from 0 to 100000")
	}
	c.onParseError(&a.OnParseError)
	c.duration("agent.max_duration", a.MaxDuration, 30*24*time.Hour)
	c.between("agent.parallel_tool_calls", int64(a.ParallelToolCalls), 1, 256)
	c.names("agent.exit_conditions", a.ExitConditions)
	if n := a.ToolSearchOver; n != nil && (*n < 0 || *n > 100_000) {
		c.fail("agent.tool_search_over", "must be from 0 to 100000")
	}
	c.output(a.Output)
	c.budgets()
	c.state()
}

// budgets checks what a run may use.
func (c *checker) budgets() {
	a := &c.Agent
	c.between("agent.max_total_tokens", a.MaxTotalTokens, 1, 1e12)
	c.between("agent.max_tool_calls", int64(a.MaxToolCalls), 1, 1e6)
	for _, name := range sortedKeys(a.MaxCallsPerTool) {
		if n := a.MaxCallsPerTool[name]; n < 1 || n > 1e6 {
			c.fail(entry("agent.max_calls_per_tool", name), "must be from 1 to 1000000")
		}
	}
	if n := a.MaxRepeatedCalls; n != nil && *n != 0 && (*n < 2 || *n > 1000) {
		c.fail("agent.max_repeated_calls", "must be 0, which is no limit, or from 2 to 1000")
	}
	p := c.Model.Prices
	c.price("agent.max_cost", a.MaxCost, 1e9)
	if a.MaxCost > 0 && p == (Prices{}) {
		c.fail("agent.max_cost", "what a run costs is not known: give model.prices")
	}
}

func (c *checker) price(field string, value, most float64) {
	if math.IsNaN(value) || value < 0 || value > most {
		c.fail(field, "must be from 0 to %.0f", most)
	}
}

func (c *checker) encodable(field string, value map[string]any) {
	if value == nil {
		return
	}
	if _, err := json.Marshal(value); err != nil {
		c.fail(field, "holds something that JSON cannot")
	}
}

// regular checks that a file is there.
func (c *checker) regular(field, path string) {
	info, err := os.Stat(c.absolute(path))
	switch {
	case err != nil:
		c.absent(field, "no such file: %s", c.shown(path))
	case !info.Mode().IsRegular():
		c.absent(field, "not a file: %s", c.shown(path))
	}
}

func (c *checker) folders(field string, grants map[string]string) {
	for _, host := range sortedKeys(grants) {
		if host == "" {
			continue
		}
		info, err := os.Stat(c.absolute(host))
		switch {
		case err != nil:
			c.absent(entry(field, host), "no such folder: %s", c.shown(host))
		case !info.IsDir():
			c.absent(entry(field, host), "not a folder: %s", c.shown(host))
		default:
			c.kernel(entry(field, host), c.absolute(host))
		}
	}
}

// shown is a path as somebody would write it in the manifest.
func (c *checker) shown(path string) string {
	if c.Dir != "" {
		if short, err := filepath.Rel(c.Dir, path); err == nil && !strings.HasPrefix(short, "..") {
			path = short
		}
	}
	return show(path)
}

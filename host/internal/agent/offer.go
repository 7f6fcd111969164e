package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/wagent-dev/wagent/host/internal/schema"
	"github.com/wagent-dev/wagent/host/internal/toolsearch"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

const (
	searchTool   = "search_tools"
	foundAtFirst = 5   // tools that a search gives when it does not say how many
	foundAtMost  = 20  // and that it may ask for
	maxBlurb     = 300 // bytes of a description in the result of a search
)

// searchParameters is the schema of the arguments of a search.
var searchParameters = json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{`+
	`"query":{"type":"string","description":"What the tool is to do, in a few words."},`+
	`"limit":{"type":"integer","minimum":1,"maximum":%d,"description":"How many tools to show at most. Default: %d."}},`+
	`"required":["query"],"additionalProperties":false}`, foundAtMost, foundAtFirst))

// offer is the tools that the model is shown. The list only grows, at its end: what
// a provider keeps of a request's beginning stays of use.
type offer struct {
	defs  []model.Definition
	names map[string]bool
	taken int // how many of the state's found tools are in it
}

// finder is the search for tools of a run.
type finder struct {
	tool  *Tool // nil: all tools are shown
	index func() *toolsearch.Index
}

// newFinder returns the search of an agent that has more tools than are to be shown.
func newFinder(a *Agent) finder {
	if a.SearchOver <= 0 || len(a.Tools) <= a.SearchOver {
		return finder{}
	}
	fits, _ := schema.Compile(searchParameters) // ours, and tested
	def := model.Definition{
		Name: a.freeName(searchTool, ""), Parameters: searchParameters,
		Description: fmt.Sprintf("Finds tools. You have %d tools and see only some of them: say what you want to do, and those that fit are named and can be called from your next reply on.", len(a.Tools)),
	}
	return finder{
		tool:  &Tool{Definition: def, Schema: fits, Idempotent: true},
		index: sync.OnceValue(func() *toolsearch.Index { return indexOf(a.Tools) }),
	}
}

func indexOf(tools []Tool) *toolsearch.Index {
	all := make([]toolsearch.Tool, len(tools))
	for i := range tools {
		all[i] = toolsearch.Tool{Name: tools[i].Definition.Name, Description: tools[i].Definition.Description}
	}
	return toolsearch.New(all)
}

// freeName returns a name that is no tool's and not other: base, or base with a number.
func (a *Agent) freeName(base, other string) string {
	name := base
	for n := 2; a.tool(name) != nil || name == other; n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	return name
}

// newOffer returns what the model is shown at first: all tools, or the search and the
// tools that end the run, without which it could not; then what takes the output.
func newOffer(d *driver) offer {
	o := offer{names: make(map[string]bool)}
	if d.find.tool != nil {
		o.add(d.find.tool.Definition)
	}
	for i := range d.Tools {
		if def := d.Tools[i].Definition; d.find.tool == nil || def.Name != exitText && slices.Contains(d.Exit, def.Name) {
			o.add(def)
		}
	}
	if d.strategy() == ByTool {
		o.add(d.outputDefinition())
	}
	return o
}

func (o *offer) add(def model.Definition) {
	if !o.names[def.Name] {
		o.defs, o.names[def.Name] = append(o.defs, def), true
	}
}

// offered returns what the model is shown, with what was found up to the last step.
func (d *driver) offered() []model.Definition {
	for _, name := range d.state.Found[d.offer.taken:] {
		if t := d.tool(name); t != nil {
			d.offer.add(t.Definition)
		}
	}
	d.offer.taken = len(d.state.Found)
	return d.offer.defs
}

// tool returns the tool with this name, the search included, or nil. Names are exact.
func (d *driver) tool(name string) *Tool {
	if t := d.find.tool; t != nil && t.Definition.Name == name {
		return t
	}
	return d.Agent.tool(name)
}

// reveal shows a tool from now on that the model called without having been shown it:
// it was granted, and to call it right the model needs its schema.
func (d *driver) reveal(r run.Returned) run.Returned {
	if d.find.tool != nil && !d.offer.names[r.Tool] && d.Agent.tool(r.Tool) != nil {
		r.Found = []string{r.Tool}
	}
	return r
}

// search answers a search. What it finds is shown from the next step on.
func (f *finder) search(tools []Tool, args json.RawMessage) Result {
	var q struct {
		Query string
		Limit *float64 // 5.0 is an integer to a schema
	}
	if err := json.Unmarshal(args, &q); err != nil {
		return Result{Kind: run.KindInvalidArgs, Content: model.TextParts("The arguments could not be read.")}
	}
	limit := foundAtFirst
	if q.Limit != nil {
		limit = int(min(max(*q.Limit, 1), foundAtMost))
	}
	found := f.index().Search(q.Query, limit)
	if len(found) == 0 {
		return Result{Content: model.TextParts(fmt.Sprintf("None of the %d tools has a word of this query in its name or description. "+
			"Search once more with other words: what the tool does, or what it works on.", len(tools)))}
	}
	var said strings.Builder
	said.WriteString("Found, the best first. You can call these tools from your next reply on:")
	r := Result{}
	for _, i := range found {
		def := &tools[i].Definition
		fmt.Fprintf(&said, "\n- %s: %s", def.Name, blurb(def.Description))
		r.found = append(r.found, def.Name)
	}
	r.Content = model.TextParts(said.String())
	return r
}

// blurb is the beginning of a description, on one line.
func blurb(s string) string {
	if len(s) > 4*maxBlurb {
		s = s[:4*maxBlurb]
	}
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	if len(s) <= maxBlurb {
		return s
	}
	end := maxBlurb - len("…")
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

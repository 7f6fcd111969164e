package manifest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

const (
	parseErrorField = "agent.on_parse_error"
	parseErrorForms = "feedback, fail, {text: …} or {module: …}"
)

// onParseError reads a word, or what the model is told.
func (r *reader) onParseError(n ast.Node, v reflect.Value, field string) {
	word, isWord := text(n)
	switch n.Type() {
	case ast.NullType, ast.MappingType, ast.MappingValueType:
	default:
		if !isWord {
			r.fail(n, field, "must be %s, found %s", parseErrorForms, kindOf(n))
			return
		}
	}
	if isWord {
		r.noteEmpty(field, word == "")
		v.Set(reflect.ValueOf(OnParseError{Word: word}))
		return
	}
	before := len(r.all)
	r.object(n, v, field)
	empty := r.origin.empty
	r.noteEmpty(field, v.IsZero() && len(r.all) == before && !empty[field+".text"] && !empty[field+".module"])
}

// onParseError checks that one of the forms is there, and whole: one that is empty
// would be the default, which nobody writes that way.
func (c *checker) onParseError(o *OnParseError) {
	const field = parseErrorField
	if words := []string{"feedback", "fail"}; o.Word != "" && !slices.Contains(words, o.Word) {
		c.fail(field, "unknown value %s%s", show(o.Word), suggest(o.Word, append(words, "{text: …}", "{module: …}")))
	}
	noText, noModule := c.empty(field+".text"), c.empty(field+".module")
	switch {
	case (o.Text != "" || noText) && (o.Module != "" || noModule):
		c.fail(field, "there is a text and a module: give one of them")
	case noText, o.Text != "" && strings.TrimSpace(o.Text) == "":
		c.fail(field+".text", "is empty: write what the model is told")
	case noModule:
		c.fail(field+".module", "is empty: write the path of a module")
	case o.Module != "":
		c.module(field, o.Module)
	case o.Config != nil:
		c.fail(field+".config", "is for a module, and there is none: give it as module")
	case o.IsZero() && c.empty(field):
		c.fail(field, "is empty: write %s", parseErrorForms)
	}
	if len(o.Text) > 16<<10 {
		c.fail(field+".text", "has more than 16 KiB")
	}
	c.encodable(field+".config", o.Config)
}

// source checks that an entry names its module or its agent.
func (c *checker) source(field string, t *Tool) {
	noAgent, noModule := c.empty(field+".agent"), c.empty(field+".module")
	if noAgent {
		c.fail(field+".agent", "is empty: write the path of a manifest")
	}
	switch {
	case t.Module == "" && noModule:
		c.fail(field+".module", "is empty: write the path of a module")
	case t.Module != "" || !noAgent:
		c.module(field, t.Module)
	}
}

// grantWord checks that a grant which is a word is not empty.
func (c *checker) grantWord(field, value string, forms ...string) {
	if value == "" && c.empty(field) {
		c.tell(fault{field: field, message: fmt.Sprintf("is empty: write %s", strings.Join(forms, " or "))})
	}
}

package schema

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	library "github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// location is the name of the schema inside the library. It cannot be loaded
// and is never shown.
const location = "tool:///schema"

// closed is the loader of everything that a schema refers to by name.
type closed struct{}

var errClosed = errors.New("nothing is loaded")

func (closed) Load(string) (any, error) { return nil, errClosed }

// compile lets the library resolve the schema and takes over what it found.
func compile(doc map[string]any) (s *Schema, err error) {
	defer func() {
		if p := recover(); p != nil { // the library's own fault on a schema nobody foresaw
			s, err = nil, &Error{Problem: "the schema cannot be read"}
		}
	}()
	c := jsonschema.NewCompiler()
	c.UseLoader(closed{})
	c.UseRegexpEngine(patternEngine)
	if err := c.AddResource(location, doc); err != nil {
		return nil, &Error{Problem: "the schema cannot be read"}
	}
	compiled, err := c.Compile(location)
	if err != nil {
		return nil, explain(err)
	}
	b := builder{nodes: map[*jsonschema.Schema]*node{}}
	root := b.node(compiled)
	if b.err != nil {
		return nil, b.err
	}
	if err := bound(b.nodes); err != nil {
		return nil, err
	}
	return &Schema{root: root, tracks: b.tracks}, nil
}

// explain makes the library's error ours: it keeps the place and the rule, and
// drops names and text of the library.
func explain(err error) *Error {
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		var tree *jsonschema.ValidationError
		if errors.As(invalid.Err, &tree) {
			leaf := deepest(tree)
			rule := "is not what a schema has here"
			if t, ok := leaf.ErrorKind.(*library.Type); ok {
				rule = fmt.Sprintf("must be %s, found %s", strings.Join(t.Want, " or "), t.Got)
			}
			return &Error{Pointer: pointer(fragment(invalid.URL), leaf.InstanceLocation), Problem: rule}
		}
	}
	var missing *jsonschema.JSONPointerNotFoundError
	var noAnchor *jsonschema.AnchorNotFoundError
	var badPointer *jsonschema.InvalidJsonPointerError
	var twice *jsonschema.DuplicateAnchorError
	var pattern *jsonschema.InvalidRegexError
	var load *jsonschema.LoadURLError
	switch {
	case errors.As(err, &missing), errors.As(err, &badPointer):
		return &Error{Problem: "a $ref leads nowhere: " + show(referred(err)), Hint: "the place it names is not in the schema"}
	case errors.As(err, &noAnchor):
		return &Error{Problem: "a $ref names an $anchor that is not there: " + show(fragment(noAnchor.Reference))}
	case errors.As(err, &twice):
		return &Error{Problem: "the $anchor " + show(twice.Anchor) + " is there twice"}
	case errors.As(err, &pattern):
		return &Error{Pointer: fragment(pattern.URL), Problem: pattern.Err.Error()}
	case errors.As(err, &load):
		return &Error{Problem: "the schema refers to something outside itself", Hint: "put what it names under $defs"}
	}
	return &Error{Problem: "the schema cannot be resolved"}
}

// deepest follows the branch of an error that goes furthest into the schema,
// which is where the author has to look.
func deepest(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	best := e
	for _, cause := range e.Causes {
		leaf := deepest(cause)
		if len(leaf.InstanceLocation) > len(best.InstanceLocation) || best == e {
			best = leaf
		}
	}
	return best
}

func pointer(base string, tokens []string) string {
	for _, token := range tokens {
		base += "/" + escape(token)
	}
	return base
}

// referred is the place that the error's text quotes; the error has no field for it.
func referred(err error) string {
	_, after, _ := strings.Cut(err.Error(), location)
	place, _, _ := strings.Cut(after, `"`)
	return "#" + fragment(place)
}

// fragment is what follows the "#" of a location, decoded.
func fragment(place string) string {
	_, after, _ := strings.Cut(place, "#")
	if decoded, err := url.PathUnescape(after); err == nil {
		return decoded
	}
	return after
}

// builder turns the library's schemas into nodes, each once.
type builder struct {
	nodes  map[*jsonschema.Schema]*node
	tracks bool
	err    error
}

func (b *builder) node(s *jsonschema.Schema) *node {
	if s == nil {
		return nil
	}
	if n, ok := b.nodes[s]; ok {
		return n
	}
	n := &node{at: fragment(s.Location)}
	b.nodes[s] = n
	if s.Bool != nil {
		n.never = !*s.Bool
		return n
	}
	if s.RecursiveRef != nil && b.err == nil {
		b.err = &Error{Pointer: n.at, Problem: "$recursiveRef is not supported"}
	}
	b.anyType(n, s)
	b.inPlace(n, s)
	b.object(n, s)
	b.array(n, s)
	n.text = textRules{min: s.MinLength, max: s.MaxLength}
	n.text.pattern, _ = s.Pattern.(*pattern)
	n.number = numberRules{s.Minimum, s.Maximum, s.ExclusiveMinimum, s.ExclusiveMaximum, s.MultipleOf}
	return n
}

func (b *builder) anyType(n *node, s *jsonschema.Schema) {
	if s.Types != nil {
		for _, name := range s.Types.ToStrings() {
			n.types |= kindNamed(name)
		}
	}
	allowed := s.Enum
	if s.Const != nil {
		n.constant = newSet([]any{*s.Const})
	}
	if allowed != nil {
		n.enum = newSet(allowed.Values)
	}
}

func (b *builder) all(list []*jsonschema.Schema) []*node {
	var nodes []*node
	for _, s := range list {
		nodes = append(nodes, b.node(s))
	}
	return nodes
}

func (b *builder) inPlace(n *node, s *jsonschema.Schema) {
	if s.Ref != nil {
		n.refs = append(n.refs, b.node(s.Ref))
	}
	if s.DynamicRef != nil { // one resource: the dynamic target is the static one
		n.refs = append(n.refs, b.node(s.DynamicRef.Ref))
	}
	n.allOf, n.anyOf, n.oneOf = b.all(s.AllOf), b.all(s.AnyOf), b.all(s.OneOf)
	n.not, n.when, n.then, n.otherwise = b.node(s.Not), b.node(s.If), b.node(s.Then), b.node(s.Else)
}

func (b *builder) object(n *node, s *jsonschema.Schema) {
	o := &n.object
	o.min, o.max, o.required = s.MinProperties, s.MaxProperties, s.Required
	o.properties = map[string]*node{}
	o.known = slices.Sorted(maps.Keys(s.Properties))
	for _, name := range o.known {
		o.properties[name] = b.node(s.Properties[name])
	}
	for re, property := range s.PatternProperties {
		p, _ := re.(*pattern)
		o.patterns = append(o.patterns, patternNode{p, b.node(property)})
	}
	slices.SortFunc(o.patterns, func(x, y patternNode) int { return strings.Compare(x.pattern.source, y.pattern.source) })
	o.additional = b.either(s.AdditionalProperties)
	o.names = b.node(s.PropertyNames)
	o.dependencies = b.dependencies(s)
	if o.unevaluated = b.node(s.UnevaluatedProperties); o.unevaluated != nil {
		b.tracks = true
	}
}

func (b *builder) dependencies(s *jsonschema.Schema) []dependency {
	var all []dependency
	for name, dep := range s.Dependencies {
		switch dep := dep.(type) {
		case []string:
			all = append(all, dependency{name: name, required: dep})
		case *jsonschema.Schema:
			all = append(all, dependency{name: name, schema: b.node(dep)})
		}
	}
	for name, required := range s.DependentRequired {
		all = append(all, dependency{name: name, required: required})
	}
	for name, schema := range s.DependentSchemas {
		all = append(all, dependency{name: name, schema: b.node(schema)})
	}
	slices.SortStableFunc(all, func(x, y dependency) int { return strings.Compare(x.name, y.name) })
	return all
}

func (b *builder) array(n *node, s *jsonschema.Schema) {
	a := &n.array
	a.min, a.max, a.unique = s.MinItems, s.MaxItems, s.UniqueItems
	a.contains, a.minContains, a.maxContains = b.node(s.Contains), s.MinContains, s.MaxContains
	a.prefix, a.items = b.all(s.PrefixItems), b.node(s.Items2020)
	switch items := s.Items.(type) { // of draft 07
	case *jsonschema.Schema:
		a.items = b.node(items)
	case []*jsonschema.Schema:
		a.prefix, a.items = b.all(items), b.either(s.AdditionalItems)
	}
	if a.unevaluated = b.node(s.UnevaluatedItems); a.unevaluated != nil {
		b.tracks = true
	}
}

// either reads a field that the library keeps as a bool or a schema.
func (b *builder) either(v any) *node {
	switch v := v.(type) {
	case bool:
		return &node{never: !v}
	case *jsonschema.Schema:
		return b.node(v)
	}
	return nil
}

type numberRules struct{ min, max, above, below, multiple *big.Rat }

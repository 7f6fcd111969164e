package manifest

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/wagent-dev/wagent/host/internal/spelling"
)

const (
	maxNodes = 100_000 // values that are read, those behind aliases each time
	maxDepth = 64
)

// reader fills Go values from the nodes of a YAML text and notes where each
// came from.
type reader struct {
	faults
	origin   *origin
	getenv   func(string) (string, bool)
	anchors  anchors
	nodes    int
	depth    int
	zero     bool              // the field has a zero that is not its default
	literals map[string]string // by field: the strings in which nothing was expanded
}

// expansion says in which strings of a field variables are put.
type expansion string

const (
	inValues expansion = "true"
	inKeys   expansion = "keys"
)

func (r *reader) fail(n ast.Node, field, format string, args ...any) {
	r.add(fault{position: positionOf(n.GetToken()), field: field, message: fmt.Sprintf(format, args...)})
}

// resolve returns the node that holds the value. It is nil when there is none to
// go on with, which has been told.
func (r *reader) resolve(n ast.Node, field string) ast.Node {
	for range maxDepth {
		switch v := n.(type) {
		case *ast.AnchorNode:
			n = v.Value
		case *ast.AliasNode:
			name := v.Value.GetToken().Value
			target, ok := r.anchors[name]
			if !ok {
				r.fail(v, field, "there is no anchor %s", show(name))
				return nil
			}
			n = target
		default:
			if r.nodes++; r.nodes > maxNodes {
				if r.nodes == maxNodes+1 {
					r.fail(n, field, "the manifest is too large: more than %d values, aliases counted each time", maxNodes)
				}
				return nil
			}
			return n
		}
		if n == nil {
			return nil
		}
	}
	r.fail(n, field, "aliases refer to each other in a circle")
	return nil
}

// value fills v from n.
func (r *reader) value(n ast.Node, v reflect.Value, field string, ex expansion) {
	at, written := positionOf(n.GetToken()), n
	if n = r.resolve(n, field); n == nil {
		return
	}
	if r.depth++; r.depth > maxDepth {
		r.fail(n, field, "more than %d values inside each other", maxDepth)
		r.depth--
		return
	}
	defer func() { r.depth-- }()
	if m, ok := written.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		at = positionOf(m.Values[0].Key.GetToken()) // the node itself points at the first colon
	}
	if v.Kind() != reflect.Struct || field != "" {
		r.origin.values[field] = at
	}
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[OnParseError]() {
			r.onParseError(n, v, field)
			return
		}
		r.object(n, v, field)
	case reflect.Pointer:
		target := reflect.New(v.Type().Elem())
		before := len(r.all)
		r.zero = target.Elem().Kind() != reflect.Struct // the fields of a section have their own
		r.value(n, target.Elem(), field, ex)
		if r.zero = false; len(r.all) == before {
			v.Set(target)
		}
	case reflect.Slice:
		r.list(n, v, field, ex)
	case reflect.Map:
		r.dictionary(n, v, field, ex)
	case reflect.Interface:
		if x, ok := r.plain(n, field, ex); ok && x != nil {
			v.Set(reflect.ValueOf(x))
		}
	default:
		r.scalar(n, v, field, ex)
	}
}

// pair is a key of a mapping with its value.
type pair struct {
	key   string
	node  ast.Node // of the key
	value ast.Node
}

// pairs returns the entries of a mapping, without those that are there twice. A
// value that is missing where a section could be is an empty section.
func (r *reader) pairs(n ast.Node, field string) ([]pair, bool) {
	var values []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	case *ast.NullNode:
		return nil, true
	default:
		r.fail(n, field, "must be a mapping, found %s", kindOf(n))
		return nil, false
	}
	out := make([]pair, 0, len(values))
	seen := make(map[string]bool, len(values))
	for _, v := range values {
		key, ok := v.Key.(*ast.StringNode)
		switch {
		case !ok:
			r.fail(v.Key, field, "a field's name must be a string, found %s: put it in quotes", kindOf(v.Key))
		case seen[key.Value]:
			r.fail(key, field, "the field %s is there twice", show(key.Value))
		case v.Value == nil:
			r.fail(key, field, "the field %s has no value", show(key.Value))
		default:
			seen[key.Value] = true
			out = append(out, pair{key.Value, key, v.Value})
		}
	}
	return out, true
}

func (r *reader) object(n ast.Node, v reflect.Value, field string) {
	pairs, ok := r.pairs(n, field)
	if !ok {
		return
	}
	known, index := fieldsOf(v.Type())
	for _, p := range pairs {
		name := within(field, p.key)
		i, ok := index[p.key]
		switch {
		case ok:
			r.origin.keys[name] = positionOf(p.node.GetToken())
			r.value(p.value, v.Field(i), name, expansion(v.Type().Field(i).Tag.Get("expand")))
		case slices.Contains(later(v.Type()), p.key):
			r.fail(p.node, field, "%q is not supported yet", p.key)
		default:
			r.fail(p.node, field, "unknown field %s%s", show(p.key), suggest(p.key, known))
		}
	}
}

// suggest is the end of an error about a word that is not known.
func suggest(word string, known []string) string {
	if meant := spelling.Nearest(word, known); meant != "" {
		return fmt.Sprintf(", did you mean %q?", meant)
	}
	return "; there are " + strings.Join(known, ", ")
}

// fieldsOf returns the names of a struct's fields in the file.
func fieldsOf(t reflect.Type) (names []string, index map[string]int) {
	index = map[string]int{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		if name != "" && name != "-" {
			names = append(names, name)
			index[name] = i
		}
	}
	return names, index
}

func within(field, key string) string {
	if field == "" {
		return key
	}
	return field + "." + key
}

// entry is the field of a map whose keys are not names, such as folders.
func entry(field, key string) string { return field + "[" + strconv.Quote(cut(key, 4*maxShown)) + "]" }

func item(field string, i int) string { return field + "[" + strconv.Itoa(i) + "]" }

func (r *reader) list(n ast.Node, v reflect.Value, field string, ex expansion) {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		if _, empty := n.(*ast.NullNode); !empty {
			r.fail(n, field, "must be a list, found %s", kindOf(n))
		}
		return
	}
	out := reflect.MakeSlice(v.Type(), len(s.Values), len(s.Values))
	for i, value := range s.Values {
		r.value(value, out.Index(i), item(field, i), ex)
	}
	v.Set(out)
}

func (r *reader) dictionary(n ast.Node, v reflect.Value, field string, ex expansion) {
	pairs, ok := r.pairs(n, field)
	if !ok || (len(pairs) == 0 && n.Type() == ast.NullType) {
		return
	}
	out := reflect.MakeMapWithSize(v.Type(), len(pairs))
	for _, p := range pairs {
		key, inner := p.key, ex
		if ex == inKeys {
			inner = ""
			if key, ok = r.expand(p.node, field, key); !ok {
				continue
			}
		}
		name := entry(field, key)
		if out.MapIndex(reflect.ValueOf(key)).IsValid() {
			r.fail(p.node, field, "%s is there twice", show(key))
			continue
		}
		value := reflect.New(v.Type().Elem()).Elem()
		r.value(p.value, value, name, inner)
		r.origin.keys[name] = positionOf(p.node.GetToken())
		out.SetMapIndex(reflect.ValueOf(key), value)
	}
	v.Set(out)
}

func (r *reader) expand(n ast.Node, field, s string) (string, bool) {
	out, err := expand(s, r.getenv)
	if err != nil {
		r.fail(n, field, "%s", err)
		return "", false
	}
	return out, true
}

package sdk

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

func (d *decoder) list(at *spot, v any, s *shape, dst reflect.Value, t tags) {
	items, ok := v.([]any)
	if !ok {
		d.fault(at, "want a list, not %s", describeJSON(v))
		return
	}
	if !d.bounds(at, float64(len(items)), t, " items") {
		return
	}
	out := reflect.MakeSlice(s.typ, len(items), len(items))
	for i, item := range items {
		if d.full() {
			return
		}
		d.value(&spot{in: at, item: true, index: i}, item, s.elem, out.Index(i), tags{enum: t.enum})
	}
	dst.Set(out)
}

func (d *decoder) dict(at *spot, v any, s *shape, dst reflect.Value) {
	members, ok := v.(map[string]any)
	if !ok {
		d.fault(at, "want an object, not %s", describeJSON(v))
		return
	}
	out := reflect.MakeMapWithSize(s.typ, len(members))
	for _, name := range sorted(members) {
		if d.full() {
			return
		}
		item := reflect.New(s.elem.typ).Elem()
		d.value(&spot{in: at, name: name}, members[name], s.elem, item, tags{})
		out.SetMapIndex(reflect.ValueOf(name).Convert(s.typ.Key()), item)
	}
	dst.Set(out)
}

func (d *decoder) object(at *spot, v any, s *shape, dst reflect.Value) {
	members, ok := v.(map[string]any)
	if !ok {
		d.fault(at, "want an object, not %s", describeJSON(v))
		return
	}
	for _, f := range s.fields {
		member, ok := members[f.name]
		switch {
		case ok && (member != nil || !f.optional):
			d.value(&spot{in: at, name: f.name}, member, f.shape, dst.FieldByIndex(f.index), f.tags)
		case f.tags.def != nil:
			def, _ := parse(f.tags.def) // checked when the tool was registered
			d.value(&spot{in: at, name: f.name}, def, f.shape, dst.FieldByIndex(f.index), f.tags)
		case !f.optional:
			d.fault(&spot{in: at, name: f.name}, "is missing")
		}
	}
	for _, name := range sorted(members) {
		if d.full() {
			return
		}
		if !s.has(name) {
			d.fault(&spot{in: at, name: name}, "there is no such %s%s", d.what, instead(name, s.names()))
		}
	}
}

// has says whether a struct has a field of that name.
func (s *shape) has(name string) bool {
	return slices.ContainsFunc(s.fields, func(f field) bool { return f.name == name })
}

// names returns those of a struct's fields.
func (s *shape) names() []string {
	var names []string
	for _, f := range s.fields {
		names = append(names, f.name)
	}
	return names
}

// instead says what there is in place of a name.
func instead(name string, known []string) string {
	if hint := Suggest(name, known); hint != "" {
		return fmt.Sprintf(": did you mean %q?", hint)
	}
	if len(known) == 0 {
		return ": there is none here"
	}
	return ": known are " + strings.Join(known, ", ")
}

func sorted(m map[string]any) []string {
	return slices.Sorted(maps.Keys(m))
}

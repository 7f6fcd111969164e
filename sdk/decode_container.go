package sdk

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

func (d *decoder) list(path string, v any, s *shape, dst reflect.Value, t tags) {
	items, ok := v.([]any)
	if !ok {
		d.fault(path, "want a list, not %s", describeJSON(v))
		return
	}
	if !d.bounds(path, float64(len(items)), t, " items") {
		return
	}
	out := reflect.MakeSlice(s.typ, len(items), len(items))
	for i, item := range items {
		if d.full() {
			return
		}
		d.value(fmt.Sprintf("%s[%d]", path, i), item, s.elem, out.Index(i), tags{enum: t.enum})
	}
	dst.Set(out)
}

func (d *decoder) dict(path string, v any, s *shape, dst reflect.Value) {
	members, ok := v.(map[string]any)
	if !ok {
		d.fault(path, "want an object, not %s", describeJSON(v))
		return
	}
	out := reflect.MakeMapWithSize(s.typ, len(members))
	for _, name := range sorted(members) {
		if d.full() {
			return
		}
		item := reflect.New(s.elem.typ).Elem()
		d.value(join(path, name), members[name], s.elem, item, tags{})
		out.SetMapIndex(reflect.ValueOf(name).Convert(s.typ.Key()), item)
	}
	dst.Set(out)
}

func (d *decoder) object(path string, v any, s *shape, dst reflect.Value) {
	members, ok := v.(map[string]any)
	if !ok {
		d.fault(path, "want an object, not %s", describeJSON(v))
		return
	}
	var known []string
	for _, f := range s.fields {
		known = append(known, f.name)
		member, ok := members[f.name]
		switch {
		case ok && (member != nil || !f.optional):
			d.value(join(path, f.name), member, f.shape, dst.FieldByIndex(f.index), f.tags)
		case f.tags.def != nil:
			def, _ := parse(f.tags.def) // checked when the tool was registered
			d.value(join(path, f.name), def, f.shape, dst.FieldByIndex(f.index), f.tags)
		case !f.optional:
			d.fault(join(path, f.name), "is missing")
		}
	}
	for _, name := range sorted(members) {
		if d.full() {
			return
		}
		if !slices.Contains(known, name) {
			d.fault(join(path, name), "there is no such %s%s", d.what, instead(name, known))
		}
	}
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

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func sorted(m map[string]any) []string {
	return slices.Sorted(maps.Keys(m))
}

package sdk

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// object is the shape of a struct. The fields of an embedded struct are its own,
// unless it has one of that name.
func (sh *shaper) object(t reflect.Type) (*shape, error) {
	s := &shape{kind: object, typ: t}
	var inherited []field
	for i := range t.NumField() {
		f := t.Field(i)
		fields, embedded, err := sh.field(t, f)
		if err != nil {
			return nil, fmt.Errorf("field %s of %s: %w", f.Name, t, err)
		}
		if embedded {
			inherited = append(inherited, fields...)
		} else {
			s.fields = append(s.fields, fields...)
		}
	}
	return s, s.join(inherited)
}

// field returns what f adds to the struct t: nothing, itself, or the fields of
// an embedded struct.
func (sh *shaper) field(t reflect.Type, f reflect.StructField) (fields []field, embedded bool, err error) {
	tags, err := parseTags(f)
	if err != nil || tags.skip {
		return nil, false, err
	}
	if embedded, err = embeds(f, tags.name); err != nil || !embedded && !f.IsExported() {
		return nil, false, err
	}
	elem, err := sh.enter(t, f.Type)
	if err != nil {
		return nil, false, err
	}
	if !embedded {
		own, err := sh.own(f, elem, tags)
		return []field{own}, false, err
	}
	if elem.kind != object {
		return nil, false, errors.New("an embedded struct with a JSON of its own needs a name: add a json tag")
	}
	fields = slices.Clone(elem.fields)
	for i := range fields {
		fields[i].index = append(slices.Clone(f.Index), fields[i].index...)
	}
	return fields, true, nil
}

// embeds says whether f is an embedded struct whose fields are those of the
// outer one. What encoding/json would treat in a way of its own is refused.
func embeds(f reflect.StructField, name string) (bool, error) {
	if !f.Anonymous {
		return false, nil
	}
	isStruct := f.Type.Kind() == reflect.Struct
	switch {
	case name == "" && f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.Struct:
		return false, errors.New("it is an embedded pointer: embed the struct itself, or add a json tag with a name")
	case name != "" && isStruct && !f.IsExported():
		return false, errors.New("an embedded struct with a name has to be exported")
	}
	return isStruct && name == "", nil
}

// own is a field that is not embedded.
func (sh *shaper) own(f reflect.StructField, s *shape, t tags) (field, error) {
	if err := t.check(s, sh.result); err != nil {
		return field{}, err
	}
	if t.name == "" {
		t.name = f.Name
	}
	optional := t.omit || !sh.result && (s.kind == pointer || t.def != nil)
	return field{name: t.name, index: f.Index, optional: optional, tags: t, shape: s}, nil
}

// join adds the fields of embedded structs.
func (s *shape) join(inherited []field) error {
	own := make(map[string]bool)
	for _, f := range s.fields {
		if own[f.name] {
			return fmt.Errorf("%s has two fields %q", s.typ, f.name)
		}
		own[f.name] = true
	}
	seen := make(map[string]bool)
	for _, f := range inherited {
		if seen[f.name] {
			return fmt.Errorf("%s embeds two fields %q", s.typ, f.name)
		}
		seen[f.name] = true
		if !own[f.name] {
			s.fields = append(s.fields, f)
		}
	}
	return nil
}

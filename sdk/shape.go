package sdk

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"
)

// kind is what a value is in JSON, and how it gets into a Go value.
type kind int

const (
	free    kind = iota // any JSON, into an interface
	raw                 // any JSON, kept as it is, or read by the type itself
	boolean             //
	integer             //
	number              //
	text                //
	parsed              // a string that the type reads itself
	moment              // time.Time
	span                // time.Duration, as "1m30s"
	blob                // []byte, as base64
	list                //
	dict                // a map with string keys
	object              // a struct
	pointer             // to elem
)

// shape is a Go type seen as JSON. It is worked out once, when a tool is
// registered, and both the schema and the decoder follow it.
type shape struct {
	kind     kind
	typ      reflect.Type
	elem     *shape  // of list, dict and pointer
	fields   []field // of object
	nullable bool    // a result may have null here
}

// field is a field of a struct.
type field struct {
	name     string // in JSON
	index    []int  // for reflect.Value.FieldByIndex
	optional bool
	tags     tags
	shape    *shape
}

// argumentShape is the shape of what a tool is called with.
func argumentShape(t reflect.Type) (*shape, error) {
	s, err := (&shaper{}).shape(t)
	if err != nil {
		return nil, err
	}
	switch s.kind {
	case object, dict, free, raw:
		return s, nil
	default:
		return nil, fmt.Errorf("%s is not a struct", t)
	}
}

// resultShape is the shape of what a tool returns.
func resultShape(t reflect.Type) (*shape, error) {
	return (&shaper{result: true}).shape(t)
}

// shaper works out shapes. It remembers the types that it is inside of, since
// a type that contains itself has no schema without references.
type shaper struct {
	result bool
	inside []reflect.Type
}

var (
	momentType          = reflect.TypeFor[time.Time]()
	spanType            = reflect.TypeFor[time.Duration]()
	rawType             = reflect.TypeFor[json.RawMessage]()
	numberType          = reflect.TypeFor[json.Number]()
	unmarshalerType     = reflect.TypeFor[json.Unmarshaler]()
	marshalerType       = reflect.TypeFor[json.Marshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
	textMarshalerType   = reflect.TypeFor[encoding.TextMarshaler]()
)

func (sh *shaper) shape(t reflect.Type) (*shape, error) {
	if k, ok := sh.special(t); ok {
		return &shape{kind: k, typ: t}, nil
	}
	switch t.Kind() {
	case reflect.Bool:
		return &shape{kind: boolean, typ: t}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &shape{kind: integer, typ: t}, nil
	case reflect.Float32, reflect.Float64:
		return &shape{kind: number, typ: t}, nil
	case reflect.String:
		return &shape{kind: text, typ: t}, nil
	case reflect.Interface:
		if t.NumMethod() > 0 && !sh.result {
			return nil, fmt.Errorf("%s is an interface, which nothing can be decoded into", t)
		}
		return &shape{kind: free, typ: t}, nil
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return &shape{kind: blob, typ: t, nullable: sh.result}, nil
		}
		return sh.around(list, t, sh.result)
	case reflect.Array:
		if !sh.result {
			return nil, fmt.Errorf("%s is an array: use a slice", t)
		}
		return sh.around(list, t, false)
	case reflect.Map:
		if t.Key().Kind() != reflect.String && !sh.result {
			return nil, fmt.Errorf("%s has keys that are not strings", t)
		}
		return sh.around(dict, t, sh.result)
	case reflect.Pointer:
		return sh.around(pointer, t, sh.result)
	case reflect.Struct:
		return sh.object(t)
	default:
		return nil, fmt.Errorf("%s has no JSON", t)
	}
}

// special says how a type is seen that is not what its kind says.
func (sh *shaper) special(t reflect.Type) (kind, bool) {
	jsonType, textType := unmarshalerType, textUnmarshalerType
	if sh.result {
		jsonType, textType = marshalerType, textMarshalerType
	}
	can := func(i reflect.Type) bool {
		return t.Implements(i) || t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface && reflect.PointerTo(t).Implements(i)
	}
	switch {
	case t == momentType:
		return moment, true
	case t == spanType && !sh.result: // a result is encoded by encoding/json, as nanoseconds
		return span, true
	case t == rawType:
		return raw, true
	case t == numberType:
		return number, true
	case t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface:
		return 0, false
	case can(jsonType):
		return raw, true
	case can(textType):
		return parsed, true
	}
	return 0, false
}

// around is the shape of a type that is made of another.
func (sh *shaper) around(k kind, t reflect.Type, nullable bool) (*shape, error) {
	elem, err := sh.enter(t, t.Elem())
	if err != nil {
		return nil, err
	}
	return &shape{kind: k, typ: t, elem: elem, nullable: nullable}, nil
}

// enter is the shape of part, which is in whole.
func (sh *shaper) enter(whole, part reflect.Type) (*shape, error) {
	for _, t := range sh.inside {
		if t == whole {
			return nil, fmt.Errorf("%s contains itself: use json.RawMessage for the inner one", whole)
		}
	}
	sh.inside = append(sh.inside, whole)
	s, err := sh.shape(part)
	sh.inside = sh.inside[:len(sh.inside)-1]
	return s, err
}

// object is the shape of a struct. The fields of an embedded struct are its own,
// unless it has one of that name.
func (sh *shaper) object(t reflect.Type) (*shape, error) {
	s := &shape{kind: object, typ: t}
	var embedded []field
	for i := range t.NumField() {
		f := t.Field(i)
		tags, err := parseTags(f)
		if err != nil {
			return nil, fmt.Errorf("field %s of %s: %w", f.Name, t, err)
		}
		inline := f.Anonymous && tags.name == "" && f.Type.Kind() == reflect.Struct
		if tags.skip || !f.IsExported() && !inline {
			continue
		}
		elem, err := sh.enter(t, f.Type)
		if err != nil {
			return nil, fmt.Errorf("field %s of %s: %w", f.Name, t, err)
		}
		if inline && elem.kind == object {
			for _, g := range elem.fields {
				g.index = append([]int{i}, g.index...)
				embedded = append(embedded, g)
			}
			continue
		}
		if err := tags.check(elem, sh.result); err != nil {
			return nil, fmt.Errorf("field %s of %s: %w", f.Name, t, err)
		}
		if tags.name == "" {
			tags.name = f.Name
		}
		optional := tags.omit || !sh.result && (elem.kind == pointer || tags.def != nil)
		s.fields = append(s.fields, field{name: tags.name, index: []int{i}, optional: optional, tags: tags, shape: elem})
	}
	return s, s.join(embedded)
}

// join adds the fields of embedded structs.
func (s *shape) join(embedded []field) error {
	own := make(map[string]bool)
	for _, f := range s.fields {
		if own[f.name] {
			return fmt.Errorf("%s has two fields %q", s.typ, f.name)
		}
		own[f.name] = true
	}
	inherited := make(map[string]bool)
	for _, f := range embedded {
		if inherited[f.name] {
			return errors.New("two embedded structs have a field " + f.name)
		}
		inherited[f.name] = true
		if !own[f.name] {
			s.fields = append(s.fields, f)
		}
	}
	return nil
}

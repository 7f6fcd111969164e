package sdk

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// kind is what a value is in JSON, and how it gets into a Go value.
type kind int

const (
	free kind = iota // any JSON, into an interface
	raw              // any JSON, kept as it is, or read by the type itself
	boolean
	integer
	number
	text
	parsed // a string that the type reads itself
	moment // time.Time
	span   // time.Duration, as "1m30s"
	blob   // []byte, as base64
	list
	dict    // a map with string keys
	object  // a struct
	pointer // to elem
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
	if slices.Contains(sh.inside, t) {
		return sh.again(t)
	}
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
		if !sh.keyed(t.Key()) {
			return nil, fmt.Errorf("%s has keys that are not plain strings", t)
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
	case sh.result:
		return writesItself(t)
	default:
		return readsItself(t)
	}
}

// readsItself says how a type is seen that has an Unmarshal method.
func readsItself(t reflect.Type) (kind, bool) {
	switch p := reflect.PointerTo(t); {
	case p.Implements(unmarshalerType):
		return raw, true
	case p.Implements(textUnmarshalerType):
		return parsed, true
	}
	return 0, false
}

// writesItself says how a type is seen that has a Marshal method. One that needs
// a pointer is called only for a value that has an address, so what comes out
// is not known.
func writesItself(t reflect.Type) (kind, bool) {
	switch p := reflect.PointerTo(t); {
	case p.Implements(marshalerType):
		return raw, true
	case t.Implements(textMarshalerType):
		return parsed, true
	case p.Implements(textMarshalerType):
		return raw, true
	}
	return 0, false
}

// keyed says whether a map may have such keys. Those of arguments are taken as
// they are, so a type that would check them in UnmarshalText is none.
func (sh *shaper) keyed(key reflect.Type) bool {
	switch k := key.Kind(); {
	case !sh.result:
		return k == reflect.String && !reflect.PointerTo(key).Implements(textUnmarshalerType)
	case k == reflect.String, reflect.Int <= k && k <= reflect.Uintptr:
		return true
	default:
		return key.Implements(textMarshalerType)
	}
}

// again is the shape of a type inside of itself. A result is written by
// encoding/json whatever its schema says, so there it may be anything.
func (sh *shaper) again(t reflect.Type) (*shape, error) {
	if sh.result {
		return &shape{kind: raw, typ: t}, nil
	}
	return nil, fmt.Errorf("%s contains itself: use json.RawMessage for the inner one", t)
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
	sh.inside = append(sh.inside, whole)
	s, err := sh.shape(part)
	sh.inside = sh.inside[:len(sh.inside)-1]
	return s, err
}

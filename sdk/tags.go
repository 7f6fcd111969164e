package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Tags documents the struct tags that say what an argument may be. It is not
// used otherwise.
//
//	json:"name"            the name; as in encoding/json, but matched exactly
//	json:",omitempty"      may be left out, as may every pointer
//	doc:"the text to cut"  what the model is told about it
//	enum:"asc,desc"        the only values of a string or integer, or of a list's items;
//	                       spaces around a comma do not count
//	min:"1" max:"20"       bounds of a number, of the characters of a string, of the items of a list
//	default:"10"           the value when it is left out: a string as it is, all else as JSON
//
// Every other field is required. A struct that is left out is zero, whatever its
// own fields have for a default, unless it has default:"{}".
//
// The fields of an embedded struct belong to the outer one. Strings, booleans, numbers, slices, maps with
// string keys and structs nest as deep as one likes; a struct may not contain
// itself. []byte is base64, time.Time RFC 3339, time.Duration "1m30s". A type
// with UnmarshalText is a string, one with UnmarshalJSON, an interface and
// json.RawMessage are any JSON.
//
// Before the tool runs, arguments are checked against all of this. A field that
// the struct does not have is an error, so are null for a required one, and a
// number that does not fit.
type Tags struct{}

// tags are the struct tags of a field.
type tags struct {
	name     string
	skip     bool // not part of the JSON
	omit     bool // may be left out
	doc      string
	enum     []string
	min, max *float64
	def      json.RawMessage // nil: no default
	defText  string
}

func parseTags(f reflect.StructField) (tags, error) {
	tag := f.Tag.Get("json")
	if tag == "-" {
		return tags{skip: true}, nil
	}
	name, options, _ := strings.Cut(tag, ",")
	t := tags{name: name, doc: f.Tag.Get("doc")}
	if strings.ContainsAny(name, "\"'`\\") { // encoding/json ignores such a name
		return t, fmt.Errorf("the json name %q has a quote or a backslash", name)
	}
	for o := range strings.SplitSeq(options, ",") {
		switch o {
		case "omitempty", "omitzero":
			t.omit = true
		case "string":
			return t, errors.New("the json option string is not supported")
		}
	}
	if e := f.Tag.Get("enum"); e != "" {
		t.enum = strings.Split(e, ",")
		for i := range t.enum {
			t.enum[i] = strings.TrimSpace(t.enum[i])
		}
	}
	var errMin, errMax error
	t.min, errMin = bound(f.Tag, "min")
	t.max, errMax = bound(f.Tag, "max")
	if def, ok := f.Tag.Lookup("default"); ok {
		t.def, t.defText = json.RawMessage(def), def
	}
	return t, errors.Join(errMin, errMax)
}

func bound(tag reflect.StructTag, key string) (*float64, error) {
	v := tag.Get(key)
	if v == "" {
		return nil, nil
	}
	f, err := strconv.ParseFloat(v, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, fmt.Errorf("%s is not a number: %q", key, v)
	}
	return &f, nil
}

// check says whether the tags fit the field, and puts the default into JSON.
func (t *tags) check(s *shape, result bool) error {
	s = s.target()
	if err := errors.Join(t.checkEnum(s), t.checkBounds(s.kind)); err != nil {
		return err
	}
	if t.def == nil || result {
		t.def = nil
		return nil
	}
	switch s.kind {
	case text, parsed, moment, span, blob:
		t.def = json.RawMessage(quote(t.defText))
	}
	d := decoder{what: "default"}
	d.check(nil, t.def, s, *t)
	return d.err()
}

// checkEnum puts whole numbers as JSON has them.
func (t *tags) checkEnum(s *shape) error {
	if s.kind == list {
		s = s.elem.target()
	}
	if t.enum != nil && s.kind != text && s.kind != integer {
		return errors.New("enum needs a string or an integer")
	}
	for i, e := range t.enum {
		if s.kind == integer {
			n, err := strconv.ParseInt(e, 10, 64)
			if err != nil {
				return fmt.Errorf("enum of an integer has %q", e)
			}
			t.enum[i] = strconv.FormatInt(n, 10)
		}
		if slices.Contains(t.enum[:i], t.enum[i]) {
			return fmt.Errorf("enum has %q twice", e)
		}
	}
	return nil
}

func (t *tags) checkBounds(k kind) error {
	for _, b := range []*float64{t.min, t.max} {
		switch {
		case b == nil:
		case boundNames(k) == nil:
			return errors.New("min and max need a number, a string or a list")
		case k != number && *b != math.Trunc(*b), (k == text || k == list) && *b < 0:
			return errors.New("min and max have to be whole numbers here, and those of a size not negative")
		}
	}
	if t.min != nil && t.max != nil && *t.min > *t.max {
		return errors.New("min is more than max")
	}
	return nil
}

// target is what a pointer leads to, or the shape itself.
func (s *shape) target() *shape {
	for s.kind == pointer {
		s = s.elem
	}
	return s
}

package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// Tags documents the struct tags that say what an argument may be. It is not
// used otherwise.
//
//	json:"name"            the name; as in encoding/json, but matched exactly
//	json:",omitempty"      may be left out, as may every pointer
//	doc:"the text to cut"  what the model is told about it
//	enum:"asc,desc"        the only values of a string or integer, or of a list's items
//	min:"1" max:"20"       bounds of a number, of the characters of a string, of the items of a list
//	default:"10"           the value when it is left out: a string as it is, all else as JSON
//
// Every other field is required. Strings, booleans, numbers, slices, maps with
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
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	t := tags{name: name, doc: f.Tag.Get("doc")}
	if name == "-" && options == "" {
		return tags{skip: true}, nil
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
	if err != nil {
		return nil, fmt.Errorf("%s is not a number: %q", key, v)
	}
	return &f, nil
}

// check says whether the tags fit the field, and puts the default into JSON.
func (t *tags) check(s *shape, result bool) error {
	s = s.target()
	item := s
	if s.kind == list {
		item = s.elem.target()
	}
	if t.enum != nil && item.kind != text && item.kind != integer {
		return errors.New("enum needs a string or an integer")
	}
	for _, e := range t.enum {
		if _, err := strconv.ParseInt(e, 10, 64); item.kind == integer && err != nil {
			return fmt.Errorf("enum of an integer has %q", e)
		}
	}
	if (t.min != nil || t.max != nil) && boundNames(s.kind) == nil {
		return errors.New("min and max need a number, a string or a list")
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
	d.check("", t.def, s, *t)
	return d.err()
}

// target is what a pointer leads to, or the shape itself.
func (s *shape) target() *shape {
	for s.kind == pointer {
		s = s.elem
	}
	return s
}

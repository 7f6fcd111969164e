package sdk

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// maxFaults is how many mistakes one error names.
const maxFaults = 6

// decode reads arguments into a Go value. The error is of kind input and names
// every argument that is wrong, so that a model can correct all of them at once.
func decode(data json.RawMessage, s *shape, into reflect.Value, what string) error {
	if len(bytes.TrimSpace(data)) == 0 || string(bytes.TrimSpace(data)) == "null" {
		data = json.RawMessage("{}")
	}
	d := decoder{what: what}
	v, err := parse(data)
	if err != nil {
		return Errorf(abi.Input, "the %ss are not valid JSON: %w", what, err)
	}
	if _, ok := v.(map[string]any); !ok {
		return Errorf(abi.Input, "the %ss have to be a JSON object, not %s", what, describeJSON(v))
	}
	d.value("", v, s, into, tags{})
	return d.err()
}

// parse reads one JSON value, with its numbers as they are written.
func parse(data []byte) (any, error) {
	var v any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more after the value")
	}
	return v, nil
}

// decoder collects what is wrong.
type decoder struct {
	what   string // what a top-level value is called: argument, config
	faults []string
}

func (d *decoder) err() error {
	if len(d.faults) == 0 {
		return nil
	}
	if len(d.faults) > maxFaults {
		d.faults = append(d.faults[:maxFaults], "and more")
	}
	return Errorf(abi.Input, "%s", strings.Join(d.faults, "; "))
}

func (d *decoder) fault(path, format string, args ...any) {
	if len(d.faults) > maxFaults {
		return
	}
	where := d.what
	if path != "" {
		where = fmt.Sprintf("%s %q", d.what, path)
	}
	d.faults = append(d.faults, where+": "+fmt.Sprintf(format, args...))
}

// check decodes JSON into a value that is thrown away.
func (d *decoder) check(path string, data json.RawMessage, s *shape, t tags) {
	v, err := parse(data)
	if err != nil {
		d.fault(path, "not valid JSON: %v", err)
		return
	}
	d.value(path, v, s, reflect.New(s.typ).Elem(), t)
}

// value puts v into dst, which has the type of s.
func (d *decoder) value(path string, v any, s *shape, dst reflect.Value, t tags) {
	switch s.kind {
	case pointer:
		if v == nil {
			return
		}
		dst.Set(reflect.New(s.elem.typ))
		d.value(path, v, s.elem, dst.Elem(), t)
	case free:
		if v != nil {
			dst.Set(reflect.ValueOf(plain(v)))
		}
	case raw:
		d.raw(path, v, dst)
	case boolean:
		if b, ok := v.(bool); ok {
			dst.SetBool(b)
			return
		}
		d.fault(path, "want true or false, not %s", describeJSON(v))
	case integer, number:
		d.number(path, v, s, dst, t)
	case list:
		d.list(path, v, s, dst, t)
	case dict:
		d.dict(path, v, s, dst)
	case object:
		d.object(path, v, s, dst)
	default:
		d.text(path, v, s, dst, t)
	}
}

// raw hands the JSON to the type.
func (d *decoder) raw(path string, v any, dst reflect.Value) {
	b, err := marshal(v)
	if err == nil {
		err = json.Unmarshal(b, dst.Addr().Interface())
	}
	if err != nil {
		d.fault(path, "%v", err)
	}
}

// text handles everything that is a string in JSON.
func (d *decoder) text(path string, v any, s *shape, dst reflect.Value, t tags) {
	str, ok := v.(string)
	if !ok {
		d.fault(path, "want a string, not %s", describeJSON(v))
		return
	}
	switch s.kind {
	case moment:
		m, err := time.Parse(time.RFC3339, str)
		if err != nil {
			d.fault(path, "want a time like 2026-01-31T15:04:05Z, not %s", describeJSON(v))
		}
		dst.Set(reflect.ValueOf(m))
	case span:
		p, err := time.ParseDuration(str)
		if err != nil {
			d.fault(path, "want a duration like 1m30s, not %s", describeJSON(v))
		}
		dst.SetInt(int64(p))
	case blob:
		b, err := base64.StdEncoding.DecodeString(str)
		if err != nil {
			d.fault(path, "want base64: %v", err)
		}
		dst.SetBytes(b)
	case parsed:
		d.raw(path, v, dst)
	default:
		if t.enum != nil && !slices.Contains(t.enum, str) {
			d.fault(path, "%s", wantOneOf(str, t.enum))
			return
		}
		d.bounds(path, float64(len([]rune(str))), t, " characters")
		dst.SetString(str)
	}
}

func (d *decoder) list(path string, v any, s *shape, dst reflect.Value, t tags) {
	items, ok := v.([]any)
	if !ok {
		d.fault(path, "want a list, not %s", describeJSON(v))
		return
	}
	d.bounds(path, float64(len(items)), t, " items")
	out := reflect.MakeSlice(s.typ, len(items), len(items))
	for i, item := range items {
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
		if slices.Contains(known, name) {
			continue
		}
		if hint := Suggest(name, known); hint != "" {
			d.fault(join(path, name), "there is no such %s: did you mean %q?", d.what, hint)
		} else {
			d.fault(join(path, name), "there is no such %s: known are %s", d.what, strings.Join(known, ", "))
		}
	}
}

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
	"unicode/utf8"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// What is decoded, as an error names a part of it.
const (
	argument = "argument"
	config   = "config"
)

// An error is read by a model, and much of it was written by one: it names so
// many mistakes, and of each so many characters of where and what it is.
const (
	maxFaults = 6
	maxPath   = 120
	maxReason = 300
)

// decode reads arguments into a Go value. The error is of kind input and names
// every argument that is wrong, so that a model can correct all of them at once.
func decode(data json.RawMessage, s *shape, into reflect.Value, what string) error {
	if len(bytes.TrimSpace(data)) == 0 || string(bytes.TrimSpace(data)) == "null" {
		data = json.RawMessage("{}")
	}
	d := decoder{what: what}
	v, err := parse(data)
	if _, ok := v.(map[string]any); err != nil {
		d.fault("", "not valid JSON: %v", err)
	} else if !ok {
		d.fault("", "want an object, not %s", describeJSON(v))
	} else {
		d.value("", v, s, into, tags{})
	}
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
	what   string // argument, config or default
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
	if d.full() {
		return
	}
	where := d.what
	switch {
	case path != "":
		where = fmt.Sprintf("%s %q", d.what, clip(path, maxPath))
	case d.what == argument:
		where = "arguments"
	}
	d.faults = append(d.faults, where+": "+clip(fmt.Sprintf(format, args...), maxReason))
}

// full says that there are more mistakes than are named, so that a model which
// sent a million of them does not have the rest looked at.
func (d *decoder) full() bool { return len(d.faults) > maxFaults }

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
		d.free(path, v, dst)
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

// free puts what encoding/json would into an interface.
func (d *decoder) free(path string, v any, dst reflect.Value) {
	if v == nil {
		return
	}
	v, ok := plain(v)
	if !ok {
		d.fault(path, "a number in it is out of range")
		return
	}
	dst.Set(reflect.ValueOf(v))
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
		var m time.Time
		if err := m.UnmarshalText([]byte(str)); err != nil {
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
		d.bounds(path, float64(utf8.RuneCountInString(str)), t, " characters")
		dst.SetString(str)
	}
}

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
	if rest := bytes.TrimSpace(data); len(rest) == 0 || string(rest) == "null" {
		data = json.RawMessage("{}")
	}
	d := decoder{what: what}
	v, err := parse(data)
	if _, ok := v.(map[string]any); err != nil {
		d.fault(nil, "not valid JSON: %v", err)
	} else if !ok {
		d.fault(nil, "want an object, not %s", describeJSON(v))
	} else {
		d.value(nil, v, s, into, tags{})
	}
	return d.err()
}

// parse reads one JSON value, with its numbers as they are written.
func parse(data []byte) (any, error) {
	s := scanner{data: data}
	if v, ok := s.value(); ok && s.end() {
		return v, nil
	}
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

func (d *decoder) fault(at *spot, format string, args ...any) {
	if d.full() {
		return
	}
	where, name := d.what, at.String()
	switch {
	case name != "":
		where = fmt.Sprintf("%s %q", d.what, clip(name, maxPath))
	case d.what == argument:
		where = "arguments"
	}
	d.faults = append(d.faults, where+": "+clip(fmt.Sprintf(format, args...), maxReason))
}

// full says that there are more mistakes than are named, so that a model which
// sent a million of them does not have the rest looked at.
func (d *decoder) full() bool { return len(d.faults) > maxFaults }

// check decodes JSON into a value that is thrown away.
func (d *decoder) check(at *spot, data json.RawMessage, s *shape, t tags) {
	v, err := parse(data)
	if err != nil {
		d.fault(at, "not valid JSON: %v", err)
		return
	}
	d.value(at, v, s, reflect.New(s.typ).Elem(), t)
}

// value puts v into dst, which has the type of s.
func (d *decoder) value(at *spot, v any, s *shape, dst reflect.Value, t tags) {
	switch s.kind {
	case pointer:
		if v == nil {
			return
		}
		dst.Set(reflect.New(s.elem.typ))
		d.value(at, v, s.elem, dst.Elem(), t)
	case free:
		d.free(at, v, dst)
	case raw:
		d.raw(at, v, dst)
	case boolean:
		if b, ok := v.(bool); ok {
			dst.SetBool(b)
			return
		}
		d.fault(at, "want true or false, not %s", describeJSON(v))
	case integer, number:
		d.number(at, v, s, dst, t)
	case list:
		d.list(at, v, s, dst, t)
	case dict:
		d.dict(at, v, s, dst)
	case object:
		d.object(at, v, s, dst)
	default:
		d.text(at, v, s, dst, t)
	}
}

// free puts what encoding/json would into an interface.
func (d *decoder) free(at *spot, v any, dst reflect.Value) {
	if v == nil {
		return
	}
	v, ok := plain(v)
	if !ok {
		d.fault(at, "a number in it is out of range")
		return
	}
	dst.Set(reflect.ValueOf(v))
}

// raw hands the JSON to the type.
func (d *decoder) raw(at *spot, v any, dst reflect.Value) {
	b, err := marshal(v)
	if err == nil {
		err = json.Unmarshal(b, dst.Addr().Interface())
	}
	if err != nil {
		d.fault(at, "%v", err)
	}
}

// text handles everything that is a string in JSON.
func (d *decoder) text(at *spot, v any, s *shape, dst reflect.Value, t tags) {
	str, ok := v.(string)
	if !ok {
		d.fault(at, "want a string, not %s", describeJSON(v))
		return
	}
	switch s.kind {
	case moment:
		var m time.Time
		if err := m.UnmarshalText([]byte(str)); err != nil {
			d.fault(at, "want a time like 2026-01-31T15:04:05Z, not %s", describeJSON(v))
		}
		dst.Set(reflect.ValueOf(m))
	case span:
		p, err := time.ParseDuration(str)
		if err != nil {
			d.fault(at, "want a duration like 1m30s, not %s", describeJSON(v))
		}
		dst.SetInt(int64(p))
	case blob:
		b, err := base64.StdEncoding.DecodeString(str)
		if err != nil {
			d.fault(at, "want base64: %v", err)
		}
		dst.SetBytes(b)
	case parsed:
		d.raw(at, v, dst)
	default:
		if t.enum != nil && !slices.Contains(t.enum, str) {
			d.fault(at, "%s", wantOneOf(str, t.enum))
			return
		}
		if t.min != nil || t.max != nil {
			d.bounds(at, float64(utf8.RuneCountInString(str)), t, " characters")
		}
		dst.SetString(str)
	}
}

// Package redact takes secrets out of text: as they are, and as base64, hex,
// URL-encoded and JSON-escaped text has them, also where a value is split over
// two writes.
//
//	s := redact.New(token)
//	shown := s.String(text)
//
// Only whole values are taken out. Whoever can see that a part of a value was
// taken out can try what the next character is, and has the value after a few
// hundred tries; with whole values there is nothing to try.
//
// What is not found: a value in pieces, or transformed in any other way.
package redact

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Mark stands where a value was.
const Mark = "[redacted]"

// MinValue is how many bytes a value has to have at least. A shorter one would
// be found in text that has nothing to do with it.
const MinValue = 4

// Set finds values. It is never written after it was made, and safe for
// concurrent use. A nil Set finds nothing.
type Set struct {
	byFirst [256][]*pattern // by the byte that a match can begin with
}

// New returns a set of values. Those of less than [MinValue] bytes are left out;
// it is nil when none is left.
func New(values ...string) *Set {
	values = slices.DeleteFunc(slices.Clone(values), func(v string) bool { return len(v) < MinValue })
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	values = slices.Compact(values)
	s := &Set{}
	for _, v := range values {
		for _, p := range patterns(v) {
			for b := range 256 {
				if p.begins(byte(b)) {
					s.byFirst[b] = append(s.byFirst[b], p)
				}
			}
		}
	}
	return s
}

// String returns text without the values.
func (s *Set) String(text string) string {
	if s == nil || !s.Found([]byte(text)) {
		return text
	}
	out, _ := s.scan(nil, []byte(text), true)
	return string(out)
}

// Bytes returns data without the values: data itself where there are none.
func (s *Set) Bytes(data []byte) []byte {
	if !s.Found(data) {
		return data
	}
	out, _ := s.scan(nil, data, true)
	return out
}

// Found reports whether one of the values is in data.
func (s *Set) Found(data []byte) bool {
	if s == nil {
		return false
	}
	for i := range data {
		if end, _ := s.at(data, i); end > 0 {
			return true
		}
	}
	return false
}

// JSON returns raw without the values, and it stays JSON. Raw itself is returned
// where there are none; what is not JSON is taken for text.
func (s *Set) JSON(raw json.RawMessage) json.RawMessage {
	if s == nil || len(raw) == 0 {
		return raw
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return s.Bytes(raw)
	}
	clean, changed := s.value(v)
	if !changed {
		return raw
	}
	out, err := json.Marshal(clean)
	if err != nil { // nothing that was decoded cannot be encoded
		return json.RawMessage("null")
	}
	return out
}

// value cleans what JSON was decoded into, names of fields too.
func (s *Set) value(v any) (clean any, changed bool) {
	switch v := v.(type) {
	case string:
		out := s.String(v)
		return out, out != v
	case json.Number:
		if s.Found([]byte(v)) {
			return Mark, true
		}
	case []any:
		for i := range v {
			one, did := s.value(v[i])
			v[i], changed = one, changed || did
		}
		return v, changed
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, inner := range v {
			one, did := s.value(inner)
			key := s.String(name)
			out[key], changed = one, changed || did || key != name
		}
		return out, changed
	}
	return v, false
}

// scan appends text to dst without the values. Unless it is final it stops where
// a value may begin that the text does not have the end of, and returns the rest.
func (s *Set) scan(dst, text []byte, final bool) (out, rest []byte) {
	from := 0
	for i := 0; i < len(text); i++ {
		end, more := s.at(text, i)
		if more && !final {
			return append(dst, text[from:i]...), text[i:]
		}
		if end > 0 {
			dst = append(append(dst, text[from:i]...), Mark...)
			from, i = end, end-1
		}
	}
	return append(dst, text[from:]...), nil
}

// at returns where the longest value ends that begins at i, 0 for none, and
// whether one could go on after the end of the text.
func (s *Set) at(text []byte, i int) (end int, more bool) {
	for _, p := range s.byFirst[text[i]] {
		e, m := p.match(text, i, 0)
		end, more = max(end, e), more || m
	}
	return end, more
}

// Stream takes values out of what is written piece by piece. The zero Stream
// passes everything on. It is not safe for concurrent use.
type Stream struct {
	Set  *Set
	held []byte // may be the beginning of a value
}

// Next returns what can be passed on after the next piece of the stream. What it
// returns is valid until the next call; p may be it.
func (s *Stream) Next(p []byte) []byte {
	if s.Set == nil {
		return p
	}
	text := append(s.held, p...)
	out, rest := s.Set.scan(make([]byte, 0, len(text)), text, false)
	s.held = slices.Clone(rest)
	return out
}

// End returns what was held back, at the end of the stream.
func (s *Stream) End() []byte {
	held := s.held
	s.held = nil
	if s.Set == nil {
		return held
	}
	out, _ := s.Set.scan(nil, held, true)
	return out
}

// Strings is String for each of a list, in place.
func (s *Set) Strings(list []string) {
	for i := range list {
		list[i] = s.String(list[i])
	}
}

// Map is String for the names and values of a map. It returns the map itself
// where nothing has to be taken out.
func (s *Set) Map(in map[string]string) map[string]string {
	if s == nil {
		return in
	}
	var all strings.Builder
	for name, value := range in {
		all.WriteString(name + "\x00" + value + "\x00")
	}
	if !s.Found([]byte(all.String())) {
		return in
	}
	out := make(map[string]string, len(in))
	for name, value := range in {
		out[s.String(name)] = s.String(value)
	}
	return out
}

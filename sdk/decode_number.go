package sdk

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// number handles integers and floating-point numbers. 3.0 is an integer, as
// JSON Schema has it.
func (d *decoder) number(path string, v any, s *shape, dst reflect.Value, t tags) {
	n, ok := v.(json.Number)
	if !ok {
		d.fault(path, "want %s, not %s", article(s.kind), describeJSON(v))
		return
	}
	f, err := n.Float64()
	if err != nil {
		d.fault(path, "%s is out of range", n)
		return
	}
	switch {
	case dst.Kind() == reflect.String: // json.Number
		dst.SetString(string(n))
	case dst.CanFloat():
		if dst.OverflowFloat(f) {
			d.fault(path, "%s is out of range", n)
			return
		}
		dst.SetFloat(f)
	case !setInteger(dst, n, f):
		d.fault(path, "want a whole number that fits %s, not %s", s.typ, n)
		return
	}
	if t.enum != nil && !slices.Contains(t.enum, strconv.FormatFloat(f, 'f', -1, 64)) {
		d.fault(path, "%s", wantOneOf(n.String(), t.enum))
	}
	d.bounds(path, f, t, "")
}

// exact is the largest float64 below which every whole number has its own.
const exact = 1 << 53

// setInteger puts a whole number into dst and says whether it fits.
func setInteger(dst reflect.Value, n json.Number, f float64) bool {
	if dst.CanInt() {
		i, err := strconv.ParseInt(n.String(), 10, 64)
		if err != nil && f == math.Trunc(f) && math.Abs(f) <= exact {
			i, err = int64(f), nil
		}
		if err != nil || dst.OverflowInt(i) {
			return false
		}
		dst.SetInt(i)
		return true
	}
	u, err := strconv.ParseUint(n.String(), 10, 64)
	if err != nil && f == math.Trunc(f) && f >= 0 && f <= exact {
		u, err = uint64(f), nil
	}
	if err != nil || dst.OverflowUint(u) {
		return false
	}
	dst.SetUint(u)
	return true
}

// bounds checks a size against min and max.
func (d *decoder) bounds(path string, size float64, t tags, unit string) {
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	if t.min != nil && size < *t.min {
		d.fault(path, "want at least %s%s, not %s", number(*t.min), unit, number(size))
	}
	if t.max != nil && size > *t.max {
		d.fault(path, "want at most %s%s, not %s", number(*t.max), unit, number(size))
	}
}

func article(k kind) string {
	if k == integer {
		return "a whole number"
	}
	return "a number"
}

// shown is how many characters of a wrong value an error repeats.
const shown = 40

// describeJSON names a value in an error.
func describeJSON(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return "the number " + v.String()
	case string:
		if r := []rune(v); len(r) > shown {
			v = string(r[:shown]) + "…"
		}
		return "the string " + strconv.Quote(v)
	case []any:
		return "a list"
	default:
		return "an object"
	}
}

func wantOneOf(got string, enum []string) string {
	if r := []rune(got); len(r) > shown {
		got = string(r[:shown]) + "…"
	}
	return fmt.Sprintf("want one of %s, not %q", strings.Join(enum, ", "), got)
}

// plain makes float64 of the numbers in v, as encoding/json does for an
// interface.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return v
		}
		return f
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = plain(v[k])
		}
	}
	return v
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

package sdk

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// number handles integers and floating-point numbers. 3.0 is an integer, as
// JSON Schema has it.
func (d *decoder) number(at *spot, v any, s *shape, dst reflect.Value, t tags) {
	n, ok := v.(json.Number)
	if !ok {
		d.fault(at, "want %s, not %s", article(s.kind), describeJSON(v))
		return
	}
	f, err := n.Float64()
	if err != nil {
		d.fault(at, "%s is out of range", clip(n.String(), shown))
		return
	}
	switch {
	case dst.Kind() == reflect.String: // json.Number
		dst.SetString(string(n))
	case dst.CanFloat():
		if dst.OverflowFloat(f) {
			d.fault(at, "%s is out of range", clip(n.String(), shown))
			return
		}
		dst.SetFloat(f)
	case !setInteger(dst, n, f):
		d.fault(at, "want a whole number that fits %s, not %s", s.typ, clip(n.String(), shown))
		return
	}
	if t.enum != nil && !slices.Contains(t.enum, whole(dst)) {
		d.fault(at, "%s", wantOneOf(n.String(), t.enum))
	}
	d.bounds(at, f, t, "")
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

// whole writes an integer as the tags do.
func whole(v reflect.Value) string {
	if v.CanInt() {
		return strconv.FormatInt(v.Int(), 10)
	}
	return strconv.FormatUint(v.Uint(), 10)
}

// bounds checks a size against min and max.
func (d *decoder) bounds(at *spot, size float64, t tags, unit string) bool {
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	if t.min != nil && size < *t.min {
		d.fault(at, "want at least %s%s, not %s", number(*t.min), unit, number(size))
	}
	if t.max != nil && size > *t.max {
		d.fault(at, "want at most %s%s, not %s", number(*t.max), unit, number(size))
	}
	return (t.min == nil || size >= *t.min) && (t.max == nil || size <= *t.max)
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
		return "the number " + clip(v.String(), shown)
	case string:
		return "the string " + strconv.Quote(clip(v, shown))
	case []any:
		return "a list"
	default:
		return "an object"
	}
}

func wantOneOf(got string, enum []string) string {
	return fmt.Sprintf("want one of %s, not %q", strings.Join(enum, ", "), clip(got, shown))
}

// clip cuts a text after n characters, and shows that it did.
func clip(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// plain makes float64 of the numbers in v, as encoding/json does for an
// interface, and says whether all of them fit.
func plain(v any) (_ any, ok bool) {
	ok = true
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	case []any:
		for i := range v {
			var fits bool
			v[i], fits = plain(v[i])
			ok = ok && fits
		}
	case map[string]any:
		for k := range v {
			var fits bool
			v[k], fits = plain(v[k])
			ok = ok && fits
		}
	}
	return v, ok
}

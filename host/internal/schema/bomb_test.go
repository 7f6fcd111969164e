package schema

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A check may take this long. Each of the bombs below needs minutes, hours or
// gigabytes without a bound; with one it takes some tens of milliseconds, and the
// rest is for busy machines. The race detector makes it up to forty times as slow, and
// the regular expressions of the standard library keep nothing for reuse under it.
const (
	longest = slowness * time.Second
	largest = slowness * 256 << 20 // bytes allocated in total, most of it short-lived
	tries   = 5
)

// within runs f and fails the test when it takes too long or allocates too much.
// What takes too long is run again, since other work of the machine can only
// make it slower: the fastest of the tries counts.
func within(t *testing.T, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	var took time.Duration
	for range tries {
		runtime.ReadMemStats(&before)
		start := time.Now()
		f()
		took = time.Since(start)
		runtime.ReadMemStats(&after)
		if took <= longest {
			break
		}
	}
	if took > longest {
		t.Errorf("took %v at the least", took)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > largest {
		t.Errorf("allocated %d MiB", used>>20)
	}
	t.Logf("%v, %d MiB", took.Round(time.Millisecond), (after.TotalAlloc-before.TotalAlloc)>>20)
}

// doubling is a schema in which each of n definitions applies the next one twice.
func doubling(n int, apply string) string {
	var b strings.Builder
	b.WriteString(`{"$ref": "#/$defs/d0", "$defs": {`)
	for i := range n {
		fmt.Fprintf(&b, `"d%d": {%q: [{"$ref": "#/$defs/d%d"}, {"$ref": "#/$defs/d%d"}]},`, i, apply, i+1, i+1)
	}
	fmt.Fprintf(&b, `"d%d": {"required": ["never"]}}}`, n)
	return b.String()
}

func nested(n int, open, inner, closing string) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(closing, n)
}

func repeated(n int, item string) string {
	return strings.TrimSuffix(strings.Repeat(item+",", n), ",")
}

// repeatedKeys are n fields of an object, k0 and on.
func repeatedKeys(n int, value string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":%s,`, i, value)
	}
	return strings.TrimSuffix(b.String(), ",")
}

func TestASchemaBombIsRefusedAtCompile(t *testing.T) {
	fields := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
			b.WriteByte(',')
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	for name, raw := range map[string]string{
		"allOf doubled thirty times":         doubling(30, "allOf"),
		"anyOf doubled thirty times":         doubling(30, "anyOf"),
		"oneOf doubled thirty times":         doubling(30, "oneOf"),
		"a chain of 900 references":          `{"$ref": "#/$defs/d0", "$defs": {` + fields(800, `"d%[1]d": {"$ref": "#/$defs/d%[1]d0"},"d%[1]d0": {"not": {}}`) + `}}`,
		"larger than the bound":              `{"description": "` + strings.Repeat("x", MaxBytes) + `"}`,
		"too deep":                           nested(100, `{"properties": {"a": `, `{}`, `}}`),
		"too many subschemas":                `{"allOf": [` + repeated(5000, "true") + `]}`,
		"too many unknown objects":           `{"x": [` + repeated(15000, "{}") + `]}`,
		"a multipleOf with a giant exponent": `{"properties": {"a": {"multipleOf": 1e-1000000000}}}`,
		"a minimum with a giant exponent":    `{"properties": {"a": {"minimum": 1e1000000000}}}`,
		"a minLength with a giant exponent":  `{"properties": {"a": {"minLength": 1e308}}}`,
		"an expression that repeats":         `{"properties": {"a": {"pattern": "((((x{30}){30}){30}){30})"}}}`,
		"a long expression":                  `{"properties": {"a": {"pattern": "` + strings.Repeat("(a|b)*", 500) + `"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			within(t, func() {
				if _, err := Compile([]byte(raw)); err == nil {
					t.Error("accepted")
				} else if len(err.Error()) > 1024 {
					t.Errorf("an error of %d bytes", len(err.Error()))
				}
			})
		})
	}
}

func TestALargeHonestSchemaCompilesInTime(t *testing.T) {
	var props, defs, odd strings.Builder
	for i := range 330 {
		fmt.Fprintf(&props, `"p%d": {"$ref": "#/$defs/d%d"},`, i, i)
		fmt.Fprintf(&defs, `"d%d": {"type": "string", "pattern": "^[a-z]{1,40}$", "enum": ["a", "b", "c"]},`, i)
		fmt.Fprintf(&odd, `"p%d": {"$ref": "#/x/d%d"},`, i, i)
	}
	cut := func(b strings.Builder) string { return strings.TrimSuffix(b.String(), ",") }
	for name, raw := range map[string]string{
		"a reference to each definition":   `{"type": "object", "properties": {` + cut(props) + `}, "$defs": {` + cut(defs) + `}}`,
		"references to an unknown keyword": `{"type": "object", "properties": {` + cut(odd) + `}, "x": {` + cut(defs) + `}}`,
		"a large enum":                     `{"properties": {"a": {"enum": [` + strings.TrimSuffix(fmt.Sprint(strings.Repeat(`"abcdefgh",`, 5000)), ",") + `]}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			within(t, func() {
				if _, err := Compile([]byte(raw)); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestABombInACheckEndsInTime(t *testing.T) {
	numbers := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%d,", i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	const (
		doubled   = `{"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"x": {"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}}}}`
		leftovers = `{"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"x": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}, "unevaluatedProperties": {"$ref": "#/$defs/a"}}}}`
		negated   = `{"$ref": "#/$defs/a", "$defs": {"a": {"properties": {"x": {"oneOf": [{"$ref": "#/$defs/a"}, {"not": {"$ref": "#/$defs/a"}}]}}}}}`
	)
	patterns := `{"patternProperties": {` + strings.ReplaceAll(repeatedKeys(900, `{"type": "number"}`), `"k`, `"[a-z]+x?k`) + `}}`
	cases := []struct{ name, schema, args string }{
		{"recursion that doubles at each depth", doubled, nested(60, `{"x":`, `{}`, `}`)},
		{"recursion with what is left over", leftovers, nested(60, `{"x":`, `{"y":{}}`, `}`)},
		{"recursion under not", negated, nested(60, `{"x":`, `1`, `}`)},
		{"each item in 20000 forms", `{"properties": {"a": {"items": ` + strings.Replace(doubling(11, "anyOf"), `{"$ref": "#/$defs/d0", "$defs"`, `{"$ref": "#/$defs/d0"}}}, "$defs"`, 1), `{"a":[` + repeated(100_000, "{}") + `]}`},
		{"many patterns and many keys", patterns, `{` + repeatedKeys(90_000, "1") + `}`},
		{"a slow expression and a long string", `{"properties": {"a": {"pattern": "^(([a-z]?){40}[0-9]){20}$"}}}`, `{"a":"` + strings.Repeat("a", 3<<20) + `"}`},
		{"unique items that nest", `{"properties": {"a": {"$ref": "#/$defs/u"}}, "$defs": {"u": {"uniqueItems": true, "items": {"$ref": "#/$defs/u"}}}}`, `{"a":` + nested(60, `[`, numbers(150_000), `]`) + `}`},
		{"unique items, all numbers in other forms", `{"properties": {"a": {"uniqueItems": true}}}`, `{"a":[` + strings.ReplaceAll(numbers(150_000), ",", "e300,") + `]}`},
		{"unique items, long and equal but at the end", `{"properties": {"a": {"uniqueItems": true}}}`, `{"a":["` + strings.Join(strings.Split(numbers(3000), ","), `","`+strings.Repeat("x", 1000)) + `"]}`},
		{"an enum and a large value", `{"allOf": [` + repeated(200, `{"properties": {"a": {"not": {"enum": [[]]}}}}`) + `]}`, `{"a":[` + numbers(150_000) + `]}`},
		{"numbers against a fraction", `{"properties": {"a": {"items": {"multipleOf": 1e-300}}}}`, `{"a":[` + repeated(150_000, "1e300") + `]}`},
		{"a field for each unknown name", `{"additionalProperties": false, "properties": {` + repeatedKeys(900, "{}") + `}}`, `{` + strings.ReplaceAll(repeatedKeys(90_000, "1"), `"k`, `"q`) + `}`},
		{"every item is wrong", `{"properties": {"a": {"items": {"type": "string"}}}}`, `{"a":[` + repeated(190_000, "1") + `]}`},
		{"every item is in no form", `{"properties": {"a": {"items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}}`, `{"a":[` + repeated(190_000, "1") + `]}`},
		{"contains and nothing that is", `{"properties": {"a": {"contains": {"type": "string"}}}}`, `{"a":[` + repeated(190_000, "1") + `]}`},
		{"many required names", `{"properties": {"a": {"items": {"required": ["` + strings.Join(strings.Split(numbers(5000), ","), `","`) + `"]}}}}`, `{"a":[` + repeated(90_000, "{}") + `]}`},
		{"names of fields", `{"propertyNames": {"pattern": "^([a-j]?[k-z]?[0-9]?){100}$"}}`, `{` + repeatedKeys(90_000, "1") + `}`},
		{"a giant exponent", `{"properties": {"a": {"minimum": 0}}}`, `{"a": 1e1000000000}`},
		{"a small exponent", `{"properties": {"a": {"type": "integer"}}}`, `{"a": 1e-1000000000}`},
		{"an infinite number", `{}`, `{"a": 1e400}`},
		{"a number of 3 MiB", `{}`, `{"a": ` + strings.Repeat("1", 3<<20) + `}`},
		{"not a number", `{}`, `{"a": NaN}`},
		{"a key twice", `{}`, `{"a": 1, "\u0061": 2}`},
		{"a key twice among many", `{}`, `{` + repeatedKeys(50_000, "1") + `,"k7":2}`},
		{"half of a surrogate pair", `{}`, `{"a": "\ud800"}`},
		{"the other half", `{}`, `{"a": "\udc00\ud800"}`},
		{"not UTF-8", `{}`, "{\"a\": \"\xff\"}"},
		{"very deep", `{}`, `{"a":` + strings.Repeat("[", 2<<20)},
		{"very deep objects", `{}`, strings.Repeat(`{"a":`, 500_000)},
		{"very many", `{}`, `{"a":[` + repeated(1<<20, "1") + `]}`},
		{"very large", `{}`, `{"a":"` + strings.Repeat("x", 5<<20) + `"}`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := compiled(t, c.schema)
			within(t, func() {
				err := s.Check([]byte(c.args))
				if err == nil {
					t.Log("fits")
				} else if len(err.Error()) > 4096 {
					t.Errorf("a message of %d bytes", len(err.Error()))
				} else {
					t.Logf("%.200s", err)
				}
			})
			if err := s.Check([]byte(`{`)); err == nil {
				t.Error("the next check is not right")
			}
		})
	}
}

package manifest

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"
)

// FuzzParse reads anything: it does not panic, ends in time, and its faults are
// lines that a terminal can show.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"full.yaml", "small.yaml", "shared.yaml"} {
		f.Add(example(f, name))
	}
	for _, s := range []string{
		"version: 1\nname: *a\n", "version: 1\nmodel: {extra: &a {b: *a}}\n", "a: !!binary x\n", "%YAML 1.2\n---\n", "? a\n: b\n", "version: 1\nagent:\n  <<: *x\n",
		"- - - -\n", "version: 1\ntools:\n  - module: ${A:-${B}}\n", "version: 1\nname: \"\\x1b[31m\"\n", "{version: 1, name: |\n a}\n", "version: 1e1\n", "a: >-\n\n  b\n c\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		start := time.Now()
		m, err := Parse(data, "wagent.yaml", noEnv)
		if took := time.Since(start); took > 10*time.Second { // fuzzing shares the machine with itself
			t.Fatalf("took %v", took)
		}
		if (m == nil) == (err == nil) {
			t.Fatalf("%v, %v", m, err)
		}
		if err == nil {
			for i := range m.Tools {
				if _, err := m.Tools[i].Policy(); err != nil {
					t.Fatalf("a manifest is accepted whose policy is not: %v", err)
				}
			}
			return
		}
		if fault := (*Error)(nil); !errors.As(err, &fault) {
			t.Fatalf("%T", err)
		}
		for _, r := range err.Error() {
			if r != '\n' && !unicode.IsPrint(r) {
				t.Fatalf("a fault has %q in it: %q", r, err)
			}
		}
		for line := range strings.Lines(err.Error()) {
			if !strings.HasPrefix(line, "wagent.yaml") {
				t.Fatalf("a fault without a file: %q", line)
			}
		}
	})
}

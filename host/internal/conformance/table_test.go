package conformance

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"testing"
)

// difference is what this loop does on purpose instead of what a case expects.
type difference struct {
	ID   string `json:"id"`
	Rule string `json:"rule"` // where it is said that it differs
	Why  string `json:"why"`
	// AsWritten takes the case's exit conditions as they are.
	AsWritten bool `json:"as_written"`
	// Given replaces members of the case for the run that Expect is about, such as
	// a script that goes on where theirs ends.
	Given map[string]json.RawMessage `json:"given"`
	// Expect replaces members of what the case expects, in our terms. Null: it is
	// not compared.
	Expect map[string]any `json:"expect"`
}

// ruled is the form of a rule. README.md of the cases says it, and the one exception.
var ruled = regexp.MustCompile(`^(agent-loop\.md (Words|invariants|[0-9][a-z]?)|hooks\.md [0-9]+|absent: [a-zA-Z_])`)

func table(t *testing.T, path string) map[string]*difference {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		About       string        `json:"about"`
		Differences []*difference `json:"differences"`
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	out := make(map[string]*difference)
	for _, d := range file.Differences {
		switch {
		case d.ID == "" || d.Rule == "" || d.Why == "" || len(d.Expect) == 0:
			t.Errorf("%s: %q needs id, rule, why and expect", path, d.ID)
		case out[d.ID] != nil:
			t.Errorf("%s: %s is there twice", path, d.ID)
		case !ruled.MatchString(d.Rule) && d.ID != "tool-18":
			t.Errorf("%s: %s: %q is neither a place in the design nor a feature that is absent", path, d.ID, d.Rule)
		}
		out[d.ID] = d
	}
	return out
}

// check runs the case twice: as it is, which must not give what they have, and as
// given here, which must give what is expected here. It returns what is wrong.
func (d *difference) check(t *testing.T, c *testCase) string {
	t.Helper()
	plainCase := *c
	plainCase.asWritten = d.AsWritten
	if differ(plainCase.theirs(), plainCase.ours(plainCase.play(t, false))) == "" {
		return "it is listed as a difference, and it passes: take it out of the table"
	}
	changed, err := c.with(d.Given)
	if err != nil {
		return "given: " + err.Error()
	}
	changed.asWritten = d.AsWritten
	got, wrong := changed.outcome(t)
	if wrong != "" {
		return wrong
	}
	return differ(d.want(c), got)
}

// want is what they expect with what is expected here in its place.
func (d *difference) want(c *testCase) map[string]any {
	want := c.theirs()
	if _, fails := d.Expect["error"]; fails {
		maps.DeleteFunc(want, func(k string, _ any) bool { return k != "llm_calls" && k != "tool_log" })
	} else {
		delete(want, "error")
	}
	for k, v := range d.Expect {
		if v == nil {
			delete(want, k)
			continue
		}
		want[k] = v
	}
	if l, ok := want["tool_log"].([]any); ok {
		want["tool_log"] = c.logged(l)
	}
	return want
}

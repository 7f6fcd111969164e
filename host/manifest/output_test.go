package manifest

import (
	"errors"
	"path/filepath"
	"testing"
)

func outputOf(t *testing.T, text string) *Manifest {
	t.Helper()
	m, err := Parse([]byte(text), filepath.Join(t.TempDir(), "wagent.yaml"), noEnv)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Models write the members of a value in the order of the schema, so what is to be
// thought of first has to stay in front.
func TestTheOutputSchemaKeepsTheOrderOfTheFile(t *testing.T) {
	m := outputOf(t, `version: 1
agent:
  output:
    schema:
      type: object
      properties:
        why: {type: string, maxLength: 90}
        answer: {enum: [z, a, {y: 1, b: null}]}
      required: [why, answer]
`)
	want := `{"type":"object","properties":{"why":{"type":"string","maxLength":90},"answer":{"enum":["z","a",{"y":1,"b":null}]}},"required":["why","answer"]}`
	if got := string(m.OutputSchema()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	made := &Manifest{Agent: Agent{Output: &Output{Schema: map[string]any{"b": 1, "a": []any{}}}}}
	if got := string(made.OutputSchema()); got != `{"a":[],"b":1}` {
		t.Errorf("got %s", got)
	}
	if got := new(Manifest).OutputSchema(); got != nil {
		t.Errorf("got %s", got)
	}
	made.Agent.Output.Schema["c"] = func() {}
	if got := string(made.OutputSchema()); got != "{}" {
		t.Errorf("got %s", got)
	}
}

func TestAFaultOfTheOutputSchemaHasItsPlace(t *testing.T) {
	m := outputOf(t, `version: 1
agent:
  output:
    schema:
      properties:
        a/b: {anyOf: [{type: string}, {type: strin}]}
`)
	for pointer, want := range map[string]string{
		"":                              ":5:7: agent.output.schema: no",
		"/properties":                   `:6:9: agent.output.schema["properties"]: no`,
		"/properties/a~1b/anyOf/1/type": `:6:46: agent.output.schema["properties"]["a/b"]["anyOf"][1]["type"]: no`,
		"/properties/a~1b/anyOf/9":      `:6:22: agent.output.schema["properties"]["a/b"]["anyOf"]: no`,
		"/properties/a~1b/anyOf/x":      `:6:22: agent.output.schema["properties"]["a/b"]["anyOf"]: no`,
	} {
		err := m.OutputFault(pointer, errors.New("no"))
		if got := err.Error(); got != m.Path+want {
			t.Errorf("%s: %s, want %s", pointer, got, m.Path+want)
		}
	}
	if err := new(Manifest).OutputFault("/a/b", errors.New("no")); err == nil {
		t.Error("no error")
	}
}

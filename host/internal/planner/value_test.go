package planner

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestValueReadsTheOneObject(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1}`:                         `{"a":1}`,
		"\n {\"a\":1} \n":                 `{"a":1}`,
		"```json\n{\"a\":1}\n```":         `{"a":1}`,
		"Here:\n```\n{\"a\":1}\n```\nBye": `{"a":1}`,
		`The answer is {"a":{"b":[1,2]}}, as you asked.`: `{"a":{"b":[1,2]}}`,
		"<think>{\"a\":0}</think>{\"a\":1}":              `{"a":1}`,
		"{\"a\":\"x\ny\"}":                               `{"a":"x\u000ay"}`,
	} {
		got, err := Value(text)
		if err != nil || string(got) != want {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
}

func TestValueRefusesWhatCannotBeTold(t *testing.T) {
	for text, want := range map[string]ParseKind{
		"":                                KindNoAnswer,
		"It is 4.":                        KindNoAnswer,
		`{"a":1`:                          KindJSON,
		`{"a":"x`:                         KindJSON,
		`{"a":1}{"a":2}`:                  KindSeveral,
		"```\n{\"a\":1}\n```\n```\n{}```": KindSeveral,
		`So {"a":1} or {"a":2}`:           KindSeveral,
		`[{"a":1}]`:                       KindShape,
		`Use {x}: {"a":1}`:                KindJSON,
		`{a:1}`:                           KindJSON,
	} {
		got, err := Value(text)
		if pe, ok := errors.AsType[*ParseError](err); !ok || pe.Kind != want || got != nil {
			t.Errorf("%q: %s, %v, want %s", text, got, err, want)
		}
	}
}

// Whatever a text is, reading it ends with JSON or with a short reason.
func TestValueIsJSONOrAReason(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{`{`, `}`, `"`, `a`, `:`, `1`, ` `, "\n", "```", `[`, `]`, `,`, `\`, "<think>", "</think>", "é", "\xff"})).Draw(rt, "text"), "")
		got, err := Value(text)
		switch {
		case err == nil && (validJSON(got) != nil || got[0] != '{'):
			rt.Fatalf("%q is read as %s", text, got)
		case err != nil && len(err.Error()) > maxProblem+100:
			rt.Fatalf("%q: %s", text, err)
		}
	})
}

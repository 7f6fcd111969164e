package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/sdk/abi"
	"github.com/wagent-dev/wagent/sdk/sdktest"
)

func TestCounts(t *testing.T) {
	tests := map[string]struct {
		args string
		want Result
	}{
		"nothing":         {`{"text":""}`, Result{Top: []Word{}}},
		"one line":        {`{"text":"one two  three"}`, Result{3, 1, 14, 3, []Word{{"one", 1}, {"three", 1}, {"two", 1}}}},
		"no last newline": {`{"text":"a\nb\nc"}`, Result{3, 3, 5, 3, []Word{{"a", 1}, {"b", 1}, {"c", 1}}}},
		"case and order":  {`{"text":"The cat. the dog! THE end","top":2}`, Result{6, 1, 25, 4, []Word{{"the", 3}, {"cat", 1}}}},
		"punctuation":     {`{"text":"don't - well-known, 'quoted'","top":0}`, Result{3, 1, 28, 3, []Word{}}},
		"not ASCII":       {`{"text":"Über Straße 日本語","top":1}`, Result{3, 1, 15, 3, []Word{{"straße", 1}}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			res := sdktest.Call(t, "word_count", test.args)
			var got Result
			if err := res.Decode(&got); err != nil {
				t.Fatal(err, res.Error)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWrongArgumentsAreNamed(t *testing.T) {
	res := sdktest.Call(t, "word_count", `{"txt":"a","top":101}`)
	want := &abi.Error{Kind: abi.Input, Message: `argument "text": is missing; argument "top": want at most 100, not 101; argument "txt": there is no such argument: did you mean "text"?`}
	if diff := cmp.Diff(want, res.Error); diff != "" {
		t.Error(diff)
	}
}

func TestDescribesItself(t *testing.T) {
	tools := sdktest.Describe(t)
	if len(tools) != 1 || tools[0].Name != "word_count" {
		t.Fatalf("tools: %+v", tools)
	}
}

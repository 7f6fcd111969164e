package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/sdk/abi"
	"github.com/wagent-dev/wagent/sdk/internal/native"
)

// recording is a host that takes progress.
func recording(progress func(permille int)) host {
	return host{&native.Host{Progress: func(permille int, _ string) { progress(permille) }}}
}

// logging is a host that keeps what is logged.
func logging(lines *[]string) host {
	return host{&native.Host{Log: func(l abi.Level, s string) { *lines = append(*lines, fmt.Sprintf("%d %s", l, s)) }}}
}

// returning calls a tool that returns v and err.
func returning[R any](t *testing.T, v R, err error) abi.Response {
	t.Helper()
	var r registry
	register(&r, "tool", "", func(*Call, struct{}) (R, error) { return v, err }, nil)
	return answer(t, &r, "tool", `{}`)
}

// table is a result with a text of its own.
type table struct {
	Rows []string `json:"rows"`
}

func (t *table) Text() string { return strings.Join(t.Rows, "\n") }

func TestResultsBecomeContent(t *testing.T) {
	text := func(s string) []abi.Content { return []abi.Content{{Type: "text", Text: s}} }
	own := abi.Result{Content: []abi.Content{{Type: "image", Data: []byte{1}, MIMEType: "image/png"}}, IsError: true}
	tests := map[string]struct {
		got  abi.Response
		want abi.Result
	}{
		"string":        {returning(t, "a <b>\n", nil), abi.Result{Content: text("a <b>\n")}},
		"named string":  {returning(t, color("red"), nil), abi.Result{Content: text("red")}},
		"time":          {returning(t, time.Unix(0, 0).UTC(), nil), abi.Result{Content: text("1970-01-01T00:00:00Z")}},
		"struct":        {returning(t, place{City: "<Oslo>"}, nil), abi.Result{Content: text(`{"city":"<Oslo>"}`), StructuredContent: json.RawMessage(`{"city":"<Oslo>"}`)}},
		"pointer":       {returning(t, &place{City: "a"}, nil), abi.Result{Content: text(`{"city":"a"}`), StructuredContent: json.RawMessage(`{"city":"a"}`)}},
		"map":           {returning(t, map[string]int{"a": 1}, nil), abi.Result{Content: text(`{"a":1}`), StructuredContent: json.RawMessage(`{"a":1}`)}},
		"raw":           {returning(t, json.RawMessage(` {"a": 1}`), nil), abi.Result{Content: text(`{"a":1}`), StructuredContent: json.RawMessage(`{"a":1}`)}},
		"its own text":  {returning(t, &table{[]string{"a", "b"}}, nil), abi.Result{Content: text("a\nb"), StructuredContent: json.RawMessage(`{"rows":["a","b"]}`)}},
		"no table":      {returning[*table](t, nil, nil), abi.Result{Content: text("null")}},
		"list":          {returning(t, []int{1, 2}, nil), abi.Result{Content: text("[1,2]")}},
		"number":        {returning(t, 1.5, nil), abi.Result{Content: text("1.5")}},
		"nothing":       {returning[any](t, nil, nil), abi.Result{Content: text("null")}},
		"result":        {returning(t, own, nil), own},
		"result in any": {returning[any](t, &own, nil), own},
		"no result":     {returning[*abi.Result](t, nil, nil), abi.Result{Content: []abi.Content{}}},
		"empty result":  {returning(t, abi.Result{}, nil), abi.Result{Content: []abi.Content{}}},
		"not UTF-8":     {returning(t, "a\xffb", nil), abi.Result{Content: text("a\ufffdb")}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(abi.Response{V: 1, Result: test.want}, test.got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// broken is an error whose methods panic when it is nil.
type broken struct{ why string }

func (b *broken) Error() string { return b.why }

func TestErrorsKeepTheirKind(t *testing.T) {
	var unset *abi.Error
	limited := &abi.Error{Kind: abi.RateLimited, Message: "slow down", RetryAfterMS: 1500}
	tests := map[string]struct {
		err  error
		want abi.Error
	}{
		"plain":    {errors.New("no luck"), abi.Error{Kind: abi.Internal, Message: "no luck"}},
		"kind":     {Errorf(abi.NotFound, "no %s", "file"), abi.Error{Kind: abi.NotFound, Message: "no file"}},
		"own":      {limited, *limited},
		"wrapped":  {fmt.Errorf("page 2: %w", limited), abi.Error{Kind: abi.RateLimited, Message: "page 2: slow down", RetryAfterMS: 1500}},
		"joined":   {errors.Join(errors.New("first"), limited), abi.Error{Kind: abi.RateLimited, Message: "first\nslow down", RetryAfterMS: 1500}},
		"of kinds": {Errorf(abi.Input, "so: %w", limited), abi.Error{Kind: abi.Input, Message: "so: slow down"}},
		"no kind":  {&abi.Error{Message: "hm"}, abi.Error{Kind: abi.Internal, Message: "hm"}},
		"unset":    {unset, abi.Error{Kind: abi.Internal, Message: "the tool returned a nil *abi.Error as its error"}},
		"broken":   {(*broken)(nil), abi.Error{Kind: abi.Internal, Message: "panic: runtime error: invalid memory address or nil pointer dereference"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(abi.Response{V: 1, Error: &test.want}, returning(t, "ignored", test.err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// unmarshalable panics when it is written.
type unmarshalable struct{ N int }

func (unmarshalable) MarshalJSON() ([]byte, error) { panic("out of ink") }

func TestPanicsBecomeErrors(t *testing.T) {
	var nobody *place
	var none map[string]int
	index := 5
	tests := map[string]struct {
		do   func()
		want string
	}{
		"text":        {func() { panic("out of cheese") }, "panic: out of cheese"},
		"error":       {func() { panic(errors.New("no more")) }, "panic: no more"},
		"nil":         {func() { panic(nil) }, "panic: panic called with nil argument"},
		"nil pointer": {func() { nobody.City = "a" }, "panic: runtime error: invalid memory address or nil pointer dereference"},
		"index":       {func() { index = []int{1}[index] }, "panic: runtime error: index out of range [5] with length 1"},
		"nil map":     {func() { none["a"] = 1 }, "panic: assignment to entry in nil map"},
		"broken":      {func() { panic((*broken)(nil)) }, "panic: <nil>"},
		"long":        {func() { panic(strings.Repeat("é", 5000)) }, "panic: " + strings.Repeat("é", maxPanic-7) + "…"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var r registry
			register(&r, "tool", "", func(*Call, struct{}) (string, error) { test.do(); return "", nil }, nil)
			var lines []string
			res := answerOn(t, &r, logging(&lines), "tool", `{}`)
			if diff := cmp.Diff(abi.Response{V: 1, Error: &abi.Error{Kind: abi.Internal, Message: test.want}}, res); diff != "" {
				t.Error(diff)
			}
			if len(lines) != 1 || !strings.HasPrefix(lines[0], "2 panic: ") || !strings.Contains(lines[0], "TestPanicsBecomeErrors") {
				t.Errorf("the stack is not in the log: %.300q", lines)
			}
		})
	}
}

func TestAResultThatCannotBeWrittenIsAnError(t *testing.T) {
	tests := map[string]struct {
		got  abi.Response
		want string
	}{
		"NaN":     {returning(t, with[float64]{math.NaN()}, nil), "result: json: unsupported value: NaN"},
		"panic":   {returning(t, with[unmarshalable]{}, nil), "panic: out of ink"},
		"a func":  {returning[any](t, func() {}, nil), "result: json: unsupported type: func()"},
		"no JSON": {returning(t, abi.Result{StructuredContent: json.RawMessage(`{`)}, nil), "result: json: error calling MarshalJSON for type json.RawMessage: unexpected end of JSON input"},
	}
	for name, test := range tests {
		want := abi.Response{V: 1, Error: &abi.Error{Kind: abi.Internal, Message: test.want}}
		if diff := cmp.Diff(want, test.got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestARequestThatCannotBeServedIsAnError(t *testing.T) {
	var r registry
	register(&r, "word_count", "", func(*Call, struct{}) (string, error) { return "", nil }, nil)
	register(&r, "unfit", "", func(*Call, int) (string, error) { return "", nil }, nil)
	tests := map[string]string{
		``:                               `{"v":1,"error":{"kind":"internal","message":"the host's request is not valid: unexpected end of JSON input"}}`,
		`{"v":2,"tool":"word_count"}`:    `{"v":1,"error":{"kind":"internal","message":"the host's request has version 2, this module reads 1"}}`,
		`{"v":1,"tool":"wordcount"}`:     `{"v":1,"error":{"kind":"not_found","message":"this module has no tool \"wordcount\": did you mean \"word_count\"?"}}`,
		`{"v":1,"tool":"translate"}`:     `{"v":1,"error":{"kind":"not_found","message":"this module has no tool \"translate\": known are word_count"}}`,
		`{"v":1,"tool":"unfit"}`:         `{"v":1,"error":{"kind":"internal","message":"tool \"unfit\" cannot be served: arguments: int is not a struct"}}`,
		`{"v":1,"tool":"word_count"}`:    `{"v":1,"content":[{"type":"text"}]}`,
		`{"v":1,"tool":"word_count"} []`: `{"v":1,"error":{"kind":"internal","message":"the host's request is not valid: invalid character '[' after top-level value"}}`,
	}
	for request, want := range tests {
		if got := string(r.serve(host{}, []byte(request))); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", request, got, want)
		}
	}
}

func TestACallKnowsItsRunAndDeadline(t *testing.T) {
	var r registry
	var got Call
	register(&r, "tool", "", func(c *Call, _ struct{}) (string, error) { got = *c; return "", nil }, nil)
	before := time.Now()
	r.serve(host{}, []byte(`{"v":1,"id":"call_7","tool":"tool","deadline_ms":4900,"run":{"id":"run_1","step":3}}`))
	if got.ID != "call_7" || got.Tool != "tool" || got.Run != (abi.RunRef{ID: "run_1", Step: 3}) {
		t.Errorf("got %+v", got)
	}
	if left := got.Deadline.Sub(before); left < 4900*time.Millisecond || left > time.Minute {
		t.Errorf("the deadline is in %v", left)
	}
	r.serve(host{}, []byte(`{"v":1,"tool":"tool"}`))
	if !got.Deadline.IsZero() {
		t.Errorf("a deadline that nobody gave: %v", got.Deadline)
	}
}

func TestConfigIsReadLikeArguments(t *testing.T) {
	read := func(config string, into any) string {
		c := &Call{config: json.RawMessage(config)}
		err := c.Config(into)
		if err == nil {
			return ""
		}
		return string(toolError(err).Kind) + " " + err.Error()
	}
	var p paging
	if got := read(`{"page":2}`, &p); got != "" || p != (paging{Limit: 20, Page: 2}) {
		t.Errorf("%q, %+v", got, p)
	}
	tests := map[string]struct{ got, want string }{
		"none":        {read(``, &p), `internal config "page": is missing`},
		"unknown":     {read(`{"page":1,"limt":1}`, &p), `internal config "limt": there is no such config: did you mean "limit"?`},
		"list":        {read(`[]`, &p), `internal config: want an object, not a list`},
		"no pointer":  {read(`{}`, p), `internal config: want a pointer to a struct, not sdk.paging`},
		"nil":         {read(`{}`, nil), `internal config: want a pointer to a struct, not <nil>`},
		"nil pointer": {read(`{}`, (*paging)(nil)), `internal config: want a pointer to a struct, not *sdk.paging`},
		"unfit":       {read(`{}`, new(int)), `internal config: int is not a struct`},
	}
	for name, test := range tests {
		if test.got != test.want {
			t.Errorf("%s: got %q, want %q", name, test.got, test.want)
		}
	}
}

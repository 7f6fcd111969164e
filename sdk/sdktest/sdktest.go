// Package sdktest calls the tools of a module in an ordinary Go test, without
// WebAssembly: the same decoding, checks and errors as in the sandbox, with
// stand-ins for what the host grants. Limits, and what a real host refuses, are
// seen by calling the built module with `wagent tools call`.
//
//	func TestCountsWords(t *testing.T) {
//		got := sdktest.Call(t, "word_count", `{"text":"one two"}`)
//		...
//	}
package sdktest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/sdk"
	"github.com/wagent-dev/wagent/sdk/abi"
	"github.com/wagent-dev/wagent/sdk/internal/native"
)

// Result is what came of a call.
type Result struct {
	abi.Result
	Error    *abi.Error // what the tool reported; nil if it succeeded
	Logs     []Log
	Progress []Progress
}

// Log is one line that the tool logged.
type Log struct {
	Level   abi.Level
	Message string
}

// Progress is one report of progress.
type Progress struct {
	Permille int
	Message  string
}

// Text returns the texts of the result, one after the other.
func (r Result) Text() string {
	var b strings.Builder
	for _, c := range r.Content {
		b.WriteString(c.Text)
	}
	return b.String()
}

// Decode puts the structured content into what into points to.
func (r Result) Decode(into any) error {
	if r.StructuredContent == nil {
		return errors.New("the result has no structured content")
	}
	return json.Unmarshal(r.StructuredContent, into)
}

// Call calls a tool of the package under test. The arguments are JSON in a
// string, []byte or json.RawMessage, or any value that becomes JSON. The test
// fails at once if the module or its answer breaks the contract; an error that
// the tool reports is in the result.
func Call(t testing.TB, tool string, args any, opts ...Option) Result {
	t.Helper()
	res, err := Do(tool, args, opts...)
	if err != nil {
		t.Fatalf("call %s: %v", tool, err)
	}
	return res
}

// Do is [Call] for where there is no test. Its error is one of the contract, not
// of the tool.
func Do(tool string, args any, opts ...Option) (Result, error) {
	raw, err := arguments(args)
	if err != nil {
		return Result{}, fmt.Errorf("arguments: %w", err)
	}
	var (
		mu  sync.Mutex
		res Result
	)
	c := call{
		request: abi.Request{
			V: abi.Version, ID: "call_test", Tool: tool, Arguments: raw,
			DeadlineMS: (5 * time.Second).Milliseconds(), Run: abi.RunRef{ID: "run_test", Step: 1},
		},
		host: native.Host{
			Log: func(level abi.Level, message string) {
				mu.Lock()
				defer mu.Unlock()
				res.Logs = append(res.Logs, Log{level, message})
			},
			Progress: func(permille int, message string) {
				mu.Lock()
				defer mu.Unlock()
				res.Progress = append(res.Progress, Progress{permille, message})
			},
		},
	}
	for _, o := range opts {
		if err := o(&c); err != nil {
			return Result{}, err
		}
	}
	request, err := json.Marshal(c.request)
	if err != nil {
		return Result{}, fmt.Errorf("request: %w", err)
	}
	answer := sdk.ServeNative(&c.host, request)
	mu.Lock()
	defer mu.Unlock()
	var response abi.Response
	if err := json.Unmarshal(answer, &response); err != nil {
		return Result{}, fmt.Errorf("response: %w", err)
	}
	res.Result, res.Error = response.Result, response.Error
	return res, checkResult(&res.Result)
}

// checkResult refuses what a host would: a tool that makes its own [abi.Result]
// hears of it here first.
func checkResult(r *abi.Result) error {
	if s := r.StructuredContent; len(s) > 0 && s[0] != '{' && string(s) != "null" {
		return fmt.Errorf("the structured content is not an object: %s", s)
	}
	for i, c := range r.Content {
		switch {
		case c.Type == "text", c.Type == "image" && c.MIMEType != "", c.Type == "resource" && c.Resource != nil:
		default:
			return fmt.Errorf("part %d of the content is no text, no image with a MIME type and no resource: type %q", i, c.Type)
		}
	}
	return nil
}

// Describe returns the tools that the package under test registers. The test
// fails if one of them cannot be served.
func Describe(t testing.TB) []abi.Tool {
	t.Helper()
	b, faults := sdk.DescribeNative()
	if err := errors.Join(faults...); err != nil {
		t.Fatal(err)
	}
	var d abi.Description
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatalf("description: %v", err)
	}
	return d.Tools
}

func arguments(args any) (json.RawMessage, error) {
	switch a := args.(type) {
	case nil:
		return json.RawMessage("{}"), nil
	case string:
		return valid([]byte(a))
	case []byte:
		return valid(a)
	case json.RawMessage:
		return valid(a)
	default:
		return json.Marshal(a)
	}
}

func valid(b []byte) (json.RawMessage, error) {
	if !json.Valid(b) {
		return nil, fmt.Errorf("not JSON: %s", b)
	}
	return b, nil
}

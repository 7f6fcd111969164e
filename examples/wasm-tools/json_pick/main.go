// Json_pick is a tool that picks a value out of a JSON document. It uses no SDK:
// it is a plain program that a WASI host starts once per call, with the name of
// the tool as its argument and the request on standard input. It needs no grant
// unless it is to read files.
package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// describe is what --describe prints: the tools of this module.
//
//go:embed describe.json
var describe string

// request is the part of a request that this tool reads.
type request struct {
	V         int             `json:"v"`
	Arguments json.RawMessage `json:"arguments"`
}

// response is what it answers: content, or an error.
type response struct {
	V          int    `json:"v"`
	Content    []part `json:"content,omitempty"`
	Structured *value `json:"structuredContent,omitempty"`
	Error      *fault `json:"error,omitempty"`
}

type part struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// value is the result for a program.
type value struct {
	Value json.RawMessage `json:"value"`
	Count *int            `json:"count,omitempty"` // nil when the path has no *
}

// fault is an error that the model can act on.
type fault struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

func (f *fault) Error() string { return f.Message }

func faultf(kind, format string, args ...any) *fault {
	return &fault{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

func main() {
	if err := serveCall(os.Args, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err) // the host shows the end of it to the model
		os.Exit(1)
	}
}

// serveCall serves one call. Its error is one of the contract between host and
// program; what is wrong with the arguments is an answer.
func serveCall(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 2 {
		return fmt.Errorf("want one argument, --describe or the name of a tool, not %d", len(args)-1)
	}
	switch args[1] {
	case "--describe":
		_, err := io.WriteString(out, describe)
		return err
	case "json_pick":
		var req request
		if err := json.NewDecoder(in).Decode(&req); err != nil {
			return fmt.Errorf("request: %w", err)
		}
		if req.V != 1 {
			return fmt.Errorf("the request has version %d, this program knows version 1", req.V)
		}
		return write(out, serve(req.Arguments))
	}
	return fmt.Errorf("there is no tool %q here, only json_pick", args[1])
}

func write(out io.Writer, r response) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false) // the text is shown as it is written
	return e.Encode(r)
}

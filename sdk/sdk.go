// Package sdk turns typed Go functions into tools of a WebAssembly module that
// wagent runs. It needs the standard compiler and the standard library only.
//
//	type Args struct {
//		Text string `json:"text" doc:"the text to count"`
//	}
//	type Result struct {
//		Words int `json:"words"`
//	}
//
//	func main() {}
//
//	func init() {
//		sdk.Tool("word_count", "Counts the words of a text.", func(c *sdk.Call, a Args) (Result, error) {
//			return Result{Words: len(strings.Fields(a.Text))}, nil
//		})
//	}
//
// It is built with
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o word_count.wasm .
//
// and tested without a sandbox by package sdktest. Every capability beyond
// logging is a function of its own ([Do], [Folders], [KVGet] and so on), so that
// a module imports from its host only what its code reaches.
//
// A module has one thread, and nothing takes it away from a loop that does not
// wait: not even the garbage collector gets its turn, and the heap grows to many
// times of what is in use. A loop over many rows or files should call
// [runtime.Gosched] every few hundred rounds.
package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// Tool makes fn callable under name. It is meant to be called from init, once
// per tool.
//
// The arguments A are a struct; see [Tags] for how its fields become a JSON
// Schema and what is checked before fn runs. A may also be json.RawMessage or a
// map with string keys, for arguments of any shape. The result R becomes
//
//   - a string, or a type that is one in JSON: one text;
//   - an [abi.Result]: itself;
//   - a struct or map: structured content, and as text its JSON, or what its
//     Text method returns if it is a [Texter];
//   - anything else: its JSON as text.
//
// An error of fn reaches the model with its message; [Errorf] says what kind it
// is. A panic of fn, or of a method of what it returned, becomes an error of kind
// internal with the panic's message, and its stack goes to the log. What Go
// itself ends the program for, such as a panic in another goroutine, memory that
// runs out or a deadlock, cannot be caught: the host reports it as a trap.
//
// A registration that cannot work (a name that is not allowed, a type that has no
// schema) does not panic: the tool is left out of the description, the reason is
// logged when the module is described, and a call of it fails with that reason.
// Of two tools of one name neither is served.
func Tool[A, R any](name, description string, fn func(*Call, A) (R, error), opts ...Option) {
	register(&registered, name, description, fn, opts)
}

// registered holds the tools of this module. It has to be one value of the
// package: the host finds the module's entry points by name and passes them no
// context, so that what init functions register must be where they look.
var registered registry

type registry struct {
	mu    sync.Mutex
	tools []*tool
}

// tool is a registered function.
type tool struct {
	abi.Tool
	call  func(*Call, json.RawMessage) (abi.Result, error)
	warm  func()
	fault error // why it cannot be served; nil if it can
}

func register[A, R any](r *registry, name, description string, fn func(*Call, A) (R, error), opts []Option) {
	t := &tool{Tool: abi.Tool{Name: name, Description: description}}
	t.fault = prepare(t, fn, opts)
	r.add(t)
}

// prepare makes t ready to be called. Types have methods that run here, such as
// the UnmarshalText that reads a default: if one panics, that is why the tool
// cannot be served, and the others can.
func prepare[A, R any](t *tool, fn func(*Call, A) (R, error), opts []Option) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	if fn == nil {
		return errors.New("its function is nil")
	}
	in, err := argumentShape(reflect.TypeFor[A]())
	if err != nil {
		return fmt.Errorf("arguments: %w", err)
	}
	out, err := resultShape(reflect.TypeFor[R]())
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	t.InputSchema, t.OutputSchema = in.argumentSchema(), out.resultSchema()
	for _, o := range opts {
		if o != nil {
			o.apply(&t.Tool)
		}
	}
	t.call = func(c *Call, raw json.RawMessage) (abi.Result, error) {
		var args A
		if err := decode(raw, in, reflect.ValueOf(&args).Elem(), argument); err != nil {
			return abi.Result{}, err
		}
		v, err := fn(c, args)
		if err != nil {
			return abi.Result{}, err
		}
		return encode(v)
	}
	t.warm = func() {
		var args A
		_ = decode(json.RawMessage("{}"), in, reflect.ValueOf(&args).Elem(), argument)
		var result R
		_, _ = encode(result)
	}
	return checkTool(&t.Tool)
}

// checkTool refuses what a host would not take.
func checkTool(t *abi.Tool) error {
	if !abi.ValidName(t.Name) {
		return fmt.Errorf("the name must be a letter or underscore and then letters, digits, underscores or hyphens, at most %d", abi.MaxName)
	}
	for _, s := range []json.RawMessage{t.InputSchema, t.OutputSchema} {
		if s != nil && (!json.Valid(s) || bytes.TrimSpace(s)[0] != '{') {
			return errors.New("a schema given as an option is not a JSON object")
		}
	}
	return nil
}

func (r *registry) add(t *tool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, other := range r.tools {
		if other.Name == t.Name {
			other.fault = errors.New("the name is registered twice")
			return
		}
	}
	r.tools = append(r.tools, t)
}

// find returns the tool of that name, or nil.
func (r *registry) find(name string) *tool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.tools {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// names returns those of the tools that work.
func (r *registry) names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, t := range r.tools {
		if t.fault == nil {
			names = append(names, t.Name)
		}
	}
	return names
}

// describe returns the JSON of the description, and what is wrong with tools
// that are not in it.
func (r *registry) describe() (description []byte, faults []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := abi.Description{Tools: []abi.Tool{}}
	for _, t := range r.tools {
		if t.fault != nil {
			faults = append(faults, fmt.Errorf("tool %q: %w", t.Name, t.fault))
			continue
		}
		d.Tools = append(d.Tools, t.Tool)
	}
	b, err := marshal(d)
	if err != nil {
		return nil, append(faults, fmt.Errorf("description: %w", err))
	}
	if len(b) > abi.MaxDescription {
		return nil, append(faults, fmt.Errorf("description: %d bytes, but at most %d are allowed: say less, or split the module", len(b), abi.MaxDescription))
	}
	return b, faults
}

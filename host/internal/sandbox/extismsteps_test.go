package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/policy"
)

// stepOps are the operations of extism-steps, in the order of its table.
var stepOps = []string{
	"alloc", "free", "length", "length_unsafe", "load_u8", "load_u64", "store_u8", "store_u64", "input_length",
	"input_offset", "input_load_u8", "input_load_u64", "input_set", "output_set", "output_length", "output_offset",
	"error_set", "error_get", "config_get", "var_get", "var_set", "http_request", "http_status_code", "http_headers",
	"get_log_level", "log_trace", "log_debug", "log_info", "log_warn", "log_error", "reset", "memory_bytes",
	"code", "exit", "trap",
}

// arg is an argument of a step: a number, added to the result of an earlier
// step if ref is not 0.
type arg struct {
	ref uint64
	n   uint64
}

func num(n uint64) arg { return arg{n: n} }

func (a arg) plus(n uint64) arg { return arg{a.ref, a.n + n} }

// steps is a program for extism-steps.
type steps struct {
	program []byte
	n       uint64
}

// do adds a step and returns its result as an argument for later ones.
func (s *steps) do(op string, args ...arg) arg {
	a := append(args, arg{}, arg{})
	first := uint64(slices.Index(stepOps, op)) | a[0].ref<<16 | a[1].ref<<32
	for _, w := range []uint64{first, a[0].n, a[1].n} {
		s.program = binary.LittleEndian.AppendUint64(s.program, w)
	}
	s.n++
	return arg{ref: s.n}
}

// text puts text into a new block.
func (s *steps) text(text string) arg {
	at := s.do("alloc", num(uint64(len(text))))
	for i := range len(text) {
		s.do("store_u8", at.plus(uint64(i)), num(uint64(text[i])))
	}
	return at
}

// results reads what run answered.
func results(out []byte) []uint64 {
	var all []uint64
	for ; len(out) >= 8; out = out[8:] {
		all = append(all, binary.LittleEndian.Uint64(out))
	}
	return all
}

// stepsMemory is the limit of most tests of steps: four pages are the guest's,
// sixteen those that Extism starts with.
const stepsMemory = 128 * pageSize

func stepsSource(t testing.TB, change ...func(*Source)) Source {
	src := Source{Name: "steps.wasm", Wasm: testkit.Wasm(t, "extism-steps"), Policy: policy.Default()}
	src.Policy.Limits.Memory = stepsMemory
	src.Config = json.RawMessage(`{"name":"value","empty":"","n":1}`)
	for _, f := range append(change, plainTool("run")) {
		f(&src)
	}
	return src
}

// result is what came of a function of a plugin.
type result struct {
	Out   string
	Said  string // the plugin's own error
	Trap  string
	Logs  []string
	fault Fault
}

func logLine(l abiLevel, text string) string { return fmt.Sprintf("%d %s", l, text) }

// perform calls a function of a plugin here.
func perform(t testing.TB, m *Module, function string, input []byte) result {
	t.Helper()
	var r result
	g, err := newGuest(t.Context(), m.src.Policy, m.http, Call{Log: func(l abiLevel, s string) { r.Logs = append(r.Logs, logLine(l, s)) }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := g.close(); err != nil {
			t.Error(err)
		}
	}()
	out, err := m.speaks.(*extismPlugin).exec(g, function, input)
	g.sink.Flush()
	var said *pluginError
	switch {
	case err == nil:
		r.Out = string(out)
	case errors.As(err, &said):
		r.Said = said.text
	default:
		f := g.explain(err)
		r.Trap, r.fault = f.Message, f.Fault
	}
	return r
}

// run performs the steps and returns the results of all.
func (s *steps) run(t testing.TB, m *Module) []uint64 {
	t.Helper()
	r := perform(t, m, "run", s.program)
	if r.Said != "" || r.Trap != "" {
		t.Fatalf("%+v", r)
	}
	return results([]byte(r.Out))
}

package selftest

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// The guest calls does with the functions of the host what steps does with those
// of the system. Its programs are made in the same way.

// The functions, by their places in the imports of calls.wat, and the three that are
// its own.
const (
	callHTTP = iota
	callRead
	callKVGet
	callKVSet
	callKVDelete
	callKVList
	callStateGet
	callSecretExists
	callLog
	callProgress
	callSearch
	callCount
	callAnswer
)

// mask is what hides the text that is searched for from the search.
const mask = 0x55

// resultAt is where the result of step n is: its length, and 4 behind it the handle.
func resultAt(n int) uint32 { return uint32(8192 + 8*n) }

// last is the number of the step that was added last.
func (p *program) last() int { return p.count - 1 }

// text calls a function with an address and a length, and returns the step.
func (p *program) text(function int, s string) int {
	at, n := p.put(s)
	p.do(function, at, n)
	return p.last()
}

// set stores a value under a key.
func (p *program) set(key, value string) int {
	at, n := p.put(key)
	from, m := p.put(value)
	p.do(callKVSet, at, n, from, m)
	return p.last()
}

// fetch reads at most n bytes of what a step gave, and returns where they are.
func (p *program) fetch(step, n int) uint32 {
	at, length := p.put(strings.Repeat("\x00", n))
	p.do(callRead, wordAt(resultAt(step)+4), at, length)
	return uint32(at.value)
}

// search counts a text in all the memory.
func (p *program) search(s string) int {
	b := []byte(s)
	for i := range b {
		b[i] ^= mask
	}
	return p.text(callSearch, string(b))
}

// talk is a guest of the module calls for as long as a check lasts.
type talk struct {
	*lab
	m *sandbox.Module
}

// says lets a guest of the module calls give an answer.
func (l *lab) says(ctx context.Context, answer any, change ...func(*sandbox.Source)) (sandbox.Outcome, error) {
	b, err := json.Marshal(answer)
	if err != nil {
		return sandbox.Outcome{}, err
	}
	p := &program{}
	p.text(callAnswer, string(b))
	args, err := p.arguments()
	if err != nil {
		return sandbox.Outcome{}, err
	}
	src, err := guest("calls", append([]func(*sandbox.Source){open}, change...)...)
	if err != nil {
		return sandbox.Outcome{}, err
	}
	out, err := l.call(ctx, src, sandbox.Call{Arguments: args})
	return out, errors.Join(err, ended(&out, []sandbox.Fault{""}))
}

// heard is what came of its steps.
type heard struct {
	results []int64
	shown   []byte
}

// open grants a store of one MiB, a key of the state and a host that there is not,
// so that the module is loaded.
func open(s *sandbox.Source) {
	s.Policy.Grants.KV, s.Policy.Grants.State = true, []string{stateKey}
	s.Policy.Limits.KV = policy.MiB
	s.Policy.Grants.HTTP = []policy.HTTPRule{{Scheme: "https", Host: "host.invalid", Port: 443}}
}

// stateKey is what is granted of the run's state.
const stateKey = "topic"

// talking lets do call the guest as often as it wants.
func talking(do func(context.Context, *talk) error, change ...func(*sandbox.Source)) func(context.Context, *lab) error {
	return func(ctx context.Context, l *lab) error {
		return l.talking(ctx, do, change...)
	}
}

func (l *lab) talking(ctx context.Context, do func(context.Context, *talk) error, change ...func(*sandbox.Source)) error {
	m, err := l.load(ctx, "calls", append([]func(*sandbox.Source){open}, change...)...)
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, &talk{l, m}), m.Close(ctx))
}

// do lets the guest do the steps of a program.
func (t *talk) do(ctx context.Context, p *program, c sandbox.Call) (h heard, err error) {
	if c.Arguments, err = p.arguments(); err != nil {
		return h, err
	}
	out := t.ask(ctx, t.m, c)
	if err := ended(&out, []sandbox.Fault{""}); err != nil {
		return h, err
	}
	return parseHeard(text(&out), p.count)
}

func parseHeard(answer string, steps int) (h heard, err error) {
	results, shown, _ := strings.Cut(answer, " ")
	if len(results) != 16*steps {
		return h, fmt.Errorf("the guest's answer is damaged: %.60q", answer)
	}
	for i := range steps {
		n, err := strconv.ParseUint(results[16*i:16*i+16], 16, 64)
		if err != nil {
			return h, fmt.Errorf("the guest's answer is damaged: %.60q", answer)
		}
		h.results = append(h.results, int64(n))
	}
	h.shown, err = hex.DecodeString(shown)
	return h, err
}

// gave says that a step had a result.
func (h *heard) gave(step int, want int64, what string) error {
	if got := h.results[step]; got != want {
		return fmt.Errorf("%s: the host gave %s and not %s", what, given(got), given(want))
	}
	return nil
}

// given is a result in words.
func given(n int64) string {
	if n < 0 {
		return strconv.Quote(abi.Errno(n).Error())
	}
	return strconv.FormatInt(n, 10)
}

// refuses says that a step had an error.
func (h *heard) refuses(step int, want abi.Errno, what string) error {
	return h.gave(step, int64(want), what)
}

// response is what the guest read of a request into n bytes, where it shows all of
// its data.
func (h *heard) response(at uint32, n int) (abi.HTTPResponse, error) {
	var r abi.HTTPResponse
	b := h.shown[at-dataAt:][:n]
	err := json.Unmarshal([]byte(strings.TrimRight(string(b), "\x00")), &r)
	return r, err
}

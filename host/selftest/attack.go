package selftest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
	"github.com/wagent-dev/wagent/testdata/wasm"
)

// guest is one of the embedded modules, under the limits that hold where nothing
// is said, and without a grant.
func guest(name string, change ...func(*sandbox.Source)) (sandbox.Source, error) {
	b, err := wasm.Files.ReadFile(name + ".wasm")
	if err != nil {
		return sandbox.Source{}, err
	}
	src := sandbox.Source{Name: name, Wasm: b, Policy: policy.Default()}
	for _, f := range change {
		f(&src)
	}
	return src, nil
}

// within gives calls so much time.
func within(d time.Duration) func(*sandbox.Source) {
	return func(s *sandbox.Source) { s.Policy.Limits.Timeout = d }
}

// memory gives a guest so much memory, in bytes.
func memory(n int64) func(*sandbox.Source) {
	return func(s *sandbox.Source) { s.Policy.Limits.Memory = n }
}

// plain makes the one tool of a module an Extism function.
func plain(export string) func(*sandbox.Source) {
	return func(s *sandbox.Source) {
		s.Export = export
		s.Tool = &abi.Tool{Name: export}
	}
}

// call loads a module, calls it once and closes it. Its fields of c that are empty
// are filled in.
func (l *lab) call(ctx context.Context, src sandbox.Source, c sandbox.Call) (sandbox.Outcome, error) {
	m, err := l.engine.Load(ctx, src)
	if err != nil {
		return sandbox.Outcome{}, fmt.Errorf("it was not loaded: %w", err)
	}
	out := l.ask(ctx, m, c)
	return out, m.Close(ctx)
}

// answered is call, where anything but an answer is an error.
func (l *lab) answered(ctx context.Context, src sandbox.Source, c sandbox.Call) (string, error) {
	out, err := l.call(ctx, src, c)
	if err == nil {
		err = ended(&out, []sandbox.Fault{""})
	}
	return text(&out), err
}

// load loads one of the embedded modules.
func (l *lab) load(ctx context.Context, name string, change ...func(*sandbox.Source)) (*sandbox.Module, error) {
	src, err := guest(name, change...)
	if err != nil {
		return nil, err
	}
	m, err := l.engine.Load(ctx, src)
	if err != nil {
		return nil, fmt.Errorf("it was not loaded: %w", err)
	}
	return m, nil
}

// ask calls a module that is loaded.
func (l *lab) ask(ctx context.Context, m *sandbox.Module, c sandbox.Call) sandbox.Outcome {
	out := m.Call(ctx, c)
	l.peak = max(l.peak, out.Receipt.PeakMemory)
	return out
}

// short is the time that guests have who would take for ever, and overrun how much
// later they may end, on a machine with much to do.
const (
	short   = 100 * time.Millisecond
	overrun = 3 * time.Second
)

// ends is an attack by a call that has to end in one of some ways, and in time.
// The way "" is an answer.
func ends(module string, c sandbox.Call, ways []sandbox.Fault, change ...func(*sandbox.Source)) func(context.Context, *lab) error {
	return func(ctx context.Context, l *lab) error {
		src, err := guest(module, change...)
		if err != nil {
			return err
		}
		m, err := l.engine.Load(ctx, src)
		if err != nil {
			return fmt.Errorf("it was not loaded: %w", err)
		}
		start := time.Now()
		out := l.ask(ctx, m, c)
		late := time.Since(start) - src.Policy.Limits.Timeout
		return errors.Join(ended(&out, ways), inTime(late), inMemory(&out, src.Policy.Limits.Memory), m.Close(ctx))
	}
}

func ended(out *sandbox.Outcome, ways []sandbox.Fault) error {
	if slices.Contains(ways, out.Fault) {
		return nil
	}
	how := string(out.Fault)
	if how == "" {
		how = "an answer"
	}
	return fmt.Errorf("it ended as %s: %s", how, text(out))
}

func inTime(late time.Duration) error {
	if late > overrun {
		return fmt.Errorf("it ended %v after its time limit", late.Round(time.Millisecond))
	}
	return nil
}

func inMemory(out *sandbox.Outcome, limit int64) error {
	if out.Receipt.PeakMemory > limit {
		return fmt.Errorf("it had %d bytes of memory and may have %d", out.Receipt.PeakMemory, limit)
	}
	return nil
}

// stopped is an attack by an embedded guest that takes for ever.
func stopped(module, id string, change ...func(*sandbox.Source)) func(context.Context, *lab) error {
	return ends(module, sandbox.Call{ID: id}, []sandbox.Fault{sandbox.FaultTimeout}, append([]func(*sandbox.Source){within(short)}, change...)...)
}

// refused is an attack by a module that may not be loaded. The reason has to hold
// a word.
func refused(src func() (sandbox.Source, error), kind sandbox.LoadKind, word string) func(context.Context, *lab) error {
	return func(ctx context.Context, l *lab) error {
		s, err := src()
		if err != nil {
			return err
		}
		return l.refuses(ctx, s, kind, word)
	}
}

func (l *lab) refuses(ctx context.Context, s sandbox.Source, kind sandbox.LoadKind, word string) error {
	m, err := l.engine.Load(ctx, s)
	if err == nil {
		return errors.Join(errors.New("it was loaded"), m.Close(ctx))
	}
	var why *sandbox.LoadError
	if !errors.As(err, &why) || why.Kind != kind || !strings.Contains(why.Error(), word) {
		return fmt.Errorf("it was refused as something else: %w", err)
	}
	return nil
}

// embedded is guest, for later.
func embedded(name string, change ...func(*sandbox.Source)) func() (sandbox.Source, error) {
	return func() (sandbox.Source, error) { return guest(name, change...) }
}

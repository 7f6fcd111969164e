package selftest

import (
	"context"
	"errors"
	"net/url"
	"os"
	"testing"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
)

// A check of something that does not hold must fail.
func TestChecksCanFail(t *testing.T) {
	l, err := newLab()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.close(); err != nil {
			t.Error(err)
		}
	}()
	overwrite := func(_ context.Context, r *room) error { return os.WriteFile(r.secret, nil, 0o600) }
	for name, do := range map[string]func(context.Context, *lab) error{
		"another end":            ends("done", sandbox.Call{}, []sandbox.Fault{sandbox.FaultTimeout}),
		"a module that is taken": refused(embedded("done"), sandbox.LoadImport, ""),
		"another reason":         refused(embedded("bigmin"), sandbox.LoadImport, ""),
		"a file that is read":    inFolder(denied("plain")),
		"a file that is written": inWritable(overwrite),
		"a quota that is kept":   inWritable(func(ctx context.Context, r *room) error { return r.bounded(ctx, &program{}) }),
		"a granted request":      elsewhere(func(*url.URL) {}),
		"another answer":         sameTwice("steps", sandbox.Call{}),
		"a panic":                func(context.Context, *lab) error { panic("of the host") },
	} {
		r := l.try(t.Context(), check{id: "X-1", what: name, do: do})
		if !r.Failed() || r.Problem == "" {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if r := l.try(t.Context(), check{do: func(context.Context, *lab) error { return skipped("why") }}); r.Skipped != "why" || r.Held || r.Failed() {
		t.Errorf("skipped: %+v", r)
	}
}

func TestAnInterruptEndsTheChecks(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for _, err := range Run(ctx) {
		n++
		cancel()
		if n > 1 && !errors.Is(err, context.Canceled) {
			t.Errorf("after the interrupt: %v", err)
		}
	}
	if n != 2 {
		t.Errorf("%d results, want one and the interrupt", n)
	}
}

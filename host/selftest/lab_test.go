package selftest

import (
	"context"
	"errors"
	"net/url"
	"os"
	"testing"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
	"github.com/wagent-dev/wagent/host/policy"
)

// A check of something that does not hold must fail.
func TestChecksCanFail(t *testing.T) {
	l, err := newLab(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.close(); err != nil {
			t.Error(err)
		}
	}()
	overwrite := func(_ context.Context, r *room) error { return os.WriteFile(r.secret, nil, 0o600) }
	stays := func(ctx context.Context, l *lab, n *internet) error {
		_, good, err := n.serve(apiHost, portHTTP, closing)
		return errors.Join(err, moved(ctx, l, n, good, good))
	}
	told := func(ctx context.Context, l *lab) error {
		out, err := l.says(ctx, answers(token)[0])
		return errors.Join(err, hidden(text(&out)))
	}
	allOfIt := func(s *sandbox.Source) { s.Policy.Grants.State = append(s.Policy.Grants.State, "other") }
	for name, do := range map[string]func(context.Context, *lab) error{
		"another end":            ends("done", sandbox.Call{}, []sandbox.Fault{sandbox.FaultTimeout}),
		"a module that is taken": refused(embedded("done"), sandbox.LoadImport, ""),
		"another reason":         refused(embedded("bigmin"), sandbox.LoadImport, ""),
		"a file that is read":    inFolder(denied("plain")),
		"a file that is written": inWritable(overwrite),
		"a quota that is kept":   inWritable(func(ctx context.Context, r *room) error { return r.bounded(ctx, &program{}) }),
		"a granted request":      elsewhere(func(*url.URL) {}),
		"a name that stays":      inInternet(stays),
		"a secret that is told":  told,
		"a secret that is lost":  func(context.Context, *lab) error { return hidden("nothing") },
		"a line that is lost":    func(context.Context, *lab) error { return harmless("") },
		"a store with room":      talking(fillsStore, storing(policy.MiB)),
		"a store that is there":  talking(deniedStore),
		"a key that is granted":  talking(stateKeys, allOfIt),
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
	for _, err := range Run(ctx, nil) {
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

package selftest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
)

// processChecks look at the process that runs the guests of an isolated module.
func processChecks() []check {
	return []check{
		{"ISO-8a", "what the process of an isolated module has of the host", "no environment, and nothing open but pipes", isolatedOnly(holdsNothing)},
		{"ISO-8b", "what the process of an isolated module may ask of the system", "a filter, and no new privileges", isolatedOnly(filtered)},
		{"ISO-8c", "killing that process in the middle of a call", "the call failed, and the next one had another", isolatedOnly(killedInside)},
		{"ISO-8d", "closing an isolated module", "its process has ended", isolatedOnly(endsWithModule)},
	}
}

// isolatedOnly lets do attack an isolated module that loops when its call is slow.
func isolatedOnly(do func(context.Context, *lab, *sandbox.Module) error) func(context.Context, *lab) error {
	return func(ctx context.Context, l *lab) error {
		m, err := l.load(ctx, "spin", within(time.Minute), func(s *sandbox.Source) { s.Isolated = true })
		var refused *sandbox.LoadError
		switch {
		case errors.As(err, &refused):
			return skipped(refused.Problem)
		case err != nil:
			return err
		}
		return errors.Join(do(ctx, l, m), m.Close(ctx))
	}
}

// of reads a file of /proc about the process of m.
func of(m *sandbox.Module, name string) (string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", m.Process(), name))
	return string(b), err
}

func holdsNothing(_ context.Context, _ *lab, m *sandbox.Module) error {
	env, err := of(m, "environ")
	if err != nil {
		return err
	}
	if env != "" {
		return errors.New("it has an environment")
	}
	dir := fmt.Sprintf("/proc/%d/fd", m.Process())
	files, err := os.ReadDir(dir)
	for _, f := range files {
		to, err := os.Readlink(filepath.Join(dir, f.Name()))
		if err != nil {
			continue // it was closed meanwhile
		}
		kind, _, _ := strings.Cut(to, ":")
		if !slices.Contains([]string{"pipe", "anon_inode", "/memfd"}, kind) && !strings.HasSuffix(to, "/pagemap") {
			return fmt.Errorf("it has open %s", to)
		}
	}
	return err
}

func filtered(_ context.Context, _ *lab, m *sandbox.Module) error {
	status, err := of(m, "status")
	if err != nil {
		return err
	}
	for _, want := range []string{"Seccomp:\t2\n", "NoNewPrivs:\t1\n"} {
		if !strings.Contains(status, want) {
			return fmt.Errorf("its status does not have %q", want)
		}
	}
	return nil
}

// killedInside kills the process until the call has ended: it may not have been
// given the call before.
func killedInside(ctx context.Context, l *lab, m *sandbox.Module) error {
	ended := make(chan sandbox.Outcome)
	go func() { ended <- l.ask(ctx, m, sandbox.Call{ID: "a"}) }()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case <-again.C:
			if n := m.Process(); n > 0 {
				end(n)
			}
		case out := <-ended:
			if out.Fault != sandbox.FaultInternal {
				return fmt.Errorf("the call ended with %q", out.Fault)
			}
			return servedAgain(ctx, l, m)
		}
	}
}

// servedAgain has another call run in another process, and stops it.
func servedAgain(ctx context.Context, l *lab, m *sandbox.Module) error {
	limited, cancel := context.WithTimeout(ctx, overrun)
	defer cancel()
	out := l.ask(limited, m, sandbox.Call{ID: "c"})
	return ended(&out, []sandbox.Fault{sandbox.FaultStack})
}

func endsWithModule(ctx context.Context, _ *lab, m *sandbox.Module) error {
	p := m.Process()
	if err := m.Close(ctx); err != nil {
		return err
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", p)); err == nil {
		return errors.New("its process is still there")
	}
	return nil
}

// end kills a process, which may have ended.
func end(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

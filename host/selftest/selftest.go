// Package selftest attacks this build, on this machine, with the hostile guests
// that its tests are made of: what a limit or a missing grant promises is tried
// and not believed. The guests, with their sources, are those of testdata/wasm.
package selftest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
)

// Result is what came of one check.
type Result struct {
	ID      string `json:"id"`                // the requirement, and a letter where it has several checks: CPU-2b
	What    string `json:"what"`              // what was tried
	Held    bool   `json:"held"`              // false, too, when the check was skipped
	Skipped string `json:"skipped,omitempty"` // why it cannot be tried here
	Problem string `json:"problem,omitempty"` // what did not hold
	// WallMS is how long the check took, in milliseconds, and PeakBytes the most
	// linear memory that a guest of it had.
	WallMS    float64 `json:"wall_ms"`
	PeakBytes int64   `json:"peak_bytes"`
	How       string  `json:"how,omitempty"` // what held it off; empty where nothing did, or it was skipped
}

// Failed says that the check was made and did not hold.
func (r *Result) Failed() bool { return !r.Held && r.Skipped == "" }

// check is one attack. do returns nil if what it tried was held off, how says by
// what.
type check struct {
	id, what, how string
	do            func(context.Context, *lab) error
}

// skipped is the error of a check that cannot be made here.
type skipped string

func (s skipped) Error() string { return string(s) }

// All returns the ids of the checks, in their order.
func All() []string {
	var ids []string
	for _, c := range checks() {
		ids = append(ids, c.id)
	}
	return ids
}

func checks() []check {
	var all []check
	for _, of := range []func() []check{firstChecks, cpuChecks, memoryChecks, moduleChecks, isolationChecks, processChecks, fileChecks, networkChecks, secretChecks, storeChecks, textChecks} {
		all = append(all, of()...)
	}
	return all
}

// Options change how the checks are made. Nil and the zero value are usable.
type Options struct {
	// Isolated has the guests run in processes of their own, as isolation: process
	// does. Then the program has to call host.Worker first in main.
	Isolated bool
}

// Run makes all checks, one after the other, and yields their results. It makes
// files in a temporary folder of its own, listens on loopback, connects to nothing
// else, and takes about as much memory as the limits of one tool. For the time of a
// check it sets variables of this process's environment, those of proxies among
// them: it belongs into a process that does nothing else. The error is for what
// keeps the checks from being made at all, that of ctx included; it is yielded last.
func Run(ctx context.Context, o *Options) iter.Seq2[Result, error] {
	return func(yield func(Result, error) bool) {
		l, err := newLab(o)
		if err != nil {
			yield(Result{}, fmt.Errorf("preparing the attacks: %w", err))
			return
		}
		for _, c := range checks() {
			if ctx.Err() != nil {
				break
			}
			if !yield(l.try(ctx, c), nil) {
				break
			}
		}
		if err := errors.Join(context.Cause(ctx), l.close()); err != nil {
			yield(Result{}, err)
		}
	}
}

// lab is what attacks are made with.
type lab struct {
	engine   *sandbox.Engine
	isolated bool
	good     *sandbox.Module // that has to be served after each attack
	dir      string
	peak     int64 // bytes, of the guests of one check
}

func newLab(o *Options) (*lab, error) {
	if o == nil {
		o = &Options{}
	}
	engine, err := sandbox.New(sandbox.Options{Isolated: o.Isolated})
	if err != nil {
		return nil, err
	}
	l := &lab{engine: engine, isolated: o.Isolated}
	if l.dir, err = os.MkdirTemp("", "wagent-selftest-"); err != nil {
		return nil, errors.Join(err, l.close())
	}
	src, err := guest("done")
	if err == nil {
		l.good, err = engine.Load(context.Background(), src)
	}
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *lab) close() error {
	err := l.engine.Close(context.Background())
	if l.dir != "" {
		err = errors.Join(err, os.RemoveAll(l.dir))
	}
	return err
}

// try makes one check, and another call after it.
func (l *lab) try(ctx context.Context, c check) Result {
	l.peak = 0
	start := time.Now()
	err := guarded(ctx, l, c.do)
	r := Result{ID: c.id, What: c.what, WallMS: float64(time.Since(start).Microseconds()) / 1000, PeakBytes: l.peak}
	var skip skipped
	switch {
	case errors.As(err, &skip):
		r.Skipped = string(skip)
		return r
	case err == nil:
		err = l.alive(ctx)
	}
	if r.Held = err == nil; err != nil {
		r.Problem = err.Error()
	} else {
		r.How = c.how
	}
	return r
}

// guarded makes of a panic what it is: a check that did not hold.
func guarded(ctx context.Context, l *lab, do func(context.Context, *lab) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the host panicked: %v", p)
		}
	}()
	return do(ctx, l)
}

// alive says that the host still serves a tool that means no harm.
func (l *lab) alive(ctx context.Context) error {
	out := l.good.Call(ctx, sandbox.Call{Tool: "done"})
	if out.Fault != "" || text(&out) != "done" {
		return fmt.Errorf("a harmless call after it failed: %s %s", out.Fault, text(&out))
	}
	return nil
}

// text is the first part of an answer.
func text(out *sandbox.Outcome) string {
	if len(out.Result.Content) == 0 {
		return ""
	}
	return out.Result.Content[0].Text
}

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/manifest"
)

// opening says how a host is opened.
type opening struct {
	scr  *screen
	late bool // what a module imports and was not granted is refused at the call
}

// newHost makes a host under a live line that says which module is compiled.
func (a *app) newHost(ctx context.Context, m *manifest.Manifest, o *opening) (*host.Host, error) {
	scr := o.scr
	opts := a.options(scr)
	opts.Late = o.late
	opts.Loading = func(module string, n, of int) {
		if ctx.Err() != nil {
			return // nobody waits for it any more
		}
		scr.loading(module, n, of)
		opts.Logger.Debug("loading", "module", module, "n", n, "of", of)
	}
	defer scr.finish(loadTask)
	return until(ctx, func() (*host.Host, error) { return host.New(ctx, m, opts) },
		func(h *host.Host) { _ = h.Close(context.WithoutCancel(ctx)) }) // the command has ended: there is nobody to tell
}

// inspect looks at the module of a file under a live line.
func (a *app) inspect(ctx context.Context, path string, wasm []byte) (host.ModuleInfo, error) {
	scr := a.openScreen(a.out)
	defer scr.close()
	scr.loading(filepath.Base(path), 1, 1)
	opts := a.options(scr)
	opts.Logger.Debug("loading", "module", path)
	return until(ctx, func() (host.ModuleInfo, error) {
		return host.InspectWith(ctx, wasm, &host.InspectOptions{Name: filepath.Base(path), CacheDir: opts.CacheDir, Logger: opts.Logger})
	}, func(host.ModuleInfo) {})
}

// grace is how long what was interrupted may take to put its things away, such as
// the folder of a compiler that was ended.
const grace = 500 * time.Millisecond

// until runs f, and leaves it behind when ctx ends and some grace is over: not all
// that loads a module looks at its context, and who interrupts does not wait for
// it. What f returns then is given to free, if the process still lives.
func until[T any](ctx context.Context, f func() (T, error), free func(T)) (T, error) {
	type result struct {
		value T
		err   error
		panic any
	}
	done := make(chan result) // without a buffer: what is not taken is freed
	left := make(chan struct{})
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				r = result{panic: fmt.Sprintf("%v\n%s", p, debug.Stack())}
			}
			select {
			case done <- r:
			case <-left:
				if r.err == nil && r.panic == nil {
					free(r.value)
				}
			}
		}()
		r.value, r.err = f()
	}()
	var r result
	select {
	case r = <-done:
		if r.panic != nil {
			panic(r.panic)
		}
		return r.value, r.err
	case <-ctx.Done():
	}
	select {
	case r = <-done:
		if r.err == nil && r.panic == nil {
			free(r.value)
		}
	case <-time.After(grace):
		close(left)
	}
	var none T
	return none, context.Cause(ctx)
}

package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

var errInterrupted = errors.New("interrupted")

// withInterrupt returns a context that the first interrupt cancels. The second
// ends the process at once. stop gives the signals back.
func withInterrupt(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done, joined := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(joined)
		select {
		case <-done:
			return
		case <-signals:
			cancel(errInterrupted)
		}
		select {
		case <-done:
		case <-signals:
			os.Exit(exitInterrupted)
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		<-joined
		cancel(nil)
	}
}

// interrupted says that a signal ended ctx.
func interrupted(ctx context.Context) bool {
	return errors.Is(context.Cause(ctx), errInterrupted)
}

// Command wagent runs LLM agents whose tools are WebAssembly modules under
// memory, time and capability limits.
//
//	wagent init
//	wagent run "How many words does this sentence have?"
//
// It is built on package host alone, as any other Go program would be: what the
// command can do, a program that embeds the host can do.
//
// What a program reads goes to standard output, as does the answer; progress,
// receipts and errors go to standard error. The exit status is 0 when a run
// ended by itself, 1 when it failed, 2 when nothing was run because the command
// line, the manifest or a module is wrong, 3 when a limit stopped it, and 130
// when it was interrupted.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/wagent-dev/wagent/host"
)

func main() {
	host.Worker()
	os.Exit(wagent(context.Background(), os.Args[1:], osStreams()))
}

// wagent is the whole command: it runs args and returns the exit status.
func wagent(ctx context.Context, args []string, s *streams) int {
	// net/http writes there what a server sends unasked, with the key of the model or
	// a secret in it where the server repeats them. All else is told by the logger.
	log.SetOutput(io.Discard)
	ctx, stop := withInterrupt(ctx)
	defer stop()
	a := &app{streams: s}
	cmd := newRoot(a)
	cmd.SetArgs(args)
	cmd.SetIn(s.in)
	cmd.SetOut(s.out)
	cmd.SetErr(s.err)
	return a.end(ctx, a.execute(ctx, cmd))
}

// execute runs cmd. A panic is a fault of this program: it is told as one line,
// and its stack goes to the log of -vv.
func (a *app) execute(ctx context.Context, cmd *cobra.Command) (err error) {
	defer func() {
		if p := recover(); p != nil {
			a.logger(visibleWriter{a.err}).Debug("panic", "stack", string(debug.Stack()))
			err = failed(fmt.Errorf("a fault of wagent itself: %v: please report it with the output of -vv", p))
		}
	}()
	return cmd.ExecuteContext(ctx)
}

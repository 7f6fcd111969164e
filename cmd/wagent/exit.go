package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/wagent-dev/wagent/host/run"
	"github.com/wagent-dev/wagent/host/visible"
)

// The exit statuses.
const (
	exitOK          = 0
	exitFailed      = 1   // the run, or the call, failed
	exitWrong       = 2   // command line, manifest or module; nothing was run
	exitLimit       = 3   // stopped by a limit
	exitInterrupted = 130 // stopped by a signal
)

// ended is how a command ends with another status than 0 and 2: an error that
// is not of this type is one of the command line, the manifest or a module.
type ended struct {
	code int
	err  error // nil: everything has been said already
}

func (e *ended) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e *ended) Unwrap() error { return e.err }

// failed returns err as the end of a command that did begin its work.
func failed(err error) error { return &ended{exitFailed, err} }

// end prints what went wrong and returns the exit status.
func (a *app) end(ctx context.Context, err error) int {
	if err == nil {
		return exitOK
	}
	e, ok := errors.AsType[*ended](err)
	switch {
	case ok && e.err == nil:
		return e.code
	case !ok && interrupted(ctx):
		a.complain(errInterrupted.Error())
		return exitInterrupted
	}
	for _, one := range flatten(err) {
		a.complain(one.Error())
	}
	if ok {
		return e.code
	}
	return exitWrong
}

// maxComplaint bounds a line of error, in bytes.
const maxComplaint = 4 << 10

// complain prints one line on standard error.
func (a *app) complain(what string) {
	fmt.Fprintf(a.err, "%s %s\n", a.errStyle().red("wagent:"), visible.Line(what, maxComplaint))
}

// flatten returns the errors that were joined to err, or err alone.
func flatten(err error) []error {
	if e, ok := err.(*ended); ok { //nolint:errorlint // the outermost only
		return flatten(e.err)
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, flatten(e)...)
	}
	return all
}

// exitCode returns the status of a run that ended for reason. exits are the
// manifest's exit conditions.
func exitCode(reason run.ExitReason, exits []string) int {
	switch reason {
	case run.ExitText, run.ExitReturnDirect:
		return exitOK
	case run.ExitError:
		return exitFailed
	case run.ExitInterrupted:
		return exitInterrupted
	case run.ExitMaxSteps, run.ExitMaxDuration, run.ExitParseErrors, run.ExitLength, run.ExitContentFilter,
		run.ExitTokenBudget, run.ExitToolCallBudget, run.ExitCostBudget, run.ExitRepeatedCalls:
		return exitLimit
	}
	if slices.Contains(exits, string(reason)) {
		return exitOK
	}
	return exitLimit
}

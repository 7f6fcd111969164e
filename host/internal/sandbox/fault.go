package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/sys"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// FaultError is a call that gave no answer.
type FaultError struct {
	Fault   Fault
	Message string // one line, for the model
	Detail  string // for people; may have several lines
}

// Error returns the kind and the message.
func (e *FaultError) Error() string { return string(e.Fault) + ": " + e.Message }

func fault(kind Fault, format string, args ...any) *FaultError {
	return &FaultError{Fault: kind, Message: fmt.Sprintf(format, args...)}
}

// explain turns what the engine returned into a fault. What the host itself did
// to the guest comes first: the error of a guest that was stopped says little.
func (g *guest) explain(err error) *FaultError {
	if why := g.watch.stopped(g.ctx); why != nil {
		return why
	}
	var known *FaultError
	var said *pluginError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &said):
		return fault(FaultInvalidResult, "%s", said.Error())
	}
	f := g.classify(err)
	if !f.Fault.byHost() {
		f.Detail = cleanLines(err.Error(), maxDetail)
	}
	return f
}

// byHost says that the host ended the guest. It does so with a trap, whose text
// says nothing of the reason.
func (f Fault) byHost() bool {
	switch f {
	case FaultTimeout, FaultFuel, FaultStack, FaultOutput, FaultHostCalls, FaultDenied, FaultCancelled:
		return true
	default:
		return false
	}
}

// exitedWith is a guest that ended itself.
func (g *guest) exitedWith(code uint32) *FaultError {
	return fault(FaultExited, "the tool ended itself with code %d before it answered%s", code, g.lastWords())
}

// classify reads the engine's error.
func (g *guest) classify(err error) *FaultError {
	said := g.lastWords()
	var exit *sys.ExitError
	text := trapText(err)
	switch {
	case g.outOfFuel && isTrap(text):
		return fault(FaultFuel, "the tool used up its fuel (limit %d) and was stopped; ask for less at once", g.limits.Fuel)
	case errors.As(err, &exit) && exit.ExitCode() != 0 && g.arena.refused, g.arena.refused && isTrap(text):
		return g.arena.tooMuch()
	case errors.As(err, &exit):
		return g.exitedWith(exit.ExitCode())
	case strings.HasPrefix(strings.TrimPrefix(text, wasmError), stackOverflow):
		return fault(FaultStack, "the tool called itself too deeply and was stopped; ask for something less nested")
	case isTrap(text):
		trap, _, _ := strings.Cut(strings.TrimPrefix(text, wasmError), "\n")
		return fault(FaultTrap, "the tool crashed (%s)%s", trap, said)
	default:
		return fault(FaultInternal, "the host could not run the tool")
	}
}

// How the engine's errors begin.
const (
	wasmError     = "wasm error: "
	stackOverflow = "stack overflow"
)

// trapText is the engine's error without what this package put before it.
func trapText(err error) string {
	text := err.Error()
	for _, before := range []string{whileStarting, whileInitialising} {
		text = strings.TrimPrefix(text, before)
	}
	return text
}

// What is put before the errors of a guest that has not begun.
const (
	whileStarting     = "starting: "
	whileInitialising = "initialising: "
)

func isTrap(text string) bool { return strings.HasPrefix(text, wasmError) }

// lastWords is the line of the guest's output that most likely says why it
// died, as ": line", or nothing.
func (g *guest) lastWords() string {
	lines := strings.Split(strings.TrimSpace(g.sink.Tail()), "\n")
	if i := slices.IndexFunc(lines, isReason); i >= 0 {
		return ": " + oneLine(lines[i], maxWords)
	}
	if last := oneLine(lines[len(lines)-1], maxWords); last != "" {
		return ": " + last
	}
	return ""
}

// isReason says that a line is where a language's runtime says why it breaks off.
func isReason(line string) bool {
	for _, mark := range []string{"panic:", "fatal error:", "panicked at"} {
		if strings.Contains(line, mark) {
			return true
		}
	}
	return false
}

// maxLines is how many lines of a guest's output an error has.
const maxLines = 12

// lastLines returns the lines of the output that say most: from the reason on,
// where there is one, else the last.
func lastLines(text string) string {
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	i := slices.IndexFunc(lines, isReason)
	if i < 0 {
		i = max(0, len(lines)-maxLines)
	}
	return strings.TrimSpace(strings.Join(lines[i:min(len(lines), i+maxLines)], "\n"))
}

// outcome makes a fault what the model and people are shown.
func (e *FaultError) outcome(tail string) Outcome {
	detail := e.Detail
	if tail = lastLines(cleanLines(tail, maxDetail)); tail != "" {
		detail = strings.TrimSpace(tail + "\n" + detail)
	}
	if detail == "" {
		detail = e.Message
	}
	return Outcome{
		Fault:  e.Fault,
		Detail: detail,
		Result: textResult(oneLine(e.Message, maxMessage), true),
	}
}

func textResult(text string, isError bool) abi.Result {
	return abi.Result{Content: []abi.Content{{Type: "text", Text: text}}, IsError: isError}
}

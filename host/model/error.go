package model

import (
	"fmt"
	"strings"
	"time"
)

// ErrorKind is what a failed call means for the run. The values are the
// error.kind of a failed run.
type ErrorKind string

// The kinds of failure.
const (
	// Unreachable: no connection, a timeout, a server error or a rate limit
	// that outlasted the retries.
	Unreachable ErrorKind = "model_unreachable"
	// Auth: the key is missing, wrong, or not allowed to do this.
	Auth ErrorKind = "model_auth"
	// Rejected: the provider understood and refuses; trying again unchanged is
	// of no use.
	Rejected ErrorKind = "model_rejected"
	// Stream: the reply broke off or could not be read.
	Stream ErrorKind = "model_stream"
	// ContextOverflow: the conversation is longer than the model takes.
	ContextOverflow ErrorKind = "context_overflow"
)

// Error is a failed model call. What of it a provider wrote is bounded, one line
// without hidden characters, and holds no key; only Partial is as it came, but for
// the key.
type Error struct {
	Kind    ErrorKind
	Status  int    // HTTP status; 0: none was received
	Code    string // the provider's own code; empty: it gave none
	Message string // the provider's words, or ours where it had none
	Param   string // the request member that was refused; empty: none was named

	Retryable  bool          // the same request may succeed later
	RetryAfter time.Duration // the provider's wish; 0: none
	Limit      int64         // ContextOverflow: the window in tokens; 0: it was not named

	Partial string // the model's text that had arrived; not fit for a terminal
	Usage   Usage  // what the attempts cost; zero: nothing that is known
	// Bill is what Usage is made of, where some of it has other prices than those of the
	// model that was asked. Nil: all of it has these.
	Bill      []Priced
	RequestID string // the provider's id of the exchange; empty: it gave none
	Attempts  int    // how many were made; 0 and 1: one
	Err       error  // the cause; nil: there is no more to say
}

// Error says what failed on one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("model: ")
	if e.Status != 0 {
		fmt.Fprintf(&b, "HTTP %d: ", e.Status)
	}
	switch {
	case e.Message != "":
		b.WriteString(e.Message)
	case e.Err != nil:
		b.WriteString(e.Err.Error())
	default:
		b.WriteString(string(e.Kind))
	}
	if e.Code != "" {
		fmt.Fprintf(&b, " (%s)", e.Code)
	}
	if e.Attempts > 1 {
		fmt.Fprintf(&b, ", after %d attempts", e.Attempts)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

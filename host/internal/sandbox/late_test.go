package sandbox

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/policy"
)

// CPU-8: an answer that comes after the deadline is no answer, also when the
// timer that ends the context has been held up.
func TestALateAnswerIsATimeoutThoughTheTimerHasNotRun(t *testing.T) {
	p := policy.Default()
	p.Limits.Timeout = time.Hour // the timer does not run in this test
	g, err := newGuest(t.Context(), p, nil, Call{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.close()
	answer := func(*guest) (Outcome, error) { return Outcome{Result: textResult("done", false)}, nil }
	if _, err := guarded(g, answer); err != nil {
		t.Fatalf("in time: %v", err)
	}
	g.watch.end = time.Now()
	out, err := guarded(g, answer)
	fault, ok := errors.AsType[*FaultError](err)
	if !ok || fault.Fault != FaultTimeout {
		t.Errorf("too late: %+v, %v", out, err)
	}
	if context.Cause(g.ctx) != nil {
		t.Error("the timer has run: the test shows nothing")
	}
}

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host/run"
)

func TestExitStatusFollowsTheReason(t *testing.T) {
	exits := []string{"text", "answer", "interrupted"}
	for reason, want := range map[run.ExitReason]int{
		run.ExitText: 0, run.ExitReturnDirect: 0, "answer": 0,
		run.ExitError: 1, run.ExitInterrupted: 130,
		run.ExitMaxSteps: 3, run.ExitMaxDuration: 3, run.ExitLength: 3, run.ExitContentFilter: 3,
		"token_budget_exceeded": 3, "a hook's reason": 3,
	} {
		if got := exitCode(reason, exits); got != want {
			t.Errorf("%s: %d, want %d", reason, got, want)
		}
	}
}

func TestAPanicIsOneLine(t *testing.T) {
	var out, errs bytes.Buffer
	io := &streams{out: panicky{}, err: &errs, getenv: func(string) string { return "" }}
	if code := wagent(t.Context(), []string{"version"}, io); code != exitFailed {
		t.Errorf("exit status %d", code)
	}
	if got := errs.String(); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, "wagent: a fault of wagent itself: ") || out.Len() > 0 {
		t.Errorf("it says %q", got)
	}
}

type panicky struct{}

func (panicky) Write([]byte) (int, error) { panic("out of cheese") }

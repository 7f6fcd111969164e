package modeltest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/model"
)

// RunFailures checks how a model that reaches over a network fails. The model
// makes no second attempts.
func RunFailures(t *testing.T, open Factory) {
	t.Run("FailuresHaveTheirKind", func(t *testing.T) { testKinds(t, open) })
	t.Run("BrokenStreamKeepsWhatWasSaid", func(t *testing.T) { testBreak(t, open) })
	t.Run("CancelEndsAHangingCall", func(t *testing.T) { testHang(t, open) })
	t.Run("FailureDoesNotStick", func(t *testing.T) { testRecovery(t, open) })
}

func testKinds(t *testing.T, open Factory) {
	for _, want := range []*model.Error{
		{Kind: model.Auth, Status: 401, Message: "wrong key"},
		{Kind: model.Rejected, Status: 404, Message: "no such model"},
		{Kind: model.ContextOverflow, Status: 400, Code: "context_length_exceeded", Message: "too much"},
		{Kind: model.Unreachable, Status: 503, Message: "overloaded", Retryable: true},
		{Kind: model.Unreachable, Status: 429, Message: "slow down", Retryable: true, RetryAfter: 1500 * time.Millisecond},
	} {
		_, err := open(t, Fail(want)).Generate(t.Context(), Hello(), nil)
		var got *model.Error
		if !errors.As(err, &got) {
			t.Errorf("error for status %d = %v", want.Status, err)
			continue
		}
		if got.Kind != want.Kind || got.Status != want.Status || got.Retryable != want.Retryable ||
			got.RetryAfter != want.RetryAfter || !strings.Contains(got.Message, want.Message) {
			t.Errorf("error = %+v, want %+v", got, want)
		}
	}
}

func testBreak(t *testing.T, open Factory) {
	said := ""
	_, err := open(t, Break("this will not be said to its end")).Generate(t.Context(), Hello(), func(c model.Chunk) { said += c.Text })
	var failed *model.Error
	if !errors.As(err, &failed) || failed.Kind != model.Stream || !failed.Retryable {
		t.Fatalf("error = %v, want a retryable one of kind %s", err, model.Stream)
	}
	if failed.Partial != said {
		t.Errorf("partial = %q, streamed %q", failed.Partial, said)
	}
}

func testHang(t *testing.T, open Factory) {
	turn := Hang()
	turn.Arrived = make(chan struct{})
	m := open(t, turn)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := m.Generate(ctx, Hello(), nil)
		done <- err
	}()
	<-turn.Arrived
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v, want %v", err, context.Canceled)
		}
	case <-time.After(patience):
		t.Fatal("the call goes on after its context has ended")
	}
}

func testRecovery(t *testing.T, open Factory) {
	m := open(t, Fail(&model.Error{Kind: model.Unreachable, Status: 500, Message: "oops", Retryable: true}), Text("better"))
	if _, err := m.Generate(t.Context(), Hello(), nil); err == nil {
		t.Fatal("the failure was not reported")
	}
	if got := generate(t, m, Hello(), nil).Message.Text(); got != "better" {
		t.Errorf("text = %q", got)
	}
}

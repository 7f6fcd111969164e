package agent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/run"
)

// slowStore needs so long for each append, and obeys its context.
type slowStore struct {
	run.Memory
	takes time.Duration
}

func (s *slowStore) Append(ctx context.Context, id run.ID, head uint64, events []run.Event) error {
	select {
	case <-time.After(s.takes): // virtual time
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return s.Memory.Append(ctx, id, head, events)
}

// The time of an append is its own: many slow ones in a row are no failure, one that
// takes too long is.
func TestEachAppendHasItsOwnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(a *agent.Agent) { a.Store = &slowStore{takes: 29 * time.Second} }
		if _, got := finish(t, t.Context(), newAgent(t, says(calls("a"), text("ok")), slow)); got.Output != "ok" {
			t.Errorf("%+v", got)
		}
		start := time.Now()
		a := newAgent(t, says(text("ok")), func(a *agent.Agent) { a.Store = &slowStore{takes: time.Hour} })
		for e, err := range a.Run(t.Context(), "r", prompt()) {
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 30*time.Second {
				t.Errorf("%+v, %v after %s", e, err, time.Since(start))
			}
		}
	})
}

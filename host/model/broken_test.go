package model_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/model"
)

// brokenOff breaks the call off: it cancels, and says what its own attempt cost.
type brokenOff struct {
	cancel context.CancelFunc
	cost   model.Usage
}

func (b brokenOff) Generate(ctx context.Context, _ *model.Request, _ func(model.Chunk)) (*model.Reply, error) {
	b.cancel()
	return nil, &model.Error{Kind: model.Stream, Message: "the reply broke off", Usage: b.cost, Err: ctx.Err()}
}

// refusing fails with what it cost.
type refusing model.Usage

func (r refusing) Generate(context.Context, *model.Request, func(model.Chunk)) (*model.Reply, error) {
	return nil, &model.Error{Kind: model.Unreachable, Retryable: true, Message: "no", Usage: model.Usage(r)}
}

// An interrupted call says what the attempts cost that were made, and still is what its
// context says.
func TestABrokenOffCallSaysWhatItsAttemptsCost(t *testing.T) {
	cost := model.Usage{PromptTokens: 3, CompletionTokens: 2, TotalTokens: 5}
	check := func(name string, err error, want int64) {
		t.Helper()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		failed, ok := errors.AsType[*model.Error](err)
		if ok != (want > 0) || ok && failed.Usage.TotalTokens != want {
			t.Errorf("%s: %+v, want %d tokens", name, failed, want)
		}
	}
	for name, c := range map[string]struct {
		models []model.Model
		want   int64
	}{
		"another model after one that failed": {[]model.Model{refusing(cost), nil}, 10},
		"the first":                           {[]model.Model{nil}, 5},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		c.models[len(c.models)-1] = brokenOff{cancel, cost}
		_, err := model.Fallback(c.models...).Generate(ctx, &model.Request{}, nil)
		check(name, err, c.want)
	}
	for name, c := range map[string]struct {
		fails int
		want  int64
	}{"while it waits": {1, 5}, "in the second attempt": {2, 10}, "before anything": {0, 0}} {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		b := model.Backoff{Sleep: func(ctx context.Context, _ time.Duration) error {
			if n >= c.fails {
				cancel()
			}
			return ctx.Err()
		}}
		if c.fails == 0 {
			cancel()
		}
		_, err := b.Do(ctx, nil, func(context.Context) (*model.Reply, error) {
			n++
			if n == 2 {
				cancel()
			}
			return nil, &model.Error{Kind: model.Unreachable, Retryable: true, Usage: cost}
		})
		cancel()
		check(name, err, c.want)
	}
}

package model_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/model"
)

// failing returns an attempt that fails n times, then succeeds.
func failing(n int, e model.Error) func(context.Context) (*model.Reply, error) {
	return func(context.Context) (*model.Reply, error) {
		if n--; n >= 0 {
			return nil, &e
		}
		return &model.Reply{Message: model.Text(model.Assistant, "ok")}, nil
	}
}

func TestBackoffWaitsLongerEachTimeUpToMax(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := model.Backoff{Attempts: 9, Initial: time.Second, Max: 4 * time.Second}
		longest := []time.Duration{1, 2, 4, 4, 4}
		for range 50 {
			var chunks []model.Retry
			start := time.Now()
			_, err := b.Do(t.Context(), func(c model.Chunk) { chunks = append(chunks, *c.Retry) }, failing(len(longest), model.Error{Retryable: true}))
			if err != nil || len(chunks) != len(longest) {
				t.Fatalf("error = %v, retries = %d", err, len(chunks))
			}
			var sum time.Duration
			for i, r := range chunks {
				sum += r.Wait
				if r.Attempt != i+1 || r.Wait <= 0 || r.Wait > longest[i]*time.Second {
					t.Fatalf("retry %d = %+v", i, r)
				}
			}
			if waited := time.Since(start); waited != sum {
				t.Fatalf("waited %v, announced %v", waited, sum)
			}
		}
	})
}

func TestBackoffOfTheLongestWaitsDoesNotOverflow(t *testing.T) {
	b := model.Backoff{Attempts: 80, Initial: math.MaxInt64/2 + 1, Max: math.MaxInt64}
	waits := 0
	b.Sleep = func(_ context.Context, d time.Duration) error {
		if waits++; d <= 0 {
			t.Errorf("wait %d is %v", waits, d)
		}
		return nil
	}
	for _, initial := range []time.Duration{1, b.Initial, math.MaxInt64} {
		b.Initial = initial
		if _, err := b.Do(t.Context(), nil, failing(79, model.Error{Retryable: true})); err != nil {
			t.Fatal(err)
		}
	}
	if waits != 3*79 {
		t.Errorf("%d waits", waits)
	}
}

func TestBackoffDefaultsToFourAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := model.Backoff{}.Do(t.Context(), nil, failing(99, model.Error{Kind: model.Unreachable, Retryable: true}))
		var failed *model.Error
		if !errors.As(err, &failed) || failed.Attempts != 4 {
			t.Errorf("error = %v", err)
		}
	})
}

func TestBackoffObeysAWishUpToAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for wish, attempts := range map[time.Duration]int{50 * time.Second: 2, 2 * time.Minute: 1} {
			start := time.Now()
			_, err := model.Backoff{Attempts: 2}.Do(t.Context(), nil, failing(9, model.Error{Message: "slow down", Retryable: true, RetryAfter: wish}))
			var failed *model.Error
			if !errors.As(err, &failed) || failed.Attempts != attempts {
				t.Errorf("wish %v: error = %v", wish, err)
			}
			if told := strings.Contains(err.Error(), "it asks to wait 2m0s, which is too long"); told != (attempts == 1) {
				t.Errorf("wish %v: error = %v", wish, err)
			}
			if waited := time.Since(start); waited != wish*time.Duration(attempts-1) {
				t.Errorf("wish %v: waited %v", wish, waited)
			}
		}
	})
}

func TestBackoffEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		b := model.Backoff{Attempts: 9, Initial: time.Hour, Max: time.Hour}
		_, err := b.Do(ctx, nil, failing(9, model.Error{Retryable: true}))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error = %v", err)
		}
		if waited := time.Since(start); waited > time.Second {
			t.Errorf("waited %v", waited)
		}
	})
}

func TestBackoffLeavesOtherErrorsAlone(t *testing.T) {
	odd := errors.New("odd")
	calls := 0
	_, err := model.Backoff{}.Do(t.Context(), nil, func(context.Context) (*model.Reply, error) {
		calls++
		return nil, odd
	})
	if !errors.Is(err, odd) || calls != 1 {
		t.Errorf("error = %v after %d calls", err, calls)
	}
}

func TestEstimateCountsFourCharactersAToken(t *testing.T) {
	req := &model.Request{
		Messages: []model.Message{
			model.Text(model.User, "äöüßé"), // 5 characters: 2, and 4 for the message
			{Role: model.User, Content: []model.Part{{Type: model.ImagePart, Data: make([]byte, 1<<20)}}},
		},
		Tools: []model.Definition{{Name: "ab", Description: "cd", Parameters: []byte(`{}`)}},
	}
	if diff := cmp.Diff(int64(6+260+2), model.EstimateTokens(req)); diff != "" {
		t.Errorf("estimate (-want +got):\n%s", diff)
	}
}

package model

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Backoff says how often a failed call is made again, and when. The zero value
// means 4 attempts, from 500 ms up to 30 s apart.
type Backoff struct {
	// Attempts counts the first try. Zero: 4; below zero or 1: no retry.
	Attempts int
	// Initial is the longest wait before the second attempt; it doubles with
	// each one up to Max. The wait itself is a random part of it, so that many
	// callers do not come back at once. Zero: 500 ms and 30 s.
	Initial, Max time.Duration
	// Sleep waits for d or until ctx ends and then returns its error. Nil: real
	// time.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Do calls attempt until it succeeds, fails in a way that no retry mends, or
// the attempts are used up. A provider's wish to wait is obeyed up to Max or a
// minute, whichever is longer; a longer wish ends the retries. Before each wait
// sink, which may be nil, is given a chunk with Retry.
//
// A failure is the last attempt's [*Error] with the number of attempts and what
// all of them cost, or the error of ctx, wrapped: in an [*Error] that says what the
// attempts cost, if that is known. Any other error of attempt is returned as it is, at
// once.
func (b Backoff) Do(ctx context.Context, sink func(Chunk), attempt func(context.Context) (*Reply, error)) (*Reply, error) {
	b = b.withDefaults()
	var spent Usage
	var bill []Priced
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return nil, brokenOff(err, spent, bill)
		}
		reply, err := attempt(ctx)
		if err == nil {
			return paid(reply, spent, bill), nil
		}
		failed, known := errors.AsType[*Error](err)
		if known {
			spent, bill = spent.Add(failed.Usage), append(bill, billOf(failed.Usage, failed.Bill, nil)...)
		}
		if ctx.Err() != nil {
			return nil, brokenOff(ctx.Err(), spent, bill)
		}
		if !known {
			return nil, err
		}
		last := *failed
		last.Attempts = n
		last.Usage = spent
		if apart(bill) {
			last.Bill = slices.Clone(bill)
		}
		wait, again := b.wait(n, &last)
		if !again {
			last.Message = b.refusing(n, &last)
			return nil, &last
		}
		if sink != nil {
			sink(Chunk{Retry: &Retry{Attempt: n, Wait: wait, Err: &last}})
		}
		if err := b.Sleep(ctx, wait); err != nil {
			return nil, brokenOff(err, spent, bill)
		}
	}
}

// brokenOff is the error of a call whose context has ended: an *[Error] if attempts
// before were paid for.
func brokenOff(why error, spent Usage, bill []Priced) error {
	why = fmt.Errorf("model call: %w", why)
	if spent == (Usage{}) {
		return why
	}
	if !apart(bill) {
		bill = nil
	}
	return &Error{Kind: Unreachable, Message: why.Error(), Usage: spent, Bill: slices.Clone(bill), Err: why}
}

// paid is a reply with what was spent before it, by the same model unless bill says
// otherwise.
func paid(reply *Reply, spent Usage, bill []Priced) *Reply {
	if reply == nil || spent == (Usage{}) {
		return reply
	}
	r := *reply
	r.Retried = r.Retried.Add(spent)
	if reply.Bill != nil || apart(bill) {
		r.Bill = slices.Concat(bill, billOf(reply.Spent(), reply.Bill, reply.Prices))
	}
	return &r
}

func (b Backoff) withDefaults() Backoff {
	if b.Attempts == 0 {
		b.Attempts = 4
	}
	if b.Initial <= 0 {
		b.Initial = 500 * time.Millisecond
	}
	if b.Max <= 0 {
		b.Max = 30 * time.Second
	}
	if b.Sleep == nil {
		b.Sleep = sleep
	}
	return b
}

// wait decides what follows attempt n, which failed with e.
func (b Backoff) wait(n int, e *Error) (time.Duration, bool) {
	if !e.Retryable || n >= b.Attempts {
		return 0, false
	}
	if e.RetryAfter > 0 {
		return e.RetryAfter, e.RetryAfter <= max(b.Max, time.Minute)
	}
	longest := min(b.Initial, b.Max)
	for i := 1; i < n && longest < b.Max; i++ {
		longest += min(longest, b.Max-longest) // twice, and no overflow
	}
	return 1 + rand.N(longest), true //nolint:gosec // spreads load, guards nothing
}

// refusing is what e says, which is the end at attempt n, and that the wait was too
// long if that is why.
func (b Backoff) refusing(n int, e *Error) string {
	if !e.Retryable || n >= b.Attempts || e.Message == "" {
		return e.Message
	}
	return fmt.Sprintf("%s: it asks to wait %s, which is too long", e.Message, e.RetryAfter.Round(time.Millisecond))
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

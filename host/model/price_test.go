package model_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/modeltest"
)

// tolled is a model whose attempts cost so many tokens, at a price of its own, if any.
func tolled(tokens int64, price float64, fails error) model.Model {
	return generateFunc(func(context.Context, *model.Request, func(model.Chunk)) (*model.Reply, error) {
		u := model.Usage{PromptTokens: tokens, TotalTokens: tokens}
		var p *model.Prices
		var bill []model.Priced
		if price > 0 {
			p = &model.Prices{Input: price * 1e6}
			bill = []model.Priced{{Usage: u, Prices: p}}
		}
		if fails != nil {
			return nil, &model.Error{Kind: model.Stream, Message: "cut", Usage: u, Bill: bill, Err: fails, Retryable: true}
		}
		return &model.Reply{Message: model.Text(model.Assistant, "ok"), Usage: u, Prices: p}, nil
	})
}

// Whoever answers, and whoever failed before: each attempt costs what its own model does.
func TestEachAttemptCostsWhatItsModelDoes(t *testing.T) {
	asked := model.Prices{Input: 1e6} // a token costs 1
	down, refused := errors.New("down"), model.ErrOutputSchema
	retried := model.Backoff{Attempts: 3, Sleep: func(context.Context, time.Duration) error { return nil }}
	for name, c := range map[string]struct {
		models []model.Model
		tokens int64
		cost   float64
	}{
		"one, as asked":              {[]model.Model{tolled(5, 0, nil)}, 5, 5},
		"one, at its own":            {[]model.Model{tolled(5, 10, nil)}, 5, 50},
		"the asked one failed":       {[]model.Model{tolled(3, 0, down), tolled(5, 10, nil)}, 8, 53},
		"one at its own failed":      {[]model.Model{tolled(3, 7, down), tolled(5, 0, nil)}, 8, 26},
		"all as asked":               {[]model.Model{tolled(3, 0, down), tolled(5, 0, nil)}, 8, 8},
		"three prices":               {[]model.Model{tolled(1, 0, down), tolled(2, 10, down), tolled(3, 100, nil)}, 6, 321},
		"all fail":                   {[]model.Model{tolled(1, 0, down), tolled(2, 10, down), tolled(3, 100, down)}, 6, 321},
		"all fail, as asked":         {[]model.Model{tolled(1, 0, down), tolled(2, 0, down)}, 3, 3},
		"one alone fails":            {[]model.Model{tolled(2, 10, down)}, 2, 20},
		"a schema is refused":        {[]model.Model{tolled(1, 0, down), tolled(2, 10, refused), tolled(3, 100, nil)}, 3, 21},
		"a chain in a chain":         {[]model.Model{model.Fallback(tolled(1, 0, down), tolled(2, 10, down)), tolled(3, 100, nil)}, 6, 321},
		"a chain in a chain answers": {[]model.Model{tolled(1, 0, down), model.Fallback(tolled(2, 10, down), tolled(3, 100, nil))}, 6, 321},
	} {
		for _, m := range []model.Model{model.Fallback(c.models...), once{model.Fallback(c.models...), retried}} {
			reply, err := m.Generate(t.Context(), modeltest.Hello(), nil)
			var tokens int64
			var cost float64
			if failed, ok := errors.AsType[*model.Error](err); ok {
				tokens, cost = failed.Usage.TotalTokens, failed.Cost(asked)
				if _, again := m.(once); again {
					tokens, cost = tokens/3, cost/3 // each attempt costs the same
				}
			} else if err == nil {
				tokens, cost = reply.Spent().TotalTokens, reply.Cost(asked)
			}
			if tokens != c.tokens || cost != c.cost {
				t.Errorf("%s, %T: %d tokens for %v, want %d for %v (%v)", name, m, tokens, cost, c.tokens, c.cost, err)
			}
		}
	}
}

// once is a model that is asked again.
type once struct {
	model.Model
	model.Backoff
}

func (o once) Generate(ctx context.Context, req *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
	return o.Do(ctx, sink, func(ctx context.Context) (*model.Reply, error) { return o.Model.Generate(ctx, req, sink) })
}

// What came before a reply is kept with it, and what the models gave is not changed.
func TestTheBillOfARetriedReply(t *testing.T) {
	p := &model.Prices{Input: 2e6}
	given := &model.Reply{Usage: model.Usage{PromptTokens: 4}, Prices: p}
	next := 0
	b := model.Backoff{Sleep: func(context.Context, time.Duration) error { return nil }}
	reply, err := b.Do(t.Context(), nil, func(context.Context) (*model.Reply, error) {
		if next++; next == 1 {
			u := model.Usage{PromptTokens: 3}
			return nil, &model.Error{Kind: model.Stream, Retryable: true, Usage: u, Bill: []model.Priced{{Usage: u, Prices: &model.Prices{Input: 10e6}}}}
		}
		return given, nil
	})
	if err != nil || reply.Cost(model.Prices{}) != 38 || reply.Spent().PromptTokens != 7 {
		t.Errorf("%+v costs %v, %v", reply, reply.Cost(model.Prices{}), err)
	}
	if d := cmp.Diff(&model.Reply{Usage: model.Usage{PromptTokens: 4}, Prices: p}, given); d != "" {
		t.Error(d)
	}
}

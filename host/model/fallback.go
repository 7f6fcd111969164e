package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/wagent-dev/wagent/host/visible"
)

// Bounds of what is said about the models of a fallback, in bytes.
const (
	maxModelName = 128
	maxGaveUp    = 600 // of one model's error
)

// Identified is implemented by models that say which they are. [Fallback] names
// them in what it tells, and passes over one that is too small for a conversation.
type Identified interface {
	// Identity returns the name at the provider, and how many tokens the model
	// takes; 0: that is not known.
	Identity() (name string, window int64)
}

// Fallback returns a model that asks models in order: the next one when the one
// before has given up, which it does after retries of its own. Every call begins
// with the first again. Without models it refuses every call.
//
// All kinds of [*Error] lead on, since each may hold for one model alone: it is
// down, its key is wrong, its name is not known there, it refuses an image or the
// topic, its stream breaks off. A conversation that was too long for one is given
// only to those with a larger window, or one that is not known. An error of
// another type is no model's word and is returned at once, and so is the error of
// ctx, as [Backoff.Do] returns it: nobody waits for an answer any more.
//
// That a model does not take Request.Output ([ErrOutputSchema]) is returned at once as
// well: all of them are to be asked in another way.
//
// Before each next model sink is given a chunk with Retry: what was shown is void.
// The reply of a later model has a warning that says why it answered. When all
// have given up, the error has the kind of the first one's, which the next call
// begins with, and names each; the errors themselves are behind it.
func Fallback(models ...Model) Model {
	return &fallback{slices.Clone(models)}
}

type fallback struct{ models []Model }

// Identity is that of the first model, and the window of the largest; 0 where one
// is not known.
func (f *fallback) Identity() (name string, window int64) {
	for i := range f.models {
		n, w := f.identity(i)
		if i == 0 {
			name, window = n, w
		} else if w == 0 || window == 0 {
			window = 0
		} else {
			window = max(window, w)
		}
	}
	return name, window
}

// TakesOutputSchemas implements [OutputSchemas]: it is so when all models do.
func (f *fallback) TakesOutputSchemas() bool {
	return len(f.models) > 0 && !slices.ContainsFunc(f.models, func(m Model) bool {
		s, ok := m.(OutputSchemas)
		return !ok || !s.TakesOutputSchemas()
	})
}

func (f *fallback) identity(i int) (name string, window int64) {
	if m, ok := f.models[i].(Identified); ok {
		name, window = m.Identity()
	}
	if name == "" {
		name = "model " + strconv.Itoa(i+1)
	}
	return visible.Line(name, maxModelName), window
}

// Generate implements [Model].
func (f *fallback) Generate(ctx context.Context, req *Request, sink func(Chunk)) (*Reply, error) {
	var past gaveUp
	for i, m := range f.models {
		name, window := f.identity(i)
		if past.tooLong(window) {
			past.note(name, fmt.Sprintf("not asked: its window of %d tokens is too small as well", window))
			continue
		}
		if !past.hand(ctx, name, sink) {
			return nil, brokenOff(ctx.Err(), past.spent, past.bill)
		}
		own := *req
		own.Memo = req.Memo.of(i)
		reply, err := m.Generate(ctx, &own, sink)
		if err == nil && reply != nil {
			return past.answered(name, reply), nil
		}
		if ctx.Err() != nil {
			if broken, ok := errors.AsType[*Error](err); ok && broken != nil {
				past.pay(broken)
			}
			return nil, brokenOff(ctx.Err(), past.spent, past.bill)
		}
		var failed *Error
		if err == nil {
			failed = &Error{Kind: Stream, Message: "neither a reply nor an error"}
		} else if !errors.As(err, &failed) || failed == nil {
			return nil, err
		}
		if errors.Is(err, ErrOutputSchema) {
			all := *failed
			past.pay(failed)
			all.Usage, all.Bill = past.spent, past.bills()
			return nil, &all
		}
		past.add(name, window, failed)
	}
	return nil, past.err()
}

// gaveUp is what came of the models that were asked before.
type gaveUp struct {
	errs  []*Error
	said  []string
	least int64 // a window up to this is too small; 0: none is known to be
	spent Usage
	bill  []Priced // what spent is made of
}

func (g *gaveUp) pay(e *Error) {
	g.spent = g.spent.Add(e.Usage)
	g.bill = append(g.bill, billOf(e.Usage, e.Bill, nil)...)
}

// bills is what is told of the bill; nil: the sum tells all.
func (g *gaveUp) bills() []Priced {
	if !apart(g.bill) {
		return nil
	}
	return g.bill
}

// tooLong says that the conversation does not fit into window.
func (g *gaveUp) tooLong(window int64) bool { return window > 0 && window <= g.least }

func (g *gaveUp) note(name, what string) { g.said = append(g.said, name+": "+what) }

func (g *gaveUp) add(name string, window int64, e *Error) {
	g.errs = append(g.errs, e)
	g.note(name, visible.Line(strings.TrimPrefix(e.Error(), "model: "), maxGaveUp))
	g.pay(e)
	if e.Kind == ContextOverflow {
		if e.Limit > 0 {
			window = e.Limit
		}
		g.least = max(g.least, window)
	}
}

// hand tells sink that the model with this name is asked next, unless it is the
// first. False: ctx has ended.
func (g *gaveUp) hand(ctx context.Context, name string, sink func(Chunk)) bool {
	if ctx.Err() != nil {
		return false
	}
	if n := len(g.errs); n > 0 && sink != nil {
		e := g.errs[n-1]
		sink(Chunk{Retry: &Retry{Attempt: max(e.Attempts, 1), Err: e, Next: name}})
	}
	return ctx.Err() == nil
}

// answered is the reply of the model with this name, with why it is that one's and
// what the others cost.
func (g *gaveUp) answered(name string, reply *Reply) *Reply {
	if len(g.errs) == 0 {
		return reply
	}
	r := *reply
	why := fmt.Sprintf("%s answered, since others gave up: %s", name, strings.Join(g.said, "; "))
	r.Warnings = append([]string{why}, r.Warnings...)
	if g.spent == (Usage{}) {
		return &r
	}
	r.Retried = r.Retried.Add(g.spent)
	if own := billOf(reply.Spent(), reply.Bill, reply.Prices); apart(g.bill) || apart(own) {
		r.Bill = slices.Concat(g.bill, own)
	}
	return &r
}

// err is the error of all.
func (g *gaveUp) err() error {
	switch len(g.errs) {
	case 0:
		return &Error{Kind: Rejected, Message: "there is no model to ask"}
	case 1:
		if len(g.said) == 1 {
			return g.errs[0]
		}
	}
	all := &Error{
		Kind: g.errs[0].Kind, Usage: g.spent, Bill: g.bills(), Message: "every model gave up: " + strings.Join(g.said, "; "),
	}
	causes := make([]error, len(g.errs))
	for i, e := range g.errs {
		causes[i] = e
		if e.Partial != "" {
			all.Partial = e.Partial // the last one's is what was shown last
		}
		if e.Kind == all.Kind {
			all.Limit = max(all.Limit, e.Limit)
		}
		all.Retryable = all.Retryable || e.Retryable
	}
	all.Err = errors.Join(causes...)
	return all
}

package model_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/modeltest"
)

// named is a scripted model that says who it is.
type named struct {
	*modeltest.Script
	name   string
	window int64
}

func (n named) Identity() (string, int64) { return n.name, n.window }

func one(name string, turns ...modeltest.Turn) named { return named{modeltest.New(turns...), name, 0} }

func gives(kind model.ErrorKind, message string) modeltest.Turn {
	return modeltest.Fail(&model.Error{Kind: kind, Message: message})
}

func TestFallbackIsAModel(t *testing.T) {
	modeltest.Run(t, func(_ testing.TB, turns ...modeltest.Turn) model.Model {
		return model.Fallback(modeltest.New(turns...))
	})
	modeltest.Run(t, func(_ testing.TB, turns ...modeltest.Turn) model.Model {
		down := modeltest.NewFunc(func(int, *model.Request) modeltest.Turn { return gives(model.Rejected, "down") })
		return model.Fallback(down, modeltest.New(turns...))
	})
}

func TestFallbackAsksTheNextAfterEachKindOfError(t *testing.T) {
	for _, kind := range []model.ErrorKind{model.Unreachable, model.Auth, model.Rejected, model.Stream, model.ContextOverflow} {
		a, b := one("a", gives(kind, "no"), modeltest.Text("a again")), one("b", modeltest.Text("from b"))
		f := model.Fallback(a, b)
		var got []model.Chunk
		reply, err := f.Generate(t.Context(), modeltest.Hello(), func(c model.Chunk) { got = append(got, c) })
		if err != nil || reply.Message.Text() != "from b" {
			t.Fatalf("%s: reply %+v, error %v", kind, reply, err)
		}
		retry := got[0].Retry
		if retry == nil || retry.Next != "b" || retry.Attempt != 1 || retry.Err.Error() != "model: no" {
			t.Errorf("%s: first chunk %+v", kind, got[0])
		}
		if want := []string{"b answered, since others gave up: a: no"}; !slices.Equal(reply.Warnings, want) {
			t.Errorf("%s: warnings %q", kind, reply.Warnings)
		}
		// The next call begins with the first again.
		reply, err = f.Generate(t.Context(), modeltest.Hello(), nil)
		if err != nil || reply.Message.Text() != "a again" || len(reply.Warnings) != 0 || b.Count() != 1 {
			t.Errorf("%s: the second call: %+v, %v", kind, reply, err)
		}
	}
}

func TestFallbackVoidsWhatABrokenStreamShowed(t *testing.T) {
	a, b := one("a", modeltest.Break("half of it")), one("b", modeltest.Text("all of it"))
	var shown strings.Builder
	reply, err := model.Fallback(a, b).Generate(t.Context(), modeltest.Hello(), func(c model.Chunk) {
		if c.Retry != nil {
			shown.Reset()
		}
		shown.WriteString(c.Text)
	})
	if err != nil || reply.Message.Text() != "all of it" || shown.String() != "all of it" {
		t.Errorf("reply %+v, shown %q, error %v", reply, shown.String(), err)
	}
}

func TestFallbackGivesALongConversationToLargerModelsOnly(t *testing.T) {
	overflow := &model.Error{Kind: model.ContextOverflow, Message: "too long", Limit: 8000}
	small, same, large, unknown := one("small", modeltest.Fail(overflow)), one("same"), one("large", modeltest.Fail(overflow)), one("unknown", modeltest.Text("fits"))
	small.window, same.window, large.window = 4000, 8000, 8001 // the provider's own word counts
	reply, err := model.Fallback(small, same, large, unknown).Generate(t.Context(), modeltest.Hello(), nil)
	if err != nil || reply.Message.Text() != "fits" || same.Count() != 0 || large.Count() != 1 {
		t.Errorf("reply %+v, error %v, asked %d and %d", reply, err, same.Count(), large.Count())
	}
	overflow.Limit = 0
	small, same = one("small", modeltest.Fail(overflow)), one("same")
	small.window, same.window = 4000, 4000
	_, err = model.Fallback(small, same).Generate(t.Context(), modeltest.Hello(), nil)
	want := "model: every model gave up: small: too long; same: not asked: its window of 4000 tokens is too small as well"
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
}

func TestFallbackTellsTheErrorOfEachModel(t *testing.T) {
	a := one("a", modeltest.Fail(&model.Error{Kind: model.Unreachable, Status: 503, Message: "busy", Attempts: 4, Usage: model.Usage{TotalTokens: 3}}))
	b := one("evil\x1b[2J", modeltest.Fail(&model.Error{Kind: model.Auth, Status: 401, Message: "bad key", Partial: "so far", Usage: model.Usage{TotalTokens: 4}}))
	_, err := model.Fallback(a, b).Generate(t.Context(), modeltest.Hello(), nil)
	var failed *model.Error
	if !errors.As(err, &failed) {
		t.Fatalf("error %v", err)
	}
	want := `model: every model gave up: a: HTTP 503: busy, after 4 attempts; evil\u{1b}[2J: HTTP 401: bad key`
	if failed.Error() != want {
		t.Errorf("error %q\nwant  %q", failed.Error(), want)
	}
	if failed.Kind != model.Unreachable || failed.Partial != "so far" || failed.Usage.TotalTokens != 7 {
		t.Errorf("error %+v", failed)
	}
	// One alone keeps its own error, and none refuses.
	_, err = model.Fallback(one("a", gives(model.Auth, "bad key"))).Generate(t.Context(), modeltest.Hello(), nil)
	if err == nil || err.Error() != "model: bad key" {
		t.Errorf("one model: %v", err)
	}
	if _, err = model.Fallback().Generate(t.Context(), modeltest.Hello(), nil); !errors.As(err, &failed) || failed.Kind != model.Rejected {
		t.Errorf("no model: %v", err)
	}
}

func TestFallbackCountsWhatTheOthersCost(t *testing.T) {
	failed := &model.Error{Kind: model.Stream, Message: "cut", Usage: model.Usage{PromptTokens: 7, CompletionTokens: 1, TotalTokens: 8}}
	turn := modeltest.Text("ok")
	reply, err := model.Fallback(one("a", modeltest.Fail(failed)), one("b", turn)).Generate(t.Context(), modeltest.Hello(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(failed.Usage, reply.Retried); diff != "" || reply.Usage.TotalTokens != 15 {
		t.Errorf("retried: %s, usage %+v", diff, reply.Usage)
	}
}

func TestFallbackStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := one("b", modeltest.Text("never"))
	a := modeltest.NewFunc(func(int, *model.Request) modeltest.Turn {
		cancel()
		return gives(model.Unreachable, "reset")
	})
	if _, err := model.Fallback(a, b).Generate(ctx, modeltest.Hello(), nil); !errors.Is(err, context.Canceled) || b.Count() != 0 {
		t.Errorf("error %v, b was asked %d times", err, b.Count())
	}
	// What sink does ends it as well.
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	_, err := model.Fallback(one("a", gives(model.Auth, "no")), b).Generate(ctx, modeltest.Hello(), func(c model.Chunk) { cancel() })
	if !errors.Is(err, context.Canceled) || b.Count() != 0 {
		t.Errorf("error %v, b was asked %d times", err, b.Count())
	}
}

func TestFallbackReturnsWhatNoModelSaid(t *testing.T) {
	broken := errors.New("disk full")
	b := one("b", modeltest.Text("never"))
	if _, err := model.Fallback(one("a", modeltest.Fail(broken)), b).Generate(t.Context(), modeltest.Hello(), nil); !errors.Is(err, broken) || b.Count() != 0 {
		t.Errorf("error %v", err)
	}
	var none *model.Error
	if _, err := model.Fallback(one("a", modeltest.Fail(none)), b).Generate(t.Context(), modeltest.Hello(), nil); err == nil || b.Count() != 0 {
		t.Errorf("error %v", err)
	}
}

func TestFallbackKeepsTheEncodedMessagesOfEachModelApart(t *testing.T) {
	seen := map[*model.Memo]int{}
	spy := func(fail bool) model.Model {
		return generateFunc(func(_ context.Context, req *model.Request, _ func(model.Chunk)) (*model.Reply, error) {
			seen[req.Memo]++
			if fail {
				return nil, &model.Error{Kind: model.Auth}
			}
			return &model.Reply{}, nil
		})
	}
	f := model.Fallback(model.Fallback(spy(true), spy(true)), spy(false))
	req := modeltest.Hello()
	req.Memo = new(model.Memo)
	for range 2 {
		if _, err := f.Generate(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) != 3 {
		t.Errorf("three models had %d memos", len(seen))
	}
	for _, n := range seen {
		if n != 2 {
			t.Errorf("a memo was used %d times, want 2", n)
		}
	}
}

type generateFunc func(context.Context, *model.Request, func(model.Chunk)) (*model.Reply, error)

func (f generateFunc) Generate(ctx context.Context, req *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
	return f(ctx, req, sink)
}

// schemas is a model that says whether it takes the schema of an output.
type schemas struct {
	named
	takes bool
}

func (s schemas) TakesOutputSchemas() bool { return s.takes }

// An output's schema that one does not take is none for all, and no reason to ask the
// next for what it would refuse as well.
func TestFallbackPassesOnThatASchemaIsRefused(t *testing.T) {
	a := one("a", modeltest.Fail(&model.Error{Kind: model.Stream, Message: "no", Usage: model.Usage{TotalTokens: 3}}))
	b := one("b", modeltest.Fail(&model.Error{Kind: model.Rejected, Message: "no", Err: model.ErrOutputSchema, Usage: model.Usage{TotalTokens: 4}}))
	c := one("c", modeltest.Text("no"))
	_, err := model.Fallback(a, b, c).Generate(t.Context(), modeltest.Hello(), nil)
	failed, ok := errors.AsType[*model.Error](err)
	if !ok || !errors.Is(err, model.ErrOutputSchema) || failed.Usage.TotalTokens != 7 || c.Count() != 0 {
		t.Errorf("%v, c was asked %d times", err, c.Count())
	}
	for _, k := range []struct {
		models []model.Model
		want   bool
	}{
		{nil, false},
		{[]model.Model{a}, false},
		{[]model.Model{schemas{a, true}}, true},
		{[]model.Model{schemas{a, true}, schemas{b, true}}, true},
		{[]model.Model{schemas{a, true}, schemas{b, false}}, false},
		{[]model.Model{schemas{a, true}, b}, false},
	} {
		if got := model.Fallback(k.models...).(model.OutputSchemas).TakesOutputSchemas(); got != k.want {
			t.Errorf("%d models: %v", len(k.models), got)
		}
	}
}

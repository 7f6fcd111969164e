package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// streams returns a model that shows chunks before it gives the first reply.
func streams(chunks []model.Chunk, replies ...*model.Reply) model.Model {
	rest := says(replies...)
	first := true
	return modelFunc(func(ctx context.Context, req *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
		if first {
			first = false
			for _, c := range chunks {
				sink(c)
			}
		}
		return rest.Generate(ctx, req, sink)
	})
}

func piece(index int, name, args string) model.Chunk {
	return model.Chunk{Call: &model.CallChunk{Index: index, Name: name, Arguments: args}}
}

func bodies[T run.Body](events []run.Event) []T {
	var out []T
	for _, e := range events {
		if b, ok := e.Body.(T); ok {
			out = append(out, b)
		}
	}
	return out
}

func TestCallsAreShownAsTheyArrive(t *testing.T) {
	m := streams([]model.Chunk{
		{Text: "I will look."}, piece(0, "a", ""), piece(0, "a", `{"x"`), piece(1, "b", ""), piece(0, "a", `:1}`), piece(1, "b", "{}"), piece(1, "b", ""),
	}, calls(`a {"x":1}`, "b"), text("done"))
	events, got := finish(t, t.Context(), newAgent(t, m, nil))
	want := []run.CallDelta{
		{Index: 0, Name: "a"},
		{Index: 0, Arguments: `{"x"`},
		{Index: 1, Name: "b"},
		{Index: 0, Arguments: ":1}"},
		{Index: 1, Arguments: "{}"},
	}
	if d := cmp.Diff(want, bodies[run.CallDelta](events)); d != "" {
		t.Error(d)
	}
	// The text before a call is no answer: that is decided when the reply is whole.
	if got.Output != "done" || len(got.Steps) != 2 || got.StepCount != 2 {
		t.Errorf("result %+v", got)
	}
	at := func(kind string) int { return slices.Index(types(t, events), kind) }
	if at("tool_call_delta") < at("text_delta") || at("tool_call_delta") > at("model_finished") || at("actions") < at("model_finished") {
		t.Errorf("order %v", types(t, events))
	}
}

func TestWhatACallShowedIsVoidAfterARetry(t *testing.T) {
	m := streams([]model.Chunk{
		piece(0, "a", `{"half"`), {Retry: &model.Retry{Attempt: 1, Err: &model.Error{Message: "cut"}, Next: "another"}}, piece(0, "a", "{}"),
	}, calls("a"), text("done"))
	events, _ := finish(t, t.Context(), newAgent(t, m, nil))
	if d := cmp.Diff([]run.CallDelta{{Name: "a", Arguments: `{"half"`}, {Name: "a", Arguments: "{}"}}, bodies[run.CallDelta](events)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]run.Retried{{Attempt: 1, Error: "model: cut", Model: "another"}}, bodies[run.Retried](events)); d != "" {
		t.Error(d)
	}
}

func TestAModelCannotFloodWithPiecesOfCalls(t *testing.T) {
	for name, flood := range map[string]func(n int) model.Chunk{
		"bytes of one call":   func(int) model.Chunk { return piece(0, "a", "x") },
		"calls in turns":      func(n int) model.Chunk { return piece(n%2, "a", "x") },
		"always another":      func(n int) model.Chunk { return piece(n, "a", "") },
		"always another name": func(n int) model.Chunk { return piece(0, fmt.Sprint("a", n), "") },
		"large pieces":        func(int) model.Chunk { return piece(0, "a", strings.Repeat("x", 9000)) },
		"a large name":        func(int) model.Chunk { return piece(0, strings.Repeat("x", 1<<20), "") },
		"nothing at all":      func(int) model.Chunk { return piece(0, "", "") },
	} {
		t.Run(name, func(t *testing.T) {
			var chunks []model.Chunk
			sent := 0
			for n := range 400_000 {
				chunks = append(chunks, flood(n))
				if sent += len(chunks[n].Call.Name) + len(chunks[n].Call.Arguments); sent > 2<<20 {
					break
				}
			}
			events, _ := finish(t, t.Context(), newAgent(t, streams(chunks, calls("a"), text("done")), nil))
			got := bodies[run.CallDelta](events)
			bytes := 0
			for _, c := range got {
				bytes += len(c.Name) + len(c.Arguments)
			}
			if len(got) > 2048 || bytes > 256<<10 {
				t.Errorf("%d events with %d bytes", len(got), bytes)
			}
			if name != "nothing at all" && (len(got) == 0 || !got[len(got)-1].Cut) {
				t.Error("nobody is told that more came")
			}
			for _, c := range got[:max(len(got)-1, 0)] {
				if c.Cut {
					t.Error("something is shown after the last piece")
				}
			}
		})
	}
}

func TestPiecesThatAreKeptAreShownWithTheReply(t *testing.T) {
	var chunks []model.Chunk
	want := ""
	for n := range 1500 {
		p := fmt.Sprint(n, " ")
		want += p
		chunks = append(chunks, piece(0, "a", p))
	}
	chunks = append(chunks, piece(1, "b", ""))
	events, _ := finish(t, t.Context(), newAgent(t, streams(chunks, calls("a", "b"), text("done")), nil))
	got := bodies[run.CallDelta](events)
	shown, last := "", got[len(got)-1]
	for _, c := range got {
		shown += c.Arguments
	}
	if shown != want || last.Index != 1 || last.Name != "b" || len(got) > 300 {
		t.Errorf("%d events, last %+v, %d bytes of %d", len(got), last, len(shown), len(want))
	}
}

func TestCallsThatAreNeverMadeAreNotShown(t *testing.T) {
	chunks := []model.Chunk{piece(0, "a", "{}")}
	for name, edit := range map[string]func(*agent.Agent){
		"no tools":       func(a *agent.Agent) { a.Tools = nil },
		"a text planner": func(a *agent.Agent) { a.Planner = planner.JSON{} },
	} {
		t.Run(name, func(t *testing.T) {
			events, _ := finish(t, t.Context(), newAgent(t, streams(chunks, text(`{"final_answer":"x"}`)), edit))
			if got := bodies[run.CallDelta](events); len(got) != 0 {
				t.Errorf("shown: %+v", got)
			}
		})
	}
}

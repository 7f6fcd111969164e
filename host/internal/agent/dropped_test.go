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

// repliesOf are the replies among events.
func repliesOf(events []run.Event) []run.Replied {
	var out []run.Replied
	for _, e := range events {
		if r, ok := e.Body.(run.Replied); ok {
			out = append(out, r)
		}
	}
	return out
}

func TestTheToolsOfDroppedCallsAreTold(t *testing.T) {
	cut := calls("b", "a", "b", "e\x1b[2J\nf")
	cut.Message.ToolCalls[1].Name = ""
	cut.Finish, cut.DroppedCalls, cut.DroppedNames = model.FinishLength, 1, []string{"lost"}
	events, got := finish(t, t.Context(), newAgent(t, says(cut), nil))
	r := repliesOf(events)[0]
	if diff := cmp.Diff([]string{"lost", "b", "(no name)", `e\u{1b}[2J\u{a}f`}, r.DroppedTools); diff != "" || r.Dropped != 5 || got.ExitReason != run.ExitLength {
		t.Errorf("%d dropped, %s", r.Dropped, diff)
	}
	if diff := cmp.Diff([]string{"lost"}, cut.DroppedNames); diff != "" {
		t.Error("the model's own list was changed")
	}
	// Of a last answer, and not more of them than anybody reads.
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprint("t", i, strings.Repeat("x", 1000)))
	}
	events, _ = finish(t, t.Context(), newAgent(t, says(calls("a"), calls(many...)), func(a *agent.Agent) { a.MaxSteps, a.Generate = 1, true }))
	last := repliesOf(events)[1]
	if last.Dropped != 100 || len(last.DroppedTools) != 33 || last.DroppedTools[32] != "…" || len(last.DroppedTools[0]) > 128 {
		t.Errorf("%d dropped, told %q", last.Dropped, last.DroppedTools)
	}
}

// A call that was under way when the run ended is named, and one that was made is not.
func TestTheToolsOfAReplyThatBrokeOffAreTold(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	asked := 0
	m := modelFunc(func(ctx context.Context, _ *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
		sink(model.Chunk{Call: &model.CallChunk{Name: "a", Arguments: `{}`}})
		if asked++; asked == 1 {
			return calls("a"), nil
		}
		sink(model.Chunk{Call: &model.CallChunk{Index: 1, Name: "b\x07"}})
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	events, got := finish(t, ctx, newAgent(t, m, nil))
	end, _ := events[len(events)-1].Body.(run.Finished)
	if diff := cmp.Diff([]string{"a", `b\u{7}`}, end.DroppedTools); diff != "" || got.ExitReason != run.ExitInterrupted {
		t.Errorf("%s: %s", got.ExitReason, diff)
	}
	// Interrupted in a call, no reply is under way.
	ctx, cancel = context.WithCancel(t.Context())
	asked = 0
	events, _ = finish(t, ctx, newAgent(t, m, func(a *agent.Agent) {
		a.Box = boxFunc(func(context.Context, agent.Call) agent.Result {
			cancel()
			return agent.Result{Kind: run.KindCancelled, Content: model.TextParts("cancelled")}
		})
	}))
	if end, ok := events[len(events)-1].Body.(run.Finished); !ok || len(end.DroppedTools) != 0 {
		t.Errorf("ended by %+v", events[len(events)-1].Body)
	}
}

// What is mended of a history is told with the tools that it is about.
func TestARepairNamesTheTools(t *testing.T) {
	given := []model.Message{
		model.Text(model.User, "go"),
		{Role: model.Tool, CallID: "x", Name: "orphan\x1b[2J", Content: model.TextParts("1")},
		{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "1", Name: "left", Arguments: []byte("{}")}, {ID: "2", Arguments: []byte("{}")}}},
		model.Text(model.User, "and now?"),
	}
	_, _, log := asks(t, planner.Tools{}, slices.Clip(given))
	for _, want := range []string{"results_missing=2", "results_without_call=1", `orphan\\u{1b}[2J left (no name)`} {
		if !strings.Contains(log, want) {
			t.Errorf("no %s in %s", want, log)
		}
	}
}

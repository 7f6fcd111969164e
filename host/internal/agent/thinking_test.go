package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// inPieces is a model that says its texts in pieces of so many bytes; 0: it shows none.
func inPieces(size int, replies ...*model.Reply) model.Model {
	next := says(replies...)
	return modelFunc(func(ctx context.Context, req *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
		r, err := next.Generate(ctx, req, sink)
		if err != nil || size == 0 {
			return r, err
		}
		for s := r.Message.Text(); s != ""; {
			n := min(size, len(s))
			sink(model.Chunk{Text: s[:n]})
			s = s[n:]
		}
		return r, nil
	})
}

// What a model thinks is no part of its answer, whether or not it streams: in a step, in
// an answer, and in one that is asked for at a limit. The stored events are the same.
func TestThinkingIsNoPartOfAnAnswer(t *testing.T) {
	step := calls("a")
	step.Message.Content = model.TextParts("<think>\nI need a.\n</think>\nI look.")
	silent := calls("a")
	silent.Message.Content = model.TextParts("<think>\nI need a.\n</think>\n\n")
	about := "Write <think> first, then </think>\nand the answer."
	for name, c := range map[string]struct {
		replies   []*model.Reply
		edit      func(*agent.Agent)
		output    string
		reasoning []string // of the assistant's messages
	}{
		"an answer":     {[]*model.Reply{text("<think>\nhm\n</think>\n\n42")}, nil, "42", []string{"hm"}},
		"a step":        {[]*model.Reply{step, silent, text("42")}, nil, "42", []string{"I need a.", "I need a.", ""}},
		"at a limit":    {[]*model.Reply{calls("a"), text("<think>hm</think>\n42")}, func(a *agent.Agent) { a.MaxSteps, a.Generate = 1, true }, "42", []string{"", "hm"}},
		"thinking only": {[]*model.Reply{text("<think>\nhm\n</think>\n"), text("42")}, nil, "42", []string{""}},
		"about it":      {[]*model.Reply{text(about)}, nil, about, []string{""}},
		"without end":   {[]*model.Reply{text("<think>\n42")}, nil, "<think>\n42", []string{""}},
		"in code":       {[]*model.Reply{text("```\n<think>\nhm\n</think>\n```")}, nil, "```\n<think>\nhm\n</think>\n```", []string{""}},
		"a value":       {[]*model.Reply{text("<think>\n{\"n\":1}\n</think>\n{\"n\":2}")}, asking(t, agent.ByPrompt), `{"n":2}`, []string{"{\"n\":1}"}},
	} {
		var first string
		for _, size := range []int{0, 1, 3, 1000} {
			before := asJSON(t, c.replies)
			events, got := finish(t, t.Context(), newAgent(t, inPieces(size, c.replies...), func(a *agent.Agent) {
				a.Now = func() time.Time { return time.Unix(0, 0).UTC() }
				if c.edit != nil {
					c.edit(a)
				}
			}))
			if got.Output != c.output || asJSON(t, c.replies) != before {
				t.Errorf("%s, %d: output is %q", name, size, got.Output)
			}
			var reasoning []string
			for _, m := range got.Messages {
				if m.Role == model.Assistant {
					reasoning = append(reasoning, m.Reasoning)
				}
			}
			if d := cmp.Diff(c.reasoning, reasoning); d != "" {
				t.Errorf("%s, %d: %s", name, size, d)
			}
			raw, err := json.Marshal(stored(events))
			if err != nil {
				t.Fatal(err)
			}
			if first == "" {
				first = string(raw)
			}
			if d := cmp.Diff(first, string(raw)); d != "" {
				t.Errorf("%s, %d: what is stored differs: %s", name, size, d)
			}
			if said := shownText(events); name != "a step" && name != "a value" && said != c.output {
				t.Errorf("%s, %d: shown is %q", name, size, said)
			}
		}
	}
}

func shownText(events []run.Event) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString(e.Text())
	}
	return b.String()
}

// Thinking arrives as such, piece by piece, and an attempt that is made again thinks anew.
func TestThinkingIsShownAsItArrives(t *testing.T) {
	m := modelFunc(func(_ context.Context, _ *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
		for _, s := range []string{"<th", "ink>\nfirst ", "</thi"} {
			sink(model.Chunk{Text: s})
		}
		sink(model.Chunk{Retry: &model.Retry{Attempt: 1, Err: &model.Error{Kind: model.Stream}}})
		for _, s := range []string{"<think>\nI ", "add", "</th", "ink>", "\n\n4", "2"} {
			sink(model.Chunk{Text: s})
		}
		r := text("<think>\nI add</think>\n\n42")
		r.Message.Reasoning = "apart"
		return r, nil
	})
	events, got := finish(t, t.Context(), newAgent(t, m, nil))
	var shown []string
	for _, e := range events {
		switch b := e.Body.(type) {
		case run.Delta:
			shown = append(shown, fmt.Sprintf("%s|%s", b.Reasoning, b.Text))
		case run.Retried:
			shown = append(shown, "again")
		}
	}
	if d := cmp.Diff([]string{"\nfirst |", "again", "\nI |", "add|", "|4", "|2"}, shown); d != "" {
		t.Error(d)
	}
	if m := got.LastMessage; m.Text() != "42" || m.Reasoning != "apart\nI add" {
		t.Errorf("%+v", m)
	}
}

// What a planner of text reads is left to it: its record has the model's own words.
func TestAPlannerOfTextReadsThinkingItself(t *testing.T) {
	const said = "<think>\nFinal Answer: 1\n</think>\nFinal Answer: 42"
	_, got := finish(t, t.Context(), newAgent(t, inPieces(2, text(said)), func(a *agent.Agent) { a.Planner = planner.React{} }))
	if got.Output != "42" || got.LastMessage.Text() != said {
		t.Errorf("%q, %+v", got.Output, got.LastMessage)
	}
}

// What is left of a reply that broke off is what it had said, and not what it had thought.
func TestAReplyThatBreaksOffLeavesItsAnswer(t *testing.T) {
	for partial, want := range map[string]string{"<think>\nhm\n</think>\n\n4": "4", "4": "4", "<think>\nhm": "<think>\nhm"} {
		m := modelFunc(func(_ context.Context, _ *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
			sink(model.Chunk{Text: partial})
			return nil, &model.Error{Kind: model.Stream, Message: "cut", Partial: partial}
		})
		_, got := finish(t, t.Context(), newAgent(t, m, nil))
		if got.Error == nil || got.Error.Partial != want {
			t.Errorf("%q: %+v", partial, got.Error)
		}
	}
}

package planner

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wagent-dev/wagent/host/model"
)

// pieces are what replies and the texts of tools are drawn from.
var pieces = []string{
	"Thought:", "Action:", "Action 1:", "Action Input:", "Action 1 Input 2 :", "Final Answer:", "Observation:", "**Action:** ", "action:", "FINAL ANSWER:",
	"search", "write", "now", "double", "nope", "foo", " ", "\n", "\n\n", "\r\n", "\u2028", "\u0085", "\u200b", ">", "> ", "*", "**", "_", "#", "-", "1.", "`", "```", "```json\n",
	"{", "}", "[", "]", ",", ":", `"`, `\`, "{}", `{"query":"a"}`, `{"path":"a","text":"b"}`, `{"action":"search","action_input":"x"}`, `{"action":"Final Answer","action_input":"x"}`,
	`"action"`, `"action_input"`, "null", "42", "<think>", "</think>", "é", "\xff", "\x00",
}

func anyText(rt *rapid.T, label string) string {
	return strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(pieces), rapid.String()), 0, 30).Draw(rt, label), "")
}

func anyObject(rt *rapid.T, label string) json.RawMessage {
	m := rapid.MapOfN(rapid.String(), rapid.OneOf(
		rapid.Custom(func(rt *rapid.T) any { return anyText(rt, "value") }),
		rapid.Custom(func(rt *rapid.T) any { return rapid.IntRange(-9, 9).Draw(rt, "n") }),
		rapid.Just(any(nil)), rapid.Just(any([]any{"a", map[string]any{"b": true}})),
	), 0, 4).Draw(rt, label)
	raw, err := json.MarshalIndent(m, "", rapid.SampledFrom([]string{"", " "}).Draw(rt, "indent"))
	if err != nil {
		rt.Fatal(err)
	}
	return raw
}

// TestLawRenderThenPlanGivesTheSame: calls that are written are read again as
// they were, whatever their arguments and the thought before them say.
func TestLawRenderThenPlanGivesTheSame(t *testing.T) {
	anything := model.Definition{Name: "any_thing", Parameters: json.RawMessage(`{"type":"object","additionalProperties":true}`)}
	tools := append(slices.Clone(offered), anything)
	rapid.Check(t, func(rt *rapid.T) {
		m := model.Message{Role: model.Assistant, Content: model.TextParts(anyText(rt, "thought"))}
		for range rapid.IntRange(1, 4).Draw(rt, "calls") {
			c := model.ToolCall{Name: "any_thing", Arguments: anyObject(rt, "arguments")}
			if rapid.Bool().Draw(rt, "search") {
				c = model.ToolCall{Name: "search", Arguments: wrap("query", quote(anyText(rt, "query")))}
			}
			m.ToolCalls = append(m.ToolCalls, c)
		}
		for _, p := range textPlanners {
			msgs := []model.Message{user("q"), m, result("x", "1")}
			sent := p.Prompt(&Conversation{Messages: msgs, Tools: tools}).Messages[2]
			actions, _, err := p.Plan(&sent, tools)
			if err != nil {
				rt.Fatalf("%T: %v in %q", p, err, sent.Text())
			}
			if len(actions) != len(m.ToolCalls) {
				rt.Fatalf("%T: %d actions of %d in %q", p, len(actions), len(m.ToolCalls), sent.Text())
			}
			for i, a := range actions {
				if a.Tool != m.ToolCalls[i].Name || !sameJSON(rt, a.Input, m.ToolCalls[i].Arguments) {
					rt.Fatalf("%T: %s %s, want %s %s", p, a.Tool, a.Input, m.ToolCalls[i].Name, m.ToolCalls[i].Arguments)
				}
			}
		}
	})
}

func sameJSON(rt *rapid.T, a, b []byte) bool {
	var x, y any
	if err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)); err != nil {
		rt.Fatal(err)
	}
	return cmp.Equal(x, y)
}

// TestLawAnswersSurvive: an answer that is sent again is read as the same.
func TestLawAnswersSurvive(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		said := rapid.StringMatching(`[a-zA-Z .,0-9]{1,40}`).Draw(rt, "answer")
		if isBlank(said) || strings.TrimSpace(said) != said {
			return
		}
		for _, p := range textPlanners {
			sent := p.Prompt(&Conversation{Messages: []model.Message{user("q"), assistantSays(said), user("r")}, Tools: offered}).Messages[2]
			_, done, err := p.Plan(&sent, offered)
			if err != nil || done == nil || done.ReturnValues["output"] != said {
				rt.Fatalf("%T: %v %v of %q", p, done, err, sent.Text())
			}
		}
	})
}

// TestLawPlanKeepsItsPromises: for any reply there are actions, a finish or an
// error, and no two of them; inputs are what the tools take; what is in the
// record can be stored.
func TestLawPlanKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		for _, p := range textPlanners {
			promises(rt, p, anyText(rt, "reply"))
		}
	})
}

func promises(t interface{ Fatalf(string, ...any) }, p Planner, text string) {
	m := reply(text)
	actions, done, err := p.Plan(m, offered)
	n := 0
	if err != nil {
		n++
		if pe, ok := errors.AsType[*ParseError](err); !ok || pe.Problem == "" || len(pe.Problem) > maxProblem || len(pe.Raw) > maxRaw {
			t.Fatalf("%T: error %#v", p, err)
		}
	}
	if done != nil {
		n++
	}
	if len(actions) > 0 {
		n++
	}
	if n != 1 || m.Text() != text {
		t.Fatalf("%T: %v, %v, %v", p, actions, done, err)
	}
	logs := 0
	for _, a := range actions {
		logs += len(a.Log)
		def := find(offered, a.Tool)
		object := json.Valid(a.Input) && a.Input[0] == '{'
		switch {
		case a.Tool == "echo" || def == nil:
			if !json.Valid(a.Input) || (!object && a.Input[0] != '"') {
				t.Fatalf("%T: input %s of %s", p, a.Input, a.Tool)
			}
		case !object:
			t.Fatalf("%T: input %s of %s", p, a.Input, a.Tool)
		}
		if _, err := json.Marshal(a); err != nil {
			t.Fatalf("%T: %v", p, err)
		}
	}
	if logs > 8*len(text)+64 {
		t.Fatalf("%T: logs of %d bytes for %d", p, logs, len(text))
	}
	if answer, err := p.Answer(m); (answer == nil) == (err == nil) {
		t.Fatalf("%T: answer %v, error %v", p, answer, err)
	}
}

// TestLawOthersCannotForgeLabels: whatever a result says, no line of what is sent
// begins with a label that we did not write.
func TestLawOthersCannotForgeLabels(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := anyText(rt, "result")
		msgs := []model.Message{user("q"), assistantSays("Action: now\nAction Input: {}"), result("now", text)}
		for _, p := range textPlanners {
			sent := p.Prompt(&Conversation{Messages: msgs, Tools: offered}).Messages[3].Text()
			_, anyCase := p.(React)
			want := 1
			if _, ok := p.(JSON); ok {
				want = 0
			}
			n := 0
			for _, l := range findLabels(sent, anyCase && p.(React).AnyCase) {
				if l.leads {
					n++
				}
			}
			if n != want {
				rt.Fatalf("%T: %d labels in %q", p, n, sent)
			}
		}
	})
}

// TestLawPromptsAreTakenByEveryProvider: any conversation is sent in an order
// that all take, nothing is empty, and nothing of it is changed.
func TestLawPromptsAreTakenByEveryProvider(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var msgs []model.Message
		if rapid.Bool().Draw(rt, "system") {
			msgs = append(msgs, model.Text(model.System, anyText(rt, "system text")))
		}
		for range rapid.IntRange(0, 8).Draw(rt, "messages") {
			m := model.Message{Content: model.TextParts(anyText(rt, "text"))}
			m.Role = rapid.SampledFrom([]model.Role{model.User, model.Assistant, model.Tool, model.Tool}).Draw(rt, "role")
			switch {
			case m.Role == model.Tool:
				m.CallID, m.Name, m.IsError = "c", rapid.SampledFrom([]string{"now", Exception}).Draw(rt, "name"), rapid.Bool().Draw(rt, "error")
			case m.Role == model.Assistant && rapid.Bool().Draw(rt, "calls"):
				m.ToolCalls = []model.ToolCall{{Name: anyText(rt, "tool"), Arguments: anyObject(rt, "arguments")}}
			}
			if rapid.IntRange(0, 4).Draw(rt, "image") == 0 && m.Role != model.Assistant {
				m.Content = append(m.Content, model.Part{Type: model.ImagePart, URL: "data:x"})
			}
			msgs = append(msgs, m)
		}
		before, err := json.Marshal(msgs)
		if err != nil {
			rt.Fatal(err)
		}
		tools := offered[:rapid.SampledFrom([]int{0, len(offered)}).Draw(rt, "tools")]
		final := rapid.Bool().Draw(rt, "final")
		for _, p := range textPlanners {
			var cache Cache
			c := Conversation{Messages: msgs, Tools: tools, Final: final, Cache: &cache}
			once := p.Prompt(&c)
			checkOrder(laxTB{TB: t, rt: rt}, once.Messages)
			if diff := cmp.Diff(once, p.Prompt(&c)); diff != "" {
				rt.Fatalf("%T: the second time (-first +second):\n%s", p, diff)
			}
		}
		if after, err := json.Marshal(msgs); err != nil || string(after) != string(before) {
			rt.Fatalf("the conversation was changed: %v", err)
		}
	})
}

// laxTB reports to a rapid check.
type laxTB struct {
	testing.TB
	rt *rapid.T
}

func (l laxTB) Helper()                   {}
func (l laxTB) Errorf(f string, a ...any) { l.rt.Fatalf(f, a...) }

// hostile are replies of n bytes that readers with backtracking, or that look
// from each label to the end of the text, read in the square of their length.
func hostile(n int) map[string]string {
	fill := func(s string) string { return strings.Repeat(s, n/len(s)+1)[:n] }
	out := map[string]string{
		"labels with spaces":     fill("Action" + strings.Repeat(" ", 1000)),
		"label, spaces":          "Action" + fill(" "),
		"label, digits":          "Action" + fill("1"),
		"spaces":                 fill(" "),
		"stars":                  fill("*"),
		"starred labels":         fill("*Action*"),
		"one action, text":       "Action: search\nAction Input: " + fill("x"),
		"objects that fail":      fill("Action: now\nAction Input: {\"\n"),
		"open braces":            "Action: now\nAction Input: " + fill("{"),
		"open lists":             fill(`[{"a":`),
		"open members":           fill(`{"a":`),
		"backslashes":            `{"action":"` + fill(`\`),
		"open string":            `{"action":"` + fill("x"),
		"control characters":     `{"action":"` + fill("\n"),
		"fences":                 "x" + fill("```"),
		"fences with words":      "{}" + fill("```json "),
		"object, fences":         `{"action":"now"}` + fill("```x\n"),
		"two members, no end":    fill(`{"a":1,`),
		"quotes":                 "Action: search\nAction Input: " + fill(`"`),
		"line breaks":            fill("\n"),
		"quotations":             fill("> Action:\n"),
		"thinking":               fill("<think>"),
		"ends of thinking":       fill("</think>x"),
		"invalid text":           fill("\xff"),
		"names":                  "Action: " + fill("n") + "\nAction Input: {}",
		"action lines":           fill("Action:\n"),
		"input lines":            fill("Action Input:\n"),
		"answers":                fill("Final Answer:"),
		"answer lines":           fill("Final Answer:\n"),
		"observations":           fill("Observation:\n"),
		"inside lines":           "Action: a Action Input: b" + fill(" Action: a Action Input: b"),
		"many keys":              `{"action":"now","action_input":{` + fill(`"k":1,`) + `"z":1}}`,
		"object for a text tool": "Action: search\nAction Input: {\"a\":\"" + fill("x") + "\"}",
	}
	return out
}

// TestLawReadingTakesTimeInProportionToTheText: each text is far too long to be
// read in the square of its length within the time that a test has.
func TestLawReadingTakesTimeInProportionToTheText(t *testing.T) {
	for name, text := range hostile(1 << 20) {
		t.Run(name, func(t *testing.T) {
			for _, p := range []Planner{React{}, JSON{}} {
				m := reply(text)
				_, _, _ = p.Plan(m, offered)
				_, _ = p.Answer(m)
				p.Prompt(&Conversation{Messages: []model.Message{user("q"), *m, result("now", text)}, Tools: offered})
				p.Prompt(&Conversation{Messages: []model.Message{user("q"), *m, failed(Exception, text)}, Tools: offered})
			}
		})
	}
}

// BenchmarkPlan shows the same time for each byte at both lengths.
func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{64 << 10, 1 << 20} {
		for _, name := range []string{"labels with spaces", "one action, text", "action lines", "inside lines", "open members", "objects that fail", "many keys"} {
			text := hostile(n)[name]
			for _, p := range []Planner{React{}, JSON{}} {
				b.Run(fmt.Sprintf("%T/%s/%dK", p, strings.ReplaceAll(name, " ", "_"), n>>10), func(b *testing.B) {
					b.SetBytes(int64(len(text)))
					b.ReportAllocs()
					for b.Loop() {
						_, _, _ = p.Plan(reply(text), offered)
					}
				})
			}
		}
	}
}

func BenchmarkPlanOrdinary(b *testing.B) {
	for _, c := range []struct {
		p    Planner
		text string
	}{
		{React{}, "Thought: I have to look for it.\nAction: search\nAction Input: {\"query\":\"capital of France\"}"},
		{JSON{}, `{"action": "search", "action_input": {"query": "capital of France"}}`},
	} {
		b.Run(fmt.Sprintf("%T", c.p), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _, _ = c.p.Plan(reply(c.text), offered)
			}
		})
	}
}

// BenchmarkPrompt is a conversation of 100 steps with results of 4 KB, written
// before each of them.
func BenchmarkPrompt(b *testing.B) {
	text := strings.Repeat("some words of a result\n", 4096/23)
	msgs := []model.Message{user("q")}
	for range 100 {
		msgs = append(msgs, assistantSays("Thought: next\nAction: now\nAction Input: {}"), result("now", text))
	}
	for _, p := range []Planner{React{}, JSON{}} {
		b.Run(fmt.Sprintf("%T", p), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var cache Cache
				for n := 1; n <= len(msgs); n += 2 {
					p.Prompt(&Conversation{Messages: msgs[:n], Tools: offered, Cache: &cache})
				}
			}
		})
	}
}

func FuzzReact(f *testing.F) {
	for _, text := range hostile(300) {
		f.Add(text)
	}
	f.Add("Thought: a\nAction: search\nAction Input: {\"query\":\"x\"}\nAction: now\nAction Input: {}")
	f.Fuzz(func(t *testing.T, text string) {
		promises(t, React{}, text)
		promises(t, React{AnyCase: true}, text)
		fuzzPrompt(t, React{}, text)
	})
}

func FuzzJSONForm(f *testing.F) {
	for _, text := range hostile(300) {
		f.Add(text)
	}
	f.Add("Words.\n```json\n[{\"action\":\"search\",\"action_input\":\"x\"}]\n```")
	f.Fuzz(func(t *testing.T, text string) {
		promises(t, JSON{}, text)
		fuzzPrompt(t, JSON{}, text)
	})
}

// fuzzPrompt sends text in each role, and wants a reply that was read to be read
// the same when it is sent again.
func fuzzPrompt(t *testing.T, p Planner, text string) {
	tools := []model.Definition{{Name: text, Description: text, Parameters: json.RawMessage(text)}}
	checkOrder(t, p.Prompt(&Conversation{Messages: []model.Message{user("q"), assistantSays(text), failed(Exception, text)}, Tools: tools}).Messages)
	msgs := []model.Message{user("q"), assistantSays(text), result("now", text)}
	sent := p.Prompt(&Conversation{Messages: msgs, Tools: offered}).Messages
	checkOrder(t, sent)
	actions, _, err := p.Plan(reply(text), offered)
	if err != nil || len(actions) == 0 {
		return
	}
	again, _, err := p.Plan(&sent[2], offered)
	if err != nil || len(again) != len(actions) {
		t.Fatalf("%d actions of %q, then %d of %q, %v", len(actions), text, len(again), sent[2].Text(), err)
	}
	for i := range actions {
		if actions[i].Tool != again[i].Tool || string(actions[i].Input) != string(again[i].Input) {
			t.Fatalf("%s %q, then %s %q", actions[i].Tool, actions[i].Input, again[i].Tool, again[i].Input)
		}
	}
}

// TestTheCorpusIsThere: the seeds that were found by fuzzing are part of the
// repository.
func TestTheCorpusIsThere(t *testing.T) {
	for _, target := range []string{"FuzzReact", "FuzzJSONForm"} {
		files, err := os.ReadDir("testdata/fuzz/" + target)
		if err != nil || len(files) < 20 {
			t.Errorf("%s: %d files, %v", target, len(files), err)
		}
	}
}

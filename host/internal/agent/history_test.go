package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// broken says what of a conversation a provider would refuse, or "". It is written
// once more and not shared with what it tests.
func broken(msgs []model.Message) string {
	ids := map[string]bool{}
	var open []string
	for i, m := range msgs {
		empty := strings.TrimSpace(m.Text()) == "" && !slices.ContainsFunc(m.Content, func(p model.Part) bool { return p.Type != model.TextPart })
		if m.Role == model.Tool {
			if len(open) == 0 || open[0] != m.CallID {
				return fmt.Sprintf("message %d is a result of %q, open are %q", i, m.CallID, open)
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			return fmt.Sprintf("message %d comes before the results of %q", i, open)
		}
		switch m.Role {
		case model.System, model.User:
			if empty {
				return fmt.Sprintf("message %d is empty", i)
			}
		case model.Assistant:
			if empty && len(m.ToolCalls) == 0 {
				return fmt.Sprintf("message %d is empty", i)
			}
			for _, c := range m.ToolCalls {
				var object map[string]json.RawMessage
				if json.Unmarshal(c.Arguments, &object) != nil || object == nil {
					return fmt.Sprintf("message %d has a call with %q", i, c.Arguments)
				}
				if c.ID == "" || ids[c.ID] {
					return fmt.Sprintf("message %d has a second call %q", i, c.ID)
				}
				ids[c.ID] = true
				open = append(open, c.ID)
			}
		default:
			return fmt.Sprintf("message %d has the role %q", i, m.Role)
		}
	}
	if len(open) > 0 {
		return fmt.Sprintf("at the end %q have no result", open)
	}
	return ""
}

// conversation makes any list of messages of bytes: each is one message or changes
// the last.
func conversation(script []byte) []model.Message {
	var msgs []model.Message
	id := func(b byte) string { return []string{"", "a", "b", "c", "call_0_1", "call_1_1"}[int(b)%6] }
	for i, b := range script {
		arg := byte(0)
		if i+1 < len(script) {
			arg = script[i+1]
		}
		switch b % 11 {
		case 0:
			msgs = append(msgs, model.Text(model.User, "u"))
		case 1:
			msgs = append(msgs, model.Text(model.Assistant, "a"))
		case 2, 3:
			m := model.Message{Role: model.Assistant}
			for k := range arg%4 + 1 {
				m.ToolCalls = append(m.ToolCalls, model.ToolCall{ID: id(arg + k*(arg%2)), Name: "a", Arguments: json.RawMessage("{}")})
			}
			msgs = append(msgs, m)
		case 4, 5, 6:
			msgs = append(msgs, model.Message{Role: model.Tool, CallID: id(arg), Content: model.TextParts(fmt.Sprint("r", i))})
		case 7:
			msgs = append(msgs, model.Message{Role: []model.Role{model.User, model.Assistant, model.System, model.Tool}[arg%4], CallID: "a"})
		case 8:
			msgs = append(msgs, model.Text(model.System, "s"))
		case 9:
			msgs = append(msgs, model.Message{Role: model.Assistant, ToolCalls: []model.ToolCall{
				{ID: fmt.Sprint("bad", i), Name: "n", Arguments: json.RawMessage([]string{"", "[", "null", `"x"`}[arg%4])},
			}})
		default: // a whole step as it should be
			call := fmt.Sprint("good", i)
			msgs = append(
				msgs,
				model.Message{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: call, WireID: "w", Name: "a", Arguments: json.RawMessage(`{"q":1}`)}}},
				model.Message{Role: model.Tool, CallID: call, Name: "a", Content: model.TextParts("r")},
			)
		}
	}
	return msgs
}

func encoded(t testing.TB, msgs []model.Message) string {
	t.Helper()
	var b strings.Builder
	for _, m := range msgs {
		// Arguments that are no JSON cannot be encoded.
		fmt.Fprintf(&b, "%s %+v %s %+v %q %t %q %q\n", m.Role, m.Content, m.Reasoning, m.ToolCalls, m.CallID, m.IsError, m.Origin, m.Extra)
	}
	return b.String()
}

// asks runs an agent on a conversation and returns what the model is sent each time:
// it calls a tool, gives an empty reply and then answers.
func asks(t testing.TB, p planner.Planner, given []model.Message) (sent [][]model.Message, got *run.Result, log string) {
	t.Helper()
	var said bytes.Buffer
	asked := 0
	m := modelFunc(func(_ context.Context, req *model.Request, _ func(model.Chunk)) (*model.Reply, error) {
		sent = append(sent, slices.Clone(req.Messages))
		switch asked++; {
		case asked == 1:
			return calls("a", "b"), nil
		case asked == 2:
			return text(""), nil
		}
		return text("Final Answer: ok"), nil
	})
	a := newAgent(t, m, func(a *agent.Agent) {
		a.Planner, a.Logger = p, slog.New(slog.NewTextHandler(&said, nil))
	})
	_, got = collect(t, a.Run(t.Context(), "r", run.Prompted{Messages: given}))
	return sent, got, said.String()
}

// holds checks all that is promised of a conversation that is given.
func holds(t testing.TB, given []model.Message) {
	t.Helper()
	spare := append(given, model.Text(model.User, "the caller's own"))[:len(given)]
	before, fault := encoded(t, spare), broken(given)
	sent, got, log := asks(t, planner.Tools{}, spare)
	if after := encoded(t, spare); after != before || spare[:len(spare)+1][len(spare)].Text() != "the caller's own" {
		t.Fatalf("the caller's messages were changed:\n%s\n%s", before, after)
	}
	for i, msgs := range sent {
		if why := broken(msgs); why != "" || len(msgs) == 0 {
			t.Fatalf("request %d: %s\nof\n%s\nwas sent\n%s", i, why, before, encoded(t, msgs))
		}
	}
	if len(sent) == 0 {
		if got.ExitReason != run.ExitError {
			t.Fatalf("nothing was sent and the run ended by %s", got.ExitReason)
		}
		return
	}
	if why := broken(got.Messages); why != "" {
		t.Fatalf("the result cannot be sent again: %s", why)
	}
	if fault == "" && encoded(t, sent[0]) != before {
		t.Fatalf("nothing was wrong, and of\n%s\nwas sent\n%s", before, encoded(t, sent[0]))
	}
	if (fault != "") != strings.Contains(log, "the conversation was repaired") && !strings.Contains(fault, `with ""`) {
		t.Fatalf("%q, and the log says %q", fault, log)
	}
	// What was sent begins with what was sent before, or a cache is of no use.
	if encoded(t, sent[len(sent)-1][:len(sent[0])]) != encoded(t, sent[0]) {
		t.Fatalf("the beginning was changed:\n%s\n%s", encoded(t, sent[0]), encoded(t, sent[len(sent)-1]))
	}
}

func TestLawWhateverIsGivenCanBeSent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		holds(t, conversation(rapid.SliceOfN(rapid.Byte(), 1, 24).Draw(rt, "script")))
	})
}

func FuzzWhateverIsGivenCanBeSent(f *testing.F) {
	for _, s := range []string{"\x00", "\x02\x01\x04\x01\x00", "\x04\x01", "\x0a\x0a\x00", "\x02\x02\x00\x04\x02", "\x02\x01\x02\x01\x04\x01\x04\x01", "\x07\x00", "\x09\x01\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) <= 64 {
			holds(t, conversation(script))
		}
	})
}

// What planners of text send has no calls and no results, and takes turns.
func TestLawATextPlannerSendsTurns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		given := conversation(rapid.SliceOfN(rapid.Byte(), 1, 24).Draw(rt, "script"))
		p := rapid.SampledFrom([]planner.Planner{planner.React{}, planner.JSON{}}).Draw(rt, "planner")
		sent, _, _ := asks(t, p, given)
		for i, msgs := range sent {
			if why := broken(msgs); why != "" {
				rt.Fatalf("request %d: %s", i, why)
			}
			for k, m := range msgs {
				if m.Role == model.Tool || len(m.ToolCalls) > 0 || k > 0 && m.Role == msgs[k-1].Role {
					rt.Fatalf("request %d, message %d is %+v", i, k, m)
				}
			}
		}
	})
}

func TestRepairTellsTheTruth(t *testing.T) {
	call := func(ids ...string) model.Message {
		m := model.Message{Role: model.Assistant}
		for _, id := range ids {
			m.ToolCalls = append(m.ToolCalls, model.ToolCall{ID: id, Name: "a", Arguments: json.RawMessage("{}")})
		}
		return m
	}
	result := func(id, text string) model.Message {
		return model.Message{Role: model.Tool, CallID: id, Content: model.TextParts(text)}
	}
	user := model.Text(model.User, "u")
	const none = "The run was interrupted before this call had a result. Whether it took effect is not known."
	for name, c := range map[string]struct {
		given []model.Message
		want  string
	}{
		"nothing is wrong":                  {[]model.Message{user, call("a", "b"), result("a", "1"), result("b", "2")}, "u [a b] a=1 b=2"},
		"a call was cancelled":              {[]model.Message{user, call("a", "b"), result("b", "2"), user}, "u [a b] a!" + none + " b=2 u"},
		"at the end":                        {[]model.Message{user, call("a")}, "u [a] a!" + none},
		"results in another order":          {[]model.Message{user, call("a", "b"), result("b", "2"), result("a", "1")}, "u [a b] a=1 b=2"},
		"a result came late":                {[]model.Message{user, call("a"), user, result("a", "1"), user}, "u [a] a=1 u u"},
		"late, behind another call of it":   {[]model.Message{user, call("a"), user, call("a"), result("a", "2")}, "u [a] a!" + none + " u [call_0_2] call_0_2=2"},
		"a second result":                   {[]model.Message{user, call("a"), result("a", "1"), result("a", "2")}, "u [a] a=1"},
		"a result of nothing":               {[]model.Message{user, result("a", "1"), user}, "u u"},
		"an id of the provider, used twice": {[]model.Message{user, call("0"), result("0", "1"), call("0"), result("0", "2")}, "u [0] 0=1 [call_0_2] call_0_2=2"},
		"twice in one message":              {[]model.Message{user, call("0", "0"), result("0", "1"), result("0", "2")}, "u [0 call_0_2] 0=1 call_0_2=2"},
		"no ids at all":                     {[]model.Message{user, call("", ""), result("", "1"), result("", "2"), call(""), result("", "3")}, "u [call_0_1 call_0_2] call_0_1=1 call_0_2=2 [call_0_3] call_0_3=3"},
		"empty messages":                    {[]model.Message{user, model.Text(model.Assistant, " "), {Role: model.User}, call("a"), result("a", "")}, "u [a] a="},
	} {
		var got []string
		for _, m := range agent.Repair(c.given) {
			switch {
			case len(m.ToolCalls) > 0:
				var ids []string
				for _, c := range m.ToolCalls {
					ids = append(ids, c.ID)
				}
				got = append(got, fmt.Sprint(ids))
			case m.IsError:
				got = append(got, m.CallID+"!"+m.Text())
			case m.Role == model.Tool:
				got = append(got, m.CallID+"="+m.Text())
			default:
				got = append(got, m.Text())
			}
		}
		if d := cmp.Diff(c.want, strings.Join(got, " ")); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// An id that was replaced is kept as the provider's, who may know it.
func TestAReplacedIDStaysTheProvidersOwn(t *testing.T) {
	c := []model.ToolCall{{ID: "0", Name: "a"}}
	got := agent.Repair([]model.Message{
		{Role: model.Assistant, ToolCalls: c}, {Role: model.Tool, CallID: "0"}, {Role: model.Assistant, ToolCalls: c}, {Role: model.Tool, CallID: "0"},
	})
	if second := got[2].ToolCalls[0]; second.ID != "call_0_2" || second.WireID != "0" || got[3].CallID != second.ID || c[0].ID != "0" {
		t.Errorf("%+v", got)
	}
}

func TestASoundConversationIsReturnedAsItIs(t *testing.T) {
	msgs := conversation(bytes.Repeat([]byte{0, 10}, 500))
	if got := agent.Repair(msgs); &got[0] != &msgs[0] || len(got) != len(msgs) {
		t.Error("it was copied")
	}
}

// A role that there is not is nobody's to guess.
func TestAnUnknownRoleIsRefused(t *testing.T) {
	for _, p := range []planner.Planner{planner.Tools{}, planner.React{}, planner.JSON{}} {
		sent, got, _ := asks(t, p, []model.Message{model.Text(model.User, "u"), model.Text("boss\x1b[2J", "do it")})
		if len(sent) != 0 || got.ExitReason != run.ExitError || !strings.Contains(got.Error.Message, `message 2 of the conversation has no role that there is: "boss\x1b[2J"`) {
			t.Errorf("%T: %d requests, %+v", p, len(sent), got.Error)
		}
	}
}

// Repairing takes time that grows with the conversation alone, whatever is wrong.
func TestRepairingIsLinear(t *testing.T) {
	const n = 50_000
	m := model.Message{Role: model.Assistant}
	for i := range n {
		m.ToolCalls = append(m.ToolCalls, model.ToolCall{ID: fmt.Sprint(i), Name: "a", Arguments: json.RawMessage("{}")})
	}
	msgs := []model.Message{model.Text(model.User, "u"), m, model.Text(model.User, "u")}
	for i := range n {
		msgs = append(msgs, model.Message{Role: model.Tool, CallID: fmt.Sprint(n - 1 - i)})
	}
	for range n {
		msgs = append(msgs, model.Message{Role: model.Assistant, ToolCalls: m.ToolCalls[:1]})
	}
	got := agent.Repair(msgs) // the square of it would take minutes
	if len(got) != 3+n+2*n {
		t.Errorf("%d messages", len(got))
	}
}

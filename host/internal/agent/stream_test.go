package agent_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/model/openai"
	"github.com/wagent-dev/wagent/host/run"
)

// overHTTP runs an agent with these turns behind a client, and returns the lines
// that its store would hold, and all events.
func overHTTP(t *testing.T, stream bool, edit func(*agent.Agent), turns ...modeltest.Turn) (string, []run.Event) {
	t.Helper()
	end := modeltest.Server(t, turns...)
	c, err := openai.New(openai.Options{Name: "m", BaseURL: end.URL, Stream: stream, Retry: model.Backoff{Attempts: 2, Initial: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	a := newAgent(t, c, edit)
	a.Parallel = 1 // calls that run at once end in the order that they happen to
	events, _ := finish(t, t.Context(), a)
	var stored bytes.Buffer
	for _, e := range events {
		if e.Transient() {
			continue
		}
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		stored.Write(append(line, '\n'))
	}
	return sameEverywhere(t, stored.String(), end.URL), events
}

// sameEverywhere takes out of events what differs from run to run.
func sameEverywhere(t *testing.T, lines, url string) string {
	t.Helper()
	host := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/v1")
	var out []string
	for line := range strings.Lines(strings.ReplaceAll(lines, host, "HOST")) {
		before, rest, ok := strings.Cut(line, `"time":"`)
		_, after, closed := strings.Cut(rest, `"`)
		if !ok || !closed {
			t.Fatalf("no time in %s", line)
		}
		out = append(out, before+`"time":"T"`+after)
	}
	return strings.Join(out, "")
}

func TestStreamedOrNotARunIsTheSame(t *testing.T) {
	thoughtful := modeltest.Calls(modeltest.Call("a", `{"x":[1,{"y":"é\n"}]}`))
	thoughtful.Message.Content, thoughtful.Message.Reasoning = model.TextParts("Let me look."), "hm, what now"
	cut := modeltest.Text("half of")
	cut.Finish = model.FinishLength
	for name, c := range map[string]struct {
		edit  func(*agent.Agent)
		turns []modeltest.Turn
	}{
		"an answer":          {nil, []modeltest.Turn{modeltest.Text("one two three")}},
		"text before a call": {nil, []modeltest.Turn{thoughtful, modeltest.Text("done")}},
		"several calls":      {nil, []modeltest.Turn{modeltest.Calls(modeltest.Call("a", `{}`), modeltest.Call("b", `{"z":1}`), modeltest.Call("a", `{}`)), modeltest.Text("done")}},
		"an unknown tool":    {nil, []modeltest.Turn{modeltest.Calls(modeltest.Call("nope", `{}`)), modeltest.Text("done")}},
		"bad arguments":      {nil, []modeltest.Turn{modeltest.Calls(modeltest.Call("n", `{"n":"x"}`), modeltest.Call("n", `{}`)), modeltest.Text("done")}},
		"a failing tool":     {nil, []modeltest.Turn{modeltest.Calls(modeltest.Call("fail", `{}`), modeltest.Call("panic", `{}`)), modeltest.Text("done")}},
		"a cut reply":        {nil, []modeltest.Turn{cut}},
		"an exit tool":       {func(a *agent.Agent) { a.Exit = []string{"b"} }, []modeltest.Turn{modeltest.Text("not yet"), modeltest.Calls(modeltest.Call("b", `{}`))}},
		"at the limit":       {func(a *agent.Agent) { a.MaxSteps, a.Generate = 1, true }, []modeltest.Turn{modeltest.Calls(modeltest.Call("a", `{}`)), modeltest.Text("so far")}},
		"a text planner":     {func(a *agent.Agent) { a.Planner = planner.React{} }, []modeltest.Turn{modeltest.Text("Thought: x\nAction: a\nAction Input: {}"), modeltest.Text("Final Answer: y")}},
		"an empty reply":     {nil, []modeltest.Turn{modeltest.Text(""), modeltest.Text("there")}},
		"a failure":          {nil, []modeltest.Turn{modeltest.Fail(&model.Error{Status: 401, Message: "no"})}},
		"no usage":           {nil, []modeltest.Turn{{Message: model.Text(model.Assistant, "x"), NoUsage: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			streamed, _ := overHTTP(t, true, c.edit, c.turns...)
			whole, _ := overHTTP(t, false, c.edit, c.turns...)
			if diff := cmp.Diff(strings.Split(whole, "\n"), strings.Split(streamed, "\n")); diff != "" {
				t.Errorf("(-whole +streamed)\n%s", diff)
			}
			again, _ := overHTTP(t, true, c.edit, c.turns...)
			if again != streamed {
				t.Error("the same run again is another one")
			}
		})
	}
}

// However calls come in, their pieces make up what is called.
func TestPiecesOfStreamedCallsMakeUpTheCalls(t *testing.T) {
	_, events := overHTTP(t, true, nil,
		modeltest.Calls(modeltest.Call("a", `{"first":true}`), modeltest.Call("b", `{"second":2}`)), modeltest.Text("done"))
	got := map[int]string{}
	for _, c := range bodies[run.CallDelta](events) {
		got[c.Index] += c.Name + c.Arguments
	}
	if diff := cmp.Diff(map[int]string{0: `a{"first":true}`, 1: `b{"second":2}`}, got); diff != "" {
		t.Error(diff)
	}
}

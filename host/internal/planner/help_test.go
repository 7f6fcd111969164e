package planner

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

func def(name, parameters string) model.Definition {
	return model.Definition{Name: name, Description: "does " + name, Parameters: json.RawMessage(parameters)}
}

// search takes a text, write an object, add numbers, now nothing.
var offered = []model.Definition{
	def("search", `{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"}},"required":["query"]}`),
	def("write", `{"type":"object","properties":{"path":{"type":"string"},"text":{"type":"string"}},"required":["path","text"]}`),
	def("double", `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
	def("now", ``),
	def("echo", `{"type":"string"}`),
}

func reply(text string) *model.Message {
	m := model.Text(model.Assistant, text)
	return &m
}

// call is what a test wants of an action.
type call struct {
	Tool  string
	Input string // JSON
}

// want is what a test wants of a reply: calls, an answer, or an error.
type want struct {
	calls  []call
	answer any
	kind   ParseKind
}

func calls(toolAndInput ...string) want {
	var w want
	for i := 0; i < len(toolAndInput); i += 2 {
		w.calls = append(w.calls, call{toolAndInput[i], toolAndInput[i+1]})
	}
	return w
}

// query is a call of search with a text.
func query(text string) want { return calls("search", string(wrap("query", quote(text)))) }

func answer(v any) want { return want{answer: v} }

func fails(kind ParseKind) want { return want{kind: kind} }

func check(t *testing.T, p Planner, tools []model.Definition, text string, w want) {
	t.Helper()
	actions, done, err := p.Plan(reply(text), tools)
	checkPlan(t, actions, done, err, w)
}

func checkPlan(t *testing.T, actions []run.Action, done *run.Finish, err error, w want) {
	t.Helper()
	if w.kind != "" {
		pe, ok := errors.AsType[*ParseError](err)
		if !ok || pe.Kind != w.kind {
			t.Fatalf("got actions %v, finish %v, error %v; want a parse error of kind %s", actions, done, err, w.kind)
		}
		if actions != nil || done != nil {
			t.Errorf("with the error came %v and %v", actions, done)
		}
		if pe.Problem == "" || len(pe.Problem) > maxProblem || len(pe.Raw) > maxRaw {
			t.Errorf("problem %q, %d bytes of the reply", pe.Problem, len(pe.Raw))
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if w.calls == nil {
		if done == nil || actions != nil {
			t.Fatalf("got actions %v and finish %v, want the answer %v", actions, done, w.answer)
		}
		if diff := cmp.Diff(w.answer, done.ReturnValues["output"]); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
		return
	}
	if done != nil {
		t.Fatalf("got the finish %v, want calls %v", done, w.calls)
	}
	var got []call
	for _, a := range actions {
		got = append(got, call{a.Tool, string(a.Input)})
	}
	if diff := cmp.Diff(w.calls, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

package host_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/model/openai"
	"github.com/wagent-dev/wagent/host/run"
)

// answers is a manifest that asks for a number, with more fields of agent and model.
func answers(agent, model string) string {
	return `version: 1
model: {name: m` + model + `}
agent:
  output:
    schema: {type: object, properties: {why: {type: string}, n: {type: integer}}, required: [why, n], additionalProperties: false}
` + agent
}

const four = `{"why":"two and two","n":4}`

func TestAValueGoesFromTheManifestToTheResult(t *testing.T) {
	end := modeltest.Server(t, modeltest.Text(`{"why":"two and two"}`), modeltest.Text(four))
	h := open(t, answers("    strategy: native\n", ", base_url: \"${URL}\""), host.Options{Getenv: env("URL", end.URL)})
	got, err := h.Ask(t.Context(), "2+2?")
	if err != nil {
		t.Fatal(err)
	}
	if got.ExitReason != run.ExitText || got.Output != four || string(got.Structured) != four || string(got.Result.Structured) != four {
		t.Errorf("ended with %+v", got)
	}
	raw, err := json.Marshal(got.Result)
	if err != nil || !strings.Contains(string(raw), `"structured":`+four) {
		t.Errorf("%s, %v", raw, err)
	}
	for i, x := range end.Exchanges() {
		body, err := x.JSON()
		if err != nil {
			t.Fatal(err)
		}
		format, _ := body["response_format"].(map[string]any)
		schema, _ := format["json_schema"].(map[string]any)
		if format["type"] != "json_schema" || schema["strict"] != true || schema["name"] != "output" || body["tools"] != nil {
			t.Errorf("request %d: %s", i+1, x.Body)
		}
		if !strings.Contains(string(x.Body), `"properties":{"why":{`) {
			t.Errorf("request %d has the fields in another order: %s", i+1, x.Body)
		}
	}
}

// auto is native where the model is known to have it, and else what its planner has.
func TestTheStrategyFollowsFromTheModel(t *testing.T) {
	knows := knowing{modeltest.New(), true}
	for name, c := range map[string]struct {
		agent, model string
		given        model.Model
		want         string
	}{
		"official":         {"", "", nil, "native"},
		"elsewhere":        {"", ", base_url: http://127.0.0.1:1/v1", nil, "tool"},
		"a model of Go":    {"", "", modeltest.New(), "tool"},
		"one that knows":   {"", "", knows, "native"},
		"one that does no": {"", "", knowing{modeltest.New(), false}, "tool"},
		"react":            {"  planner: react\n", "", knows, "prompt"},
		"json":             {"  planner: json\n", "", knows, "prompt"},
		"tool":             {"    strategy: tool\n", "", knows, "tool"},
		"prompt":           {"    strategy: prompt\n", "", knows, "prompt"},
		"native":           {"    strategy: native\n", "", modeltest.New(), "native"},
	} {
		h := open(t, answers(c.agent, c.model), host.Options{Model: c.given})
		p, err := h.Preview(host.Text("2+2?"))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		switch {
		case p.Output != nil && len(p.Tools) == 0 && p.Output.Strict:
			got = "native"
		case len(p.Tools) == 1 && p.Tools[0].Name == "submit_output" && p.ToolChoice == "submit_output":
			got = "tool"
		case len(p.Tools) == 0 && p.Messages[0].Role == model.System && strings.Contains(p.Messages[0].Text(), `"why"`):
			got = "prompt"
		}
		if got != c.want {
			t.Errorf("%s: the model is asked by %q: %+v", name, got, p)
		}
	}
}

// knowing is a model that says whether it takes schemas.
type knowing struct {
	model.Model
	takes bool
}

func (k knowing) TakesOutputSchemas() bool { return k.takes }

// An endpoint that refuses the schema is asked in the other way by auto, once for all
// runs, and ends the run where native is asked for.
func TestARefusedSchemaOnTheWire(t *testing.T) {
	refused := modeltest.Fail(&model.Error{Status: 400, Message: "response_format json_schema is not supported"})
	call := modeltest.Calls(modeltest.Call("submit_output", four))
	end := modeltest.Server(t, refused, call, call)
	c, err := openai.New(openai.Options{Name: "m", BaseURL: end.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	h := open(t, answers("", ""), host.Options{Model: knowing{c, true}})
	for range 2 {
		got, err := h.Ask(t.Context(), "2+2?")
		if err != nil || string(got.Structured) != four {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	var asked []string
	for _, x := range end.Exchanges() {
		body, err := x.JSON()
		if err != nil {
			t.Fatal(err)
		}
		format, choice := body["response_format"] != nil, body["tool_choice"] != nil
		asked = append(asked, map[bool]string{true: "native", false: "other"}[format]+map[bool]string{true: " forced"}[choice])
	}
	if d := cmp.Diff([]string{"native", "other forced", "other forced"}, asked); d != "" {
		t.Error(d)
	}

	end = modeltest.Server(t, refused)
	h = open(t, answers("    strategy: native\n", ", base_url: \"${URL}\""), host.Options{Getenv: env("URL", end.URL)})
	_, err = h.Ask(t.Context(), "2+2?")
	if err == nil || !strings.Contains(err.Error(), "model_rejected") || !strings.Contains(err.Error(), "response_format") {
		t.Errorf("error is %v", err)
	}
}

func TestAnOutputSchemaThatIsNoneIsToldWithItsPlace(t *testing.T) {
	for schema, want := range map[string]string{
		`{type: object, properties: {n: {type: intger}}}`:     `:4:51: agent.output.schema["properties"]["n"]["type"]: `,
		`{type: object, properties: {n: {$ref: "http://x"}}}`: `:4:51: agent.output.schema["properties"]["n"]["$ref"]: `,
		`{type: array}`:               `:4:13: agent.output.schema: must be a JSON Schema of an object`,
		`{type: object, required: n}`: `:4:38: agent.output.schema["required"]: `,
	} {
		path := writeSmall(t, "version: 1\nagent:\n  output:\n    schema: "+schema+"\n")
		h, err := host.Open(t.Context(), path, nil)
		if err == nil {
			t.Fatal(h.Close(t.Context()))
		}
		if !strings.HasPrefix(err.Error(), path+want) || strings.Count(err.Error(), "\n") != 0 {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

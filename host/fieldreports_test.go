package host_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/run"
)

// The tests of this file are named after what users of other loops have reported: H
// for the first list of reports and L for the second, with the number of the entry.

// result runs h on in and returns what the run came to.
func result(t *testing.T, h *host.Host, in host.Input) *run.Result {
	t.Helper()
	for ev, err := range h.Run(t.Context(), in) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := ev.Body.(type) {
		case run.Finished:
			return b.Result
		case run.Failed:
			return b.Result
		}
	}
	t.Fatal("the run has no end")
	return nil
}

func small(t *testing.T, yaml string, opts host.Options) *host.Host {
	t.Helper()
	opts.CacheDir = cache.Dir(t)
	h, err := host.Open(t.Context(), writeSmall(t, yaml), &opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(t.Context()) })
	return h
}

// An exit condition was checked against tools that are not known yet, and broke on a
// set of them. Here it is checked against the tools of modules that are loaded, by the
// names that the model sees.
func TestFieldH8AnExitConditionIsCheckedByTheNameThatTheModelSees(t *testing.T) {
	const yaml = "version: 1\nagent: {exit_conditions: [text, %s]}\ntools:\n  - module: trap.wasm\n    rename: {trap: finish}\n"
	h := small(t, fmt.Sprintf(yaml, "finish"), host.Options{Model: modeltest.New(modeltest.Text("hi"))})
	in := host.Text("go")
	in.Tools = []string{} // a run may leave the tool out
	if got := result(t, h, in); got.ExitReason != run.ExitText {
		t.Errorf("%+v", got)
	}
	_, err := host.Open(t.Context(), writeSmall(t, fmt.Sprintf(yaml, "trap")), &host.Options{CacheDir: cache.Dir(t)})
	if err == nil || !strings.Contains(err.Error(), `exit condition: there is no tool "trap"`) {
		t.Errorf("the module's own name: %v", err)
	}
}

// Results reached the model in the notation of a programming language.
func TestFieldH10ResultsReachTheModelAsTextOrJSON(t *testing.T) {
	for answer, want := range map[string]string{
		`{"v":1,"content":[{"type":"text","text":"it's \"so\"\n"}]}`:                        "it's \"so\"\n",
		`{"v":1,"content":[],"structuredContent":{"rows":[1,null,true],"name":"<é>"}}`:      `{"rows":[1,null,true],"name":"<é>"}`,
		`{"v":1,"content":[{"type":"text","text":"two"}],"structuredContent":{"rows":[2]}}`: "two",
	} {
		script := modeltest.New(modeltest.Calls(modeltest.Call("t", "{}")), modeltest.Text("ok"))
		m := &manifest.Manifest{Version: 1, Tools: []manifest.Tool{{Module: answering(t, `{"type":"object"}`, answer)}}}
		h, err := host.New(t.Context(), m, &host.Options{CacheDir: cache.Dir(t), Model: script})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close(t.Context())
		got := result(t, h, host.Text("go"))
		if len(got.Steps) != 1 || got.Steps[0].Observation != want || script.Requests()[1].Messages[2].Text() != want {
			t.Errorf("%s: %+v", answer, got.Steps)
		}
	}
}

// A limit was obeyed where one way led in, and not where another did.
func TestFieldL25LimitsHoldWhicheverWayARunIsBegun(t *testing.T) {
	const yaml = "version: 1\nagent: {max_steps: 2}\ntools:\n  - module: trap.wasm\n"
	forever := func() *modeltest.Script {
		return modeltest.NewFunc(func(n int, _ *model.Request) modeltest.Turn {
			return modeltest.Calls(modeltest.Call("trap", fmt.Sprintf(`{"n":%d}`, n)))
		})
	}
	script := forever()
	h := small(t, yaml, host.Options{Model: script})
	if got := result(t, h, host.Text("go")); got.StepCount != 2 || got.ExitReason != run.ExitMaxSteps {
		t.Errorf("Run: %+v", got)
	}
	if got, err := h.Ask(t.Context(), "go"); err != nil || got.Result.StepCount != 2 || got.ExitReason != run.ExitMaxSteps {
		t.Errorf("Ask: %+v, %v", got, err)
	}
	in := host.Text("go")
	in.Budget.MaxSteps = new(3)
	if got := result(t, h, in); got.StepCount != 3 || got.ExitReason != run.ExitMaxSteps {
		t.Errorf("a budget: %+v", got)
	}
	if n := script.Count(); n != 2+2+3 {
		t.Errorf("the model was asked %d times", n)
	}
	h = small(t, strings.Replace(yaml, "agent: {max_steps: 2}\n", "", 1), host.Options{Model: forever()})
	if got := result(t, h, host.Text("go")); got.StepCount > 15 {
		t.Errorf("by default: %+v", got.StepCount)
	}
}

// A tool that hangs froze the agent.
func TestFieldL29AToolThatHangsIsStopped(t *testing.T) {
	script := modeltest.New(modeltest.Calls(modeltest.Call("loop", "{}"), modeltest.Call("done", `{"q":"x"}`)), modeltest.Text("ok"))
	dir := files(t, "loop", "done")
	m := &manifest.Manifest{Version: 1, Tools: []manifest.Tool{
		{Module: dir + "/loop.wasm", Limits: manifest.Limits{Timeout: manifest.Duration(50 * time.Millisecond)}}, {Module: dir + "/done.wasm"},
	}}
	h, err := host.New(t.Context(), m, &host.Options{CacheDir: cache.Dir(t), Model: script})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(t.Context())
	got := result(t, h, host.Text("go"))
	if got.Output != "ok" || got.Steps[0].ErrorKind != run.KindTimeout || got.Steps[1].IsError {
		t.Errorf("%+v", got)
	}
	hasNoStack(t, got.Steps[0].Observation)
}

// The way that streams had no limit of steps.
func TestFieldL40OneLoopServesStreamsAndWholeReplies(t *testing.T) {
	var results []string
	for _, stream := range []bool{true, false} {
		var turns []modeltest.Turn
		for i := range 4 {
			turns = append(turns, modeltest.Calls(modeltest.Call("done", fmt.Sprintf(`{"q":"%d"}`, i))))
		}
		h := mistakenHost(t, modeltest.Server(t, turns...).URL, stream)
		in := host.Text("go")
		in.ID, in.Budget.MaxSteps = "r", new(3)
		got := result(t, h, in)
		if got.StepCount != 3 || got.ExitReason != run.ExitMaxSteps || len(got.Steps) != 3 {
			t.Errorf("stream %t: %+v", stream, got)
		}
		for i := range got.Steps {
			got.Steps[i].Receipt = nil // it has times
		}
		for i := range got.Messages {
			got.Messages[i].Origin = "" // it has the port of the server
		}
		b, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, string(b))
	}
	if results[0] != results[1] {
		t.Errorf("streamed\n%s\nwhole\n%s", results[0], results[1])
	}
}

package host_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/run"
)

// Attack: a guest logs as fast as it can, so that what it says between is lost.
func TestEveryLogLineOfAFloodIsShown(t *testing.T) {
	m := modulesOf(t, "logflood.wasm")
	m.Tools[0].Limits.Logs = 2_100_000 // more than it says
	script := modeltest.New(modeltest.Calls(modeltest.Call("logflood", "{}")), modeltest.Text("ok"))
	h, err := host.New(t.Context(), m, &host.Options{Model: script, CacheDir: cache.Dir(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(t.Context())
	lines, bytes := 0, int64(0)
	for ev, err := range h.Run(t.Context(), host.Text("go")) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := ev.Body.(type) {
		case run.Logged:
			lines++
			bytes += int64(len(b.Message)) + 1
		case run.Returned:
			if b.IsError || lines != 2000 || bytes != b.Receipt.LogBytes || b.Receipt.LogsCut {
				t.Errorf("%d lines with %d bytes were shown; the call is %+v, its receipt %+v", lines, bytes, b, b.Receipt)
			}
		}
	}
}

// A model that writes half of an object, and says that it is done, is told so by
// the observation; nobody said that a limit was reached.
func TestArgumentsThatEndTooEarlyAreAnObservation(t *testing.T) {
	const call = `{"index":0,"id":"c1","type":"function","function":{"name":"trap","arguments":"{\"file\": \"/data/sales.csv\", "}}`
	for name, c := range map[string]struct{ media, first, second string }{
		"streamed": {
			"text/event-stream",
			`data: {"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[` + call + `]},"finish_reason":null}]}` + "\n\n" +
				`data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n",
			`data: {"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n",
		},
		"whole": {
			"application/json",
			`{"choices":[{"index":0,"message":{"role":"assistant","tool_calls":[` + call + `]},"finish_reason":"tool_calls"}]}`,
			`{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.media)
				if asked++; asked == 1 {
					fmt.Fprint(w, c.first)
					return
				}
				fmt.Fprint(w, c.second)
			}))
			defer endpoint.Close()
			m := modulesOf(t, "trap.wasm")
			m.Model.Name, m.Model.BaseURL, m.Model.Stream = "m", endpoint.URL+"/v1", new(name == "streamed")
			h, err := host.New(t.Context(), m, &host.Options{CacheDir: cache.Dir(t)})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close(t.Context())
			got, err := h.Ask(t.Context(), "go")
			if err != nil {
				t.Fatal(err)
			}
			if got.ExitReason != run.ExitText || got.Output != "ok" || len(got.Result.Steps) != 1 {
				t.Fatalf("result is %+v", got.Result)
			}
			s := got.Result.Steps[0]
			if s.ErrorKind != run.KindInvalidArgs || !strings.Contains(s.Observation, "it ends too early") || got.Result.ToolCallCounts["trap"] != 0 {
				t.Errorf("step is %+v", s)
			}
		})
	}
}

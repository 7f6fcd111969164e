package conformance

import (
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// played is a run of a case.
type played struct {
	refused error // why there was no run; nil: there was one
	events  []run.Event
	result  *run.Result
	asked   []model.Request
	log     []any
	elapsed time.Duration
}

// play runs a case. An agent that cannot be made is an outcome too.
func (c *testCase) play(t *testing.T, streams bool) *played {
	t.Helper()
	begin, tools, err := c.opened(t)
	if err != nil {
		return &played{refused: err}
	}
	loop, b, err := c.loop(tools)
	if err != nil {
		return &played{refused: err}
	}
	m := &scripted{script: c.Script, streams: streams}
	loop.Model = m
	p := &played{}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		for e, err := range loop.Run(t.Context(), "r", begin) {
			if err != nil {
				t.Fatalf("%s: the store failed: %v", c.ID, err)
			}
			p.events = append(p.events, e)
		}
		p.elapsed = time.Since(start)
	})
	switch last := p.events[len(p.events)-1].Body.(type) {
	case run.Finished:
		p.result = last.Result
	case run.Failed:
		p.result = last.Result
	default:
		t.Fatalf("%s: the last event is %T", c.ID, last)
	}
	p.asked, p.log = m.asked, b.log
	for i := range p.asked {
		if id := unanswered(p.asked[i].Messages); id != "" {
			t.Errorf("%s: call %s has not exactly one result when the model is asked the %d. time", c.ID, id, i+1)
		}
	}
	return p
}

// outcome is what came of the case, in its terms, and what is wrong with it in
// itself: it has to be the same whether or not the model streams.
func (c *testCase) outcome(t *testing.T) (got map[string]any, wrong string) {
	t.Helper()
	got = c.ours(c.play(t, false))
	whole, streamed := maps.Clone(got), c.ours(c.play(t, true))
	for _, m := range []map[string]any{whole, streamed} {
		l, _ := m["tool_log"].([]any)
		m["tool_log"] = sorted(l) // those of one step are made at once
	}
	if d := differ(whole, streamed); d != "" {
		return got, "streamed: " + d
	}
	return got, ""
}

// unanswered is a call that is not followed by its one result, in the order of the
// calls, or a result without a call. Providers take no conversation that has one.
func unanswered(msgs []model.Message) string {
	var open []string
	for i := range msgs {
		m := &msgs[i]
		switch {
		case m.Role == model.Tool && (len(open) == 0 || open[0] != m.CallID):
			return m.CallID
		case m.Role == model.Tool:
			open = open[1:]
			continue
		case len(open) > 0:
			return open[0]
		}
		for _, c := range m.ToolCalls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return open[0]
	}
	return ""
}

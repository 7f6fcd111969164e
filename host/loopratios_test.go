//go:build ratios

package host_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/wagent-dev/wagent/host/internal/agent"
	"github.com/wagent-dev/wagent/host/internal/planner"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/openai"
	"github.com/wagent-dev/wagent/host/run"
)

// TestLoopRatios prints what the loop costs, as multiples of a loop that is written
// by hand over net/http, and the goal of each. Tools answer at once and both talk to
// the same server. Medians of alternating runs: what else the machine does hits both.
// It asserts nothing of time.
func TestLoopRatios(t *testing.T) {
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "loop\tby hand\there\tratio\tgoal\tratio of processor time")
	for _, c := range []contest{
		{name: "50 steps, one call", steps: 50, calls: 1, goal: "<= 1.2"},
		{name: "50 steps, four calls", steps: 50, calls: 4, goal: "<= 1.5"},
		{name: "100 steps, results of 4 KB", steps: 100, calls: 1, result: 4 << 10, goal: "<= 0.6"},
		{name: "50 steps, one call, streamed", steps: 50, calls: 1, stream: true, goal: "<= 1.3"},
		{name: "50 steps, four calls, streamed", steps: 50, calls: 4, stream: true, goal: "<= 1.3"},
	} {
		floor, ours, ratio, cpu := c.alternate(t)
		fmt.Fprintf(w, "%s\t%s\t%s\t%.2f\t%s\t%.2f\n", c.name, short(floor), short(ours), ratio, c.goal, cpu)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("\n%s\n%s%s%s\n", table.String(), allocations(t), cancelling(t), waiting(t))
}

func short(d time.Duration) string { return fmt.Sprintf("%.3gms", float64(d.Microseconds())/1000) }

// contest is a run that both loops make.
type contest struct {
	name   string
	steps  int
	calls  int // in each step
	result int // bytes of a tool's answer; 0: a few
	stream bool
	goal   string
}

const contestRounds = 41

// alternate makes the run in turn with either loop and returns the medians, and those
// of the ratios of neighbours: of the time that passed, and of the processor's, in
// which the server's part is the same.
func (c *contest) alternate(t *testing.T) (floor, ours time.Duration, ratio, cpu float64) {
	t.Helper()
	server := c.server(t)
	hand, mine := &handLoop{contest: c, url: server.URL + "/v1/chat/completions"}, c.loop(t, server.URL)
	var floors, times []time.Duration
	var ratios, cpus []float64
	for i := range contestRounds + 1 {
		one, oneCPU := timed(t, hand.run)
		two, twoCPU := timed(t, mine)
		if i == 0 { // the first finds no connection
			continue
		}
		floors, times = append(floors, one), append(times, two)
		ratios, cpus = append(ratios, float64(two)/float64(one)), append(cpus, float64(twoCPU)/float64(oneCPU))
	}
	return middle(floors), middle(times), middle(ratios), middle(cpus)
}

func timed(t *testing.T, do func() error) (passed, used time.Duration) {
	t.Helper()
	start, before := time.Now(), processTime(t)
	if err := do(); err != nil {
		t.Fatal(err)
	}
	return time.Since(start), processTime(t) - before
}

func middle[T cmp.Ordered](of []T) T {
	slices.Sort(of)
	return of[len(of)/2]
}

func (c *contest) answer() string {
	if c.result == 0 {
		return "3 rows were found"
	}
	return strings.Repeat("a line of the result, which says \"so\"\n", c.result/38+1)[:c.result]
}

// server answers with calls for as many steps as there are, and then with text. It
// reads what it is sent and looks at none of it.
func (c *contest) server(t *testing.T) *httptest.Server {
	t.Helper()
	replies := make([][]byte, c.steps+1)
	for i := range replies {
		replies[i] = c.reply(i)
	}
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		body := replies[int(asked.Add(1)-1)%len(replies)]
		if !c.stream {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(body)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for chunk := range bytes.SplitAfterSeq(body, []byte("\n\n")) {
			_, _ = w.Write(chunk)
			w.(http.Flusher).Flush()
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// reply is what the server says at a step, whole or as a stream of events.
func (c *contest) reply(step int) []byte {
	var b bytes.Buffer
	if step == c.steps {
		if c.stream {
			event(&b, `{"role":"assistant","content":""}`, "")
			for range 10 {
				event(&b, `{"content":"all is done "}`, "")
			}
			event(&b, `{}`, "stop")
			b.WriteString(`data: {"id":"x","choices":[],"usage":{"prompt_tokens":90000,"completion_tokens":5,"total_tokens":90005}}` + "\n\ndata: [DONE]\n\n")
			return b.Bytes()
		}
		return []byte(`{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"all is done"},"finish_reason":"stop"}],"usage":{"prompt_tokens":90000,"completion_tokens":5,"total_tokens":90005}}`)
	}
	if c.stream {
		event(&b, `{"role":"assistant","content":""}`, "")
		for i := range c.calls {
			event(&b, fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"call_%d_%d","type":"function","function":{"name":"find","arguments":""}}]}`, i, step, i), "")
			for _, piece := range []string{`{\"query\":`, `\"the third `, `quarter\",`, `\"limit\":10}`} {
				event(&b, fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":"%s"}}]}`, i, piece), "")
			}
		}
		event(&b, `{}`, "tool_calls")
		b.WriteString(`data: {"id":"x","choices":[],"usage":{"prompt_tokens":90000,"completion_tokens":5,"total_tokens":90005}}` + "\n\ndata: [DONE]\n\n")
		return b.Bytes()
	}
	b.WriteString(`{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[`)
	for i := range c.calls {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"call_%d_%d","type":"function","function":{"name":"find","arguments":"{\"query\":\"the third quarter\",\"limit\":10}"}}`, step, i)
	}
	b.WriteString(`]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":90000,"completion_tokens":5,"total_tokens":90005}}`)
	return b.Bytes()
}

func event(b *bytes.Buffer, delta, finish string) {
	end := "null"
	if finish != "" {
		end = `"` + finish + `"`
	}
	fmt.Fprintf(b, `data: {"id":"x","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", delta, end)
}

// handLoop is what one writes who needs no more: the whole conversation is encoded,
// posted, the reply is decoded and appended.
type handLoop struct {
	*contest
	url    string
	client http.Client
}

type handMessage struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []handCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type handCall struct {
	Index    int    `json:"index,omitempty"`
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type handReply struct {
	Choices []struct {
		Message      handMessage `json:"message"`
		Delta        handMessage `json:"delta"`
		FinishReason string      `json:"finish_reason"`
	} `json:"choices"`
}

func (h *handLoop) run() error {
	msgs := []handMessage{{Role: "system", Content: "You find things."}, {Role: "user", Content: "go"}}
	tools := json.RawMessage(`[{"type":"function","function":{"name":"find","description":"Finds rows.","parameters":` + findSchema + `}}]`)
	answer := h.answer()
	for step := 0; ; step++ {
		body, err := json.Marshal(map[string]any{"model": "m", "messages": msgs, "tools": tools, "stream": h.stream})
		if err != nil {
			return err
		}
		m, err := h.post(body)
		if err != nil {
			return err
		}
		msgs = append(msgs, m)
		if len(m.ToolCalls) == 0 {
			if step != h.steps || m.Content == "" {
				return fmt.Errorf("ended at step %d: %q", step, m.Content)
			}
			return nil
		}
		for _, c := range m.ToolCalls {
			var args map[string]any
			if err := json.Unmarshal([]byte(c.Function.Arguments), &args); err != nil {
				return err
			}
			msgs = append(msgs, handMessage{Role: "tool", ToolCallID: c.ID, Content: answer})
		}
	}
}

func (h *handLoop) post(body []byte) (handMessage, error) {
	resp, err := h.client.Post(h.url, "application/json", bytes.NewReader(body))
	if err != nil {
		return handMessage{}, err
	}
	defer resp.Body.Close()
	if h.stream {
		return readHand(resp.Body)
	}
	var r handReply
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil {
		return handMessage{}, err
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return r.Choices[0].Message, nil
}

func readHand(body io.Reader) (handMessage, error) {
	m := handMessage{Role: "assistant"}
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok || string(data) == "[DONE]" {
			continue
		}
		var r handReply
		if err := json.Unmarshal(data, &r); err != nil {
			return m, err
		}
		if len(r.Choices) == 0 {
			continue
		}
		d := &r.Choices[0].Delta
		m.Content += d.Content
		for _, c := range d.ToolCalls {
			if c.Index == len(m.ToolCalls) {
				m.ToolCalls = append(m.ToolCalls, c)
				continue
			}
			m.ToolCalls[c.Index].Function.Arguments += c.Function.Arguments
		}
	}
	return m, lines.Err()
}

const findSchema = `{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"}},"required":["query"]}`

// instantBox answers every call at once.
type instantBox struct{ content []model.Part }

func (b instantBox) Call(context.Context, agent.Call) agent.Result {
	return agent.Result{Content: b.content}
}

// loop is the run with this loop and the client of an endpoint.
func (c *contest) loop(t *testing.T, url string) func() error {
	t.Helper()
	client, err := openai.New(openai.Options{Name: "m", BaseURL: url + "/v1", Stream: c.stream, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	box, fits := instantBox{model.TextParts(c.answer())}, compiled(t)
	return func() error {
		a := &agent.Agent{
			Model: client, Planner: planner.Tools{}, Box: box, Store: new(run.Memory),
			Tools:    []agent.Tool{{Definition: model.Definition{Name: "find", Description: "Finds rows.", Parameters: json.RawMessage(findSchema)}, Schema: fits}},
			MaxSteps: c.steps + 2, Parallel: 4, Exit: []string{"text"}, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		}
		given := run.Prompted{Messages: []model.Message{model.Text(model.System, "You find things."), model.Text(model.User, "go")}}
		for e, err := range a.Run(t.Context(), run.NewID(), given) {
			if err != nil {
				return err
			}
			switch b := e.Body.(type) {
			case run.Finished:
				if b.ExitReason != run.ExitText || b.Result.StepCount != c.steps+1 || len(b.Result.Steps) != c.steps*c.calls {
					return fmt.Errorf("ended by %s after %d steps", b.ExitReason, b.Result.StepCount)
				}
				return nil
			case run.Failed:
				return errors.New(b.Err.Message)
			}
		}
		return errors.New("no end")
	}
}

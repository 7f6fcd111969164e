package replay_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/model/replay"
)

func record(t testing.TB, turns ...modeltest.Turn) string {
	t.Helper()
	var b strings.Builder
	for _, turn := range turns {
		turn.Message.Role = model.Assistant
		line := map[string]any{"message": turn.Message}
		if !turn.NoUsage {
			line["usage"] = turn.Usage
		}
		enc := json.NewEncoder(&b) // ends each value with a line break
		enc.SetEscapeHTML(false)
		if err := enc.Encode(line); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

func TestReplayIsAModel(t *testing.T) {
	modeltest.Run(t, func(t testing.TB, turns ...modeltest.Turn) model.Model {
		rec, err := replay.New(strings.NewReader(record(t, turns...)))
		if err != nil {
			t.Fatal(err)
		}
		return rec.Model()
	})
}

func TestEachPlayerBeginsAtTheStart(t *testing.T) {
	rec, err := replay.New(strings.NewReader(record(t, modeltest.Text("first"), modeltest.Text("second"))))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		reply, err := rec.Model().Generate(t.Context(), modeltest.Hello(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := reply.Message.Text(); got != "first" {
			t.Errorf("text = %q", got)
		}
	}
}

func TestPastTheEndNamesFileAndCount(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	if err := os.WriteFile(path, []byte("{\"message\":{\"content\":\"hi\"}}\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rec, err := replay.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	p := rec.Model()
	if _, err := p.Generate(t.Context(), modeltest.Hello(), nil); err != nil {
		t.Fatal(err)
	}
	_, err = p.Generate(t.Context(), modeltest.Hello(), nil)
	var failed *model.Error
	if !errors.As(err, &failed) || failed.Kind != model.Rejected {
		t.Fatalf("error = %v", err)
	}
	want := "the recording run.jsonl has 1 replies in 2 lines and was asked for number 2"
	if failed.Message != want {
		t.Errorf("message = %q, want %q", failed.Message, want)
	}
}

func TestHandWrittenLine(t *testing.T) {
	rec, err := replay.New(strings.NewReader(
		`{"message":{"role":"assistant","content":[{"type":"text","text":"Let me see."}],"tool_calls":[{"name":"now"},{"id":"x","name":"read","arguments":{"p":1}}]},"usage":{"prompt_tokens":3,"completion_tokens":2}}`))
	if err != nil {
		t.Fatal(err)
	}
	var calls []model.CallChunk
	reply, err := rec.Model().Generate(t.Context(), modeltest.Hello(), func(c model.Chunk) {
		if c.Call != nil {
			calls = append(calls, *c.Call)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	want := &model.Reply{
		Message: model.Message{
			Role: model.Assistant, Content: model.TextParts("Let me see."),
			ToolCalls: []model.ToolCall{
				{Name: "now", Arguments: json.RawMessage(`{}`)},
				{WireID: "x", Name: "read", Arguments: json.RawMessage(`{"p":1}`)},
			},
		},
		Usage:  model.Usage{PromptTokens: 3, CompletionTokens: 2, TotalTokens: 5},
		Finish: model.FinishToolCalls,
	}
	if diff := cmp.Diff(want, reply); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
	if len(calls) != 2 {
		t.Errorf("call chunks = %+v", calls)
	}
}

func TestMalformedRecordingNamesItsLine(t *testing.T) {
	good := `{"message":{"content":"ok"}}` + "\n"
	for name, c := range map[string]struct{ text, want string }{
		"not JSON":       {good + "{\n", "recording:2: unexpected EOF"},
		"two values":     {good + "\n" + `{"message":{"content":"a"}} {}`, "recording:3: more than one value"},
		"no message":     {`{"usage":{}}`, `recording:1: the line has no "message"`},
		"misspelt":       {`{"mesage":{}}`, `recording:1: json: unknown field "mesage"`},
		"misspelt part":  {`{"message":{"content":[{"typ":"text"}]}}`, `recording:1: json: unknown field "typ"`},
		"other role":     {`{"message":{"role":"user","content":"x"}}`, `recording:1: the message has role "user"`},
		"arguments":      {`{"message":{"content":[],"tool_calls":[{"name":"a","arguments":[1]}]}}`, `recording:1: call 1: the arguments of "a" are no JSON object`},
		"nameless":       {`{"message":{"content":[],"tool_calls":[{}]}}`, "recording:1: call 1: it has no name"},
		"finish":         {`{"message":{"content":"x"},"finish_reason":"bored"}`, `recording:1: unknown finish_reason "bored"`},
		"unknown part":   {`{"message":{"content":[{"type":"smell"}]}}`, `recording:1: part 1 has the unknown type "smell"`},
		"nothing at all": {"\n\n", "recording: the recording holds no reply"},
		"negative usage": {good + `{"message":{"content":"x"},"usage":{"prompt_tokens":-1}}`, "recording:2: the usage is less than zero"},
		"a long line":    {good + strings.Repeat(" ", 33<<20), "recording:2: the line is longer than 32 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := replay.New(strings.NewReader(c.text))
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error = %v, want %s…", err, c.want)
			}
		})
	}
}

func TestARecordingIsBounded(t *testing.T) {
	if _, err := replay.New(&repeating{line: bytes.Repeat([]byte(" "), 1<<20)}); err == nil || err.Error() != "recording: the recording is larger than 256 MiB" {
		t.Errorf("error = %v", err)
	}
}

// repeating is a line that has no last one.
type repeating struct {
	line []byte
	at   int
}

func (r *repeating) Read(p []byte) (int, error) {
	if r.at++; r.at%16 == 0 {
		return copy(p, "\n"), nil
	}
	return copy(p, r.line), nil
}

func TestOnlyAFileIsLoaded(t *testing.T) {
	dir := t.TempDir()
	if _, err := replay.Load(dir); err == nil || !strings.HasSuffix(err.Error(), "is not a file") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := replay.Load(filepath.Join(dir, "none.jsonl")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
}

func TestPlayersDoNotShareTheirCalls(t *testing.T) {
	rec, err := replay.New(strings.NewReader(record(t, modeltest.Calls(modeltest.Call("a", "{}")))))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		reply, err := rec.Model().Generate(t.Context(), modeltest.Hello(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if c := &reply.Message.ToolCalls[0]; c.ID != "" {
			t.Errorf("the call has the id %q of another run", c.ID)
		} else {
			c.ID = "call_1_1"
		}
	}
}

func FuzzRecording(f *testing.F) {
	f.Add(`{"message":{"role":"assistant","content":[{"type":"text","text":"a"}],"tool_calls":[{"name":"n","arguments":{}}]},"finish_reason":"stop"}`)
	f.Add("\xef\xbb\xbf" + `{"message":{"content":"x"}}` + "\r\n\r\n")
	f.Add(`{"message":null}`)
	f.Fuzz(func(t *testing.T, text string) {
		rec, err := replay.New(strings.NewReader(text))
		if err != nil {
			return
		}
		p := rec.Model()
		for range rec.Len() {
			reply, err := p.Generate(t.Context(), modeltest.Hello(), func(model.Chunk) {})
			if err != nil {
				t.Fatalf("a recording that was read does not play: %v", err)
			}
			for _, c := range reply.Message.ToolCalls {
				if !json.Valid(c.Arguments) || c.Arguments[0] != '{' {
					t.Fatalf("arguments %q", c.Arguments)
				}
			}
		}
	})
}

package sdktest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/sdk"
	"github.com/wagent-dev/wagent/sdk/abi"
	"github.com/wagent-dev/wagent/sdk/sdktest"
)

type args struct {
	Do string `json:"do"`
}

type seen struct {
	Lang    string        `json:"lang"`
	Left    time.Duration `json:"left"`
	Folders []string      `json:"folders"`
	Secret  bool          `json:"secret"`
	Topic   string        `json:"topic"`
	Old     string        `json:"old"`
}

// broken names a variable that has a module break its contract.
const broken = "SDKTEST_BROKEN"

// TestMain registers what a module registers in init.
func TestMain(m *testing.M) {
	sdk.Tool("look", "Looks at what it was given.", look)
	sdk.Tool("get", "Gets a page.", get)
	sdk.Tool("odd", "Answers what no host takes.", odd)
	if os.Getenv(broken) != "" {
		sdk.Tool("bad name", "Cannot be served.", odd)
	}
	m.Run()
}

func look(c *sdk.Call, a args) (s seen, err error) {
	var config struct {
		Lang string `json:"lang"`
	}
	if err := c.Config(&config); err != nil {
		return s, err
	}
	s.Lang = config.Lang
	s.Left = time.Until(c.Deadline).Round(time.Hour)
	s.Folders = sdk.Folders(c)
	c.Debugf("doing %s", a.Do)
	c.Warnf("in run %s", c.Run.ID)
	c.Progress(1, 4, "looking")
	if s.Secret, err = sdk.SecretExists(c, "token"); err != nil {
		return s, err
	}
	if err := sdk.StateGet(c, "topic", &s.Topic); err != nil {
		return s, err
	}
	old, err := sdk.KVGet(c, "old")
	if err != nil {
		return s, err
	}
	s.Old = string(old)
	return s, sdk.KVSet(c, "new", []byte("2"))
}

func get(c *sdk.Call, a args) (string, error) {
	res, err := sdk.Do(c, &abi.HTTPRequest{Method: "PUT", URL: a.Do, Headers: map[string]string{"X-A": "b"}, Body: []byte("sent")})
	if err != nil {
		return "", err
	}
	return fmt.Sprintln(res.Status, res.URL, res.Headers["X-C"], string(res.Body)), nil
}

func odd(_ *sdk.Call, a args) (abi.Result, error) {
	return map[string]abi.Result{
		"type":       {Content: []abi.Content{{Type: "txt", Text: "a"}}},
		"image":      {Content: []abi.Content{{Type: "text"}, {Type: "image"}}},
		"structured": {StructuredContent: json.RawMessage(`[1]`)},
		"good": {
			Content:           []abi.Content{{Type: "text", Text: "a"}, {Type: "image", MIMEType: "image/png"}, {Type: "resource", Resource: &abi.Resource{URI: "a:b"}}},
			StructuredContent: json.RawMessage(`{}`),
		},
	}[a.Do], nil
}

func TestOptionsReachTheTool(t *testing.T) {
	store := map[string][]byte{"old": []byte("1")}
	res := sdktest.Call(t, "look", args{"it"},
		sdktest.Config(map[string]string{"lang": "en"}), sdktest.Deadline(3*time.Hour), sdktest.Folders("/in"), sdktest.Folders("/out"),
		sdktest.Secrets("other", "token"), sdktest.State(map[string]any{"topic": "go"}), sdktest.KV(store))
	if res.Error != nil {
		t.Fatal(res.Error)
	}
	var got seen
	if err := res.Decode(&got); err != nil {
		t.Fatal(err)
	}
	want := seen{Lang: "en", Left: 3 * time.Hour, Folders: []string{"/in", "/out"}, Secret: true, Topic: "go", Old: "1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if string(store["new"]) != "2" {
		t.Errorf("the store holds %q", store)
	}
	if diff := cmp.Diff([]sdktest.Log{{abi.LevelDebug, "doing it"}, {abi.LevelWarn, "in run run_test"}}, res.Logs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]sdktest.Progress{{250, "looking"}}, res.Progress); diff != "" {
		t.Error(diff)
	}
}

func TestWhatNoOptionGrantsIsRefused(t *testing.T) {
	config := sdktest.Config(`{"lang":"en"}`)
	state := sdktest.State(map[string]any{"topic": "go"})
	tests := map[string]struct {
		got  sdktest.Result
		want abi.Error
	}{
		"config": {sdktest.Call(t, "look", `{"do":""}`), abi.Error{Kind: abi.Internal, Message: `config "lang": is missing`}},
		"state":  {sdktest.Call(t, "look", `{"do":""}`, config), abi.Error{Kind: abi.AuthRequired, Message: "state topic: denied: no grant covers it"}},
		"kv":     {sdktest.Call(t, "look", `{"do":""}`, config, state), abi.Error{Kind: abi.AuthRequired, Message: "kv get old: denied: no grant covers it"}},
		"http":   {sdktest.Call(t, "get", `{"do":"https://example.com/"}`), abi.Error{Kind: abi.AuthRequired, Message: "http request: denied: no grant covers it"}},
		"http, in words": {
			sdktest.Call(t, "get", `{"do":"https://example.com/"}`, sdktest.Denied("add example.com")),
			abi.Error{Kind: abi.AuthRequired, Message: "add example.com"},
		},
		"http, nobody there": {
			sdktest.Call(t, "get", `{"do":"https://example.com/"}`, sdktest.HTTP(func(*abi.HTTPRequest) *abi.HTTPResponse { return nil })),
			abi.Error{Kind: abi.Unavailable, Message: "http request: unavailable"},
		},
		"arguments": {sdktest.Call(t, "get", nil), abi.Error{Kind: abi.Input, Message: `argument "do": is missing`}},
		"no tool":   {sdktest.Call(t, "got", nil), abi.Error{Kind: abi.NotFound, Message: `this module has no tool "got": did you mean "get"?`}},
	}
	for name, test := range tests {
		if diff := cmp.Diff(&test.want, test.got.Error); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAHandlerAnswersRequests(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != "PUT" || r.Host != "example.com" || r.Header.Get("X-A") != "b" || string(body) != "sent" {
			t.Errorf("got %s %s %v %q, %v", r.Method, r.Host, r.Header, body, err)
		}
		w.Header().Set("X-C", "d")
		w.WriteHeader(http.StatusTeapot)
		io.WriteString(w, "short and stout")
	})
	got := sdktest.Call(t, "get", `{"do":"https://example.com/pot"}`, sdktest.Handler(handler))
	if want := "418 https://example.com/pot d short and stout\n"; got.Error != nil || got.Text() != want {
		t.Errorf("got %q, %v", got.Text(), got.Error)
	}
	got = sdktest.Call(t, "get", `{"do":"https://exa mple.com/"}`, sdktest.Handler(handler))
	if got.Error == nil || got.Error.Kind != abi.Input {
		t.Errorf("a bad address: %v", got.Error)
	}
}

func TestABrokenContractIsAnErrorOfDo(t *testing.T) {
	tests := map[string]struct {
		args any
		want string
	}{
		"type":       {`{"do":"type"}`, `part 0 of the content is no text, no image with a MIME type and no resource: type "txt"`},
		"image":      {`{"do":"image"}`, `part 1 of the content is no text, no image with a MIME type and no resource: type "image"`},
		"structured": {`{"do":"structured"}`, `the structured content is not an object: [1]`},
		"good":       {`{"do":"good"}`, ``},
		"bytes":      {[]byte(`{"do":"good"}`), ``},
		"raw":        {json.RawMessage(`{"do":"good"}`), ``},
		"value":      {map[string]any{"do": "good"}, ``},
		"not JSON":   {`{do}`, `arguments: not JSON: {do}`},
		"no value":   {func() {}, `arguments: json: unsupported type: func()`},
	}
	for name, test := range tests {
		_, err := sdktest.Do("odd", test.args)
		if got := fmt.Sprint(err); got != test.want && (test.want != "" || err != nil) {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
	for name, o := range map[string]sdktest.Option{"config": sdktest.Config(`{`), "state": sdktest.State(map[string]any{"a": func() {}})} {
		if _, err := sdktest.Do("odd", nil, o); err == nil {
			t.Errorf("%s that is not JSON was taken", name)
		}
	}
}

func TestAResultIsRead(t *testing.T) {
	var v struct{}
	if err := (sdktest.Result{}).Decode(&v); err == nil {
		t.Error("no structured content was decoded")
	}
	res := sdktest.Call(t, "odd", `{"do":"good"}`)
	if err := res.Decode(&v); err != nil || res.Text() != "a" {
		t.Errorf("%q, %v", res.Text(), err)
	}
}

func TestDescribeListsTheTools(t *testing.T) {
	var names []string
	for _, tool := range sdktest.Describe(t) {
		names = append(names, tool.Name)
	}
	if diff := cmp.Diff([]string{"look", "get", "odd"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestCallOfABrokenContract(t *testing.T) {
	if os.Getenv(broken) != "" {
		sdktest.Call(t, "odd", `{"do":"type"}`)
	}
}

// Tests that fail are run in a process of their own.
func TestABrokenContractFailsTheTest(t *testing.T) {
	for name, want := range map[string]string{
		"TestDescribeListsTheTools": `tool "bad name": the name must be`,
		"TestCallOfABrokenContract": `call odd: part 0 of the content is no text`,
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+name+"$")
		cmd.Env = append(os.Environ(), broken+"=1")
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

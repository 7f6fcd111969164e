package host_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/model/modeltest"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/host/run"
)

const canary = "cnry-4f1d9c7e2b8a"

// thieves is a manifest with a guest that wants the secret of a server, twice: once
// with the secret, and once without it.
func thieves(t *testing.T, site string) *manifest.Manifest {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "thief.wasm")
	if err := os.WriteFile(path, builds.Tool(t, filepath.Join(testkit.Root(t), "host", "internal", "sandbox", "testdata", "thief")), 0o600); err != nil {
		t.Fatal(err)
	}
	allow := manifest.Allow{PrivateNetworks: true, HTTP: []manifest.HTTPRule{{Host: site}}}
	return &manifest.Manifest{Version: 1, Tools: []manifest.Tool{
		{
			Module: path, Allow: allow,
			Secrets: []manifest.Secret{{Env: "TOKEN", Host: site, Header: "Authorization", Format: "Bearer {}"}},
		},
		{Module: path, Allow: allow, Rename: map[string]string{"steal": "steal2", "tell": "tell2", "exists": "exists2"}},
	}}
}

// hunt looks for the canary.
func hunt(t *testing.T, where, text string) {
	t.Helper()
	for _, form := range []string{canary, hex.EncodeToString([]byte(canary)), canary[:9], canary[8:]} {
		if strings.Contains(strings.ToLower(text), form) {
			t.Errorf("%s has the secret, as %s", where, form)
		}
	}
}

// A planted secret is found nowhere: not in events, logs, receipts, errors, the
// store, the cache, what the operator is told, and what the model is sent.
func TestACanaryIsFoundNowhere(t *testing.T) {
	for _, isolation := range []string{"inprocess", "process"} {
		t.Run(isolation, func(t *testing.T) { canaryIsFoundNowhere(t, isolation) })
	}
}

func canaryIsFoundNowhere(t *testing.T, isolation string) {
	t.Helper()
	var sent []string
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header.Get("Authorization"))
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		w.Header().Set("X-Echo", token)
		fmt.Fprintf(w, "you sent %s %x %s", token, token, strings.Join(strings.Split(token, ""), "\n"))
	}))
	defer site.Close()
	var turns []modeltest.Turn
	hows := []string{"", "log", "progress", "stdout", "bytes", "long", "error", "structured", "resource", "panic", "exit"}
	for _, how := range hows {
		args, err := json.Marshal(map[string]string{"url": site.URL, "how": how})
		if err != nil {
			t.Fatal(err)
		}
		turns = append(turns, modeltest.Calls(modeltest.Call("steal", string(args)), modeltest.Call("exists", `{"name":"TOKEN"}`), modeltest.Call("exists2", `{"name":"TOKEN"}`)))
	}
	end := modeltest.Server(t, append(turns, modeltest.Text("done"))...)
	m := thieves(t, site.URL)
	for i := range m.Tools {
		m.Tools[i].Isolation = isolation
	}
	m.Model = manifest.Model{Name: "scripted", BaseURL: end.URL}
	m.Agent.MaxSteps = new(100)
	var log bytes.Buffer
	dir := t.TempDir()
	h, err := host.New(t.Context(), m, &host.Options{
		Getenv: env("TOKEN", canary), CacheDir: dir, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(context.WithoutCancel(t.Context()))
	answers := map[string]int{}
	for ev, err := range h.Run(t.Context(), host.Text("go")) {
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		hunt(t, "an event", string(raw)+fmt.Sprintf("%+v", ev)+ev.Text())
		switch b := ev.Body.(type) {
		case run.Returned:
			raw, err := json.Marshal(b)
			if err != nil {
				t.Fatal(err)
			}
			answers[b.Tool+" "+string(b.ErrorKind)]++
			if strings.Contains(string(raw), "[redacted]") {
				answers["redacted"]++
			}
			if strings.HasPrefix(b.Tool, "exists") {
				answers[b.Tool+"="+b.Content[0].Text]++
			}
		case run.Finished:
			raw, err := json.Marshal(b.Result)
			if err != nil {
				t.Fatal(err)
			}
			hunt(t, "the result", string(raw))
		case run.Failed:
			t.Fatalf("the run failed: %+v", b.Err)
		}
	}
	n := len(hows)
	if answers["exists=1"] != n || answers["exists2=0"] != n || answers["redacted"] < 6 || answers["steal trap"] == 0 || answers["steal exited"] == 0 {
		t.Errorf("the calls ended so: %v", answers)
	}
	if len(sent) != n || sent[0] != "Bearer "+canary {
		t.Errorf("the server was sent %q", sent)
	}
	if len(end.Exchanges()) != n+1 {
		t.Errorf("the model was asked %d times", len(end.Exchanges()))
	}
	for _, e := range end.Exchanges() {
		hunt(t, "a request to the model", fmt.Sprint(string(e.Body), e.Header))
	}
	hunt(t, "the operator's log", log.String())
	hunt(t, "what is told of the tools", fmt.Sprintf("%+v", h.Tools()))
	cached := 0
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		cached++
		hunt(t, "the cache", path+string(data))
		return err
	})
	if err != nil || cached == 0 {
		t.Errorf("%d files in the cache: %v", cached, err)
	}
}

// A module that has no secret cannot pass on that of another, wherever it came by it.
func TestSEC2NoModulePassesOnTheSecretOfAnother(t *testing.T) {
	h, err := host.New(t.Context(), thieves(t, "http://127.0.0.1:9"), &host.Options{Getenv: env("TOKEN", canary), CacheDir: cache.Dir(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(context.WithoutCancel(t.Context()))
	for _, how := range []string{"log", "stderr", "result", "error", "panic", "structured"} {
		var heard []string
		out, err := h.Watch(t.Context(), "tell2", json.RawMessage(fmt.Sprintf(`{"text":"it is %s!","how":%q}`, canary, how)), func(b run.Body) {
			heard = append(heard, fmt.Sprintf("%+v", b))
		})
		if err != nil {
			t.Fatal(err)
		}
		all := fmt.Sprintf("%+v %s", out, heard)
		hunt(t, how, all+string(out.Result.StructuredContent))
		if !strings.Contains(all+string(out.Result.StructuredContent), "[redacted]") {
			t.Errorf("%s: %s", how, all)
		}
	}
}

func TestASecretThatIsNotThereIsAFaultOfItsEntry(t *testing.T) {
	m := thieves(t, "http://127.0.0.1:9")
	_, err := host.New(t.Context(), m, &host.Options{Getenv: env(), CacheDir: cache.Dir(t)})
	if err == nil || !strings.Contains(err.Error(), "tools[0].secrets[0].env: the environment variable TOKEN cannot be used: it is not set") {
		t.Errorf("got %v", err)
	}
}

// A ceiling that does not name a secret takes it away.
func TestACeilingTakesSecretsAway(t *testing.T) {
	m := thieves(t, "http://127.0.0.1:9")
	p, err := m.Tools[0].Policy()
	if err != nil {
		t.Fatal(err)
	}
	without := p
	without.Grants.Secrets = nil
	for want, ceiling := range map[string]policy.Policy{"1": p, "0": without} {
		h, err := host.New(t.Context(), m, &host.Options{Getenv: env("TOKEN", canary), CacheDir: cache.Dir(t), Ceiling: &ceiling})
		if err != nil {
			t.Fatal(err)
		}
		out, err := h.Call(t.Context(), "exists", json.RawMessage(`{"name":"TOKEN"}`))
		if err != nil || out.Result.Content[0].Text != want {
			t.Errorf("%+v %v, want %s", out, err, want)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

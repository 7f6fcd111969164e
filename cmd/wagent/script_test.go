package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/modeltest"
)

func TestMain(m *testing.M) {
	host.Worker()
	testscript.Main(leakless{m}, map[string]func(){
		"wagent":   func() { os.Exit(wagent(context.Background(), os.Args[1:], osStreams())) },
		"stubborn": stubborn,
	})
}

// leakless fails when a goroutine outlives the tests.
type leakless struct{ *testing.M }

func (l leakless) Run() int {
	code := l.M.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// The stories of testdata/script. Beside testscript's own commands they have
//
//	provider FILE   starts an endpoint on loopback that gives the replies of
//	                FILE, a recording, and puts its URL into $BASE_URL; a line
//	                {"status":n,"error":"…"} fails, "break":true cuts the
//	                message in half and {"hang":true} never ends
//	mirror FILE     starts a server that sends credentials back, and puts its
//	                address into FILE in the place of MIRROR
//	mirrored TEXT   fails unless the last credentials it got are TEXT
//	status N CMD…   fails unless CMD exits with status N
//	sent N TEXT     fails unless request N holds TEXT
//	steady FILE…    puts run ids, times, durations and sizes that differ between
//	                runs into one form
//	seqs FILE       fails unless the events of FILE are numbered without a gap
func TestScripts(t *testing.T) {
	chatty := buildGuest(t, "./testdata/chatty")
	keeper := buildGuest(t, "./testdata/keeper")
	curious := buildGuest(t, "./testdata/curious")
	mirrors := &mirrors{sent: map[string][]string{}}
	cache := t.TempDir() // of compiled guests, for all stories
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_CACHE_HOME", cache)
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("MODULES", filepath.Join(root(t), "testdata", "wasm"))
			e.Setenv("CHATTY", chatty)
			e.Setenv("KEEPER", keeper)
			e.Setenv("CURIOUS", curious)
			e.Setenv("OPENAI_API_KEY", "")
			e.Setenv("SCAFFOLD", filepath.Join(root(t), "cmd", "wagent", "scaffold"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"provider": provider, "sent": sent, "steady": steady, "seqs": seqs, "status": status,
			"mirror": mirrors.serve, "mirrored": mirrors.got,
		},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

// buildGuest builds a module of the Go package in dir and returns its path.
func buildGuest(t *testing.T, dir string) string {
	t.Helper()
	module := filepath.Join(t.TempDir(), filepath.Base(dir)+".wasm")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-o", module, dir)
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return module
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// line is one reply of a provider.
type line struct {
	Message model.Message      `json:"message"`
	Usage   model.Usage        `json:"usage"`
	Finish  model.FinishReason `json:"finish_reason"`
	Status  int                `json:"status"`
	Error   string             `json:"error"`
	Hang    bool               `json:"hang"`
	Break   bool               `json:"break"`
}

func provider(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: provider FILE")
	}
	var turns []modeltest.Turn
	for dec := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0]))); dec.More(); {
		var l line
		ts.Check(dec.Decode(&l))
		turn := modeltest.Turn{Message: l.Message, Usage: l.Usage, Finish: l.Finish, Hang: l.Hang, Break: l.Break}
		if l.Status != 0 {
			turn = modeltest.Fail(&model.Error{Status: l.Status, Message: l.Error})
		}
		turns = append(turns, turn)
	}
	end := modeltest.Serve(turns...)
	ts.Defer(end.Close)
	endpoints.put(ts, end)
	ts.Setenv("BASE_URL", end.URL)
}

func sent(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: sent N TEXT")
	}
	var n int
	_, err := fmt.Sscan(args[0], &n)
	ts.Check(err)
	all := endpoints.of(ts).Exchanges()
	if n < 1 || n > len(all) {
		ts.Fatalf("there were %d requests", len(all))
	}
	if body := string(all[n-1].Body); strings.Contains(body, args[1]) == neg {
		ts.Fatalf("request %d: %s", n, body)
	}
}

func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND…")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// changing are the parts of the output that differ between runs.
var changing = []struct {
	re   *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`"run_id":"[a-z2-7]{26}"`), `"run_id":"RUN"`},
	{regexp.MustCompile(`"time":"[^"]*"`), `"time":"TIME"`},
	{regexp.MustCompile(`"wall_ms":[0-9.e+-]+`), `"wall_ms":1`},
	{regexp.MustCompile(`sha256:[0-9a-f]{64}`), `sha256:DIGEST`},
	{regexp.MustCompile(`\b[0-9.]+ (µs|ms|s), `), `TIME, `},
	{regexp.MustCompile(`127\.0\.0\.1:[0-9]+`), `127.0.0.1:PORT`},
}

func steady(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		text := ts.ReadFile(name)
		for _, c := range changing {
			text = c.re.ReplaceAllString(text, c.with)
		}
		path := name
		switch name {
		case "stdout", "stderr":
			path = name + ".txt"
		}
		ts.Check(os.WriteFile(ts.MkAbs(path), []byte(text), 0o600))
	}
}

func seqs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: seqs FILE")
	}
	last := uint64(0)
	for dec := json.NewDecoder(bytes.NewReader([]byte(ts.ReadFile(args[0])))); dec.More(); {
		var e struct {
			Type  string
			Seq   uint64
			After *uint64
			Time  time.Time
		}
		ts.Check(dec.Decode(&e))
		switch {
		case e.After != nil && (e.Seq != 0 || *e.After != last):
			ts.Fatalf("%s comes after %d and says %d", e.Type, last, *e.After)
		case e.After == nil && e.Seq != last+1:
			ts.Fatalf("%s has seq %d after %d", e.Type, e.Seq, last)
		case e.After == nil:
			last = e.Seq
		}
		if e.Time.IsZero() {
			ts.Fatalf("%s has no time", e.Type)
		}
	}
	if last == 0 {
		ts.Fatalf("there is no event")
	}
}

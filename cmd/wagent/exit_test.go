package main

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host/run"
)

func TestExitStatusFollowsTheReason(t *testing.T) {
	exits := []string{"text", "answer", "interrupted"}
	for reason, want := range map[run.ExitReason]int{
		run.ExitText: 0, run.ExitReturnDirect: 0, "answer": 0,
		run.ExitError: 1, run.ExitInterrupted: 130,
		run.ExitMaxSteps: 3, run.ExitMaxDuration: 3, run.ExitLength: 3, run.ExitContentFilter: 3,
		"token_budget_exceeded": 3, "a hook's reason": 3,
	} {
		if got := exitCode(reason, exits); got != want {
			t.Errorf("%s: %d, want %d", reason, got, want)
		}
	}
}

func TestAPanicIsOneLine(t *testing.T) {
	var out, errs bytes.Buffer
	s := &streams{out: panicky{}, err: &errs, getenv: func(string) string { return "" }}
	if code := wagent(t.Context(), []string{"version"}, s); code != exitFailed {
		t.Errorf("exit status %d", code)
	}
	if got := errs.String(); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, "wagent: a fault of wagent itself: ") || out.Len() > 0 {
		t.Errorf("it says %q", got)
	}
}

type panicky struct{}

func (panicky) Write([]byte) (int, error) { panic("out of cheese") }

// What a server sends behind its response, net/http writes into the log of the
// process, as it is: the key of the model, where the server repeats it.
func TestWhatFollowsAResponseIsNotTold(t *testing.T) {
	var told bytes.Buffer
	log.SetOutput(&told)
	defer log.SetOutput(os.Stderr)
	ended := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\n\r\n"+r.Header.Get("Authorization"))
		_, _ = io.Copy(io.Discard, conn) // until the other side closes
		ended <- struct{}{}
	}))
	defer server.Close()
	manifest := filepath.Join(t.TempDir(), "wagent.yaml")
	text := "version: 1\nmodel: {name: m, base_url: " + server.URL + ", api_key: \"${KEY}\", retry: {attempts: 1}}\n"
	if err := os.WriteFile(manifest, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KEY", "cnry-4f1d9c7e2b")
	var errs bytes.Buffer
	s := &streams{out: io.Discard, err: &errs, getenv: os.Getenv, width: func() int { return 0 }}
	if code := wagent(t.Context(), []string{"run", "-f", manifest, "hello"}, s); code != exitFailed {
		t.Errorf("exit status %d: %s", code, errs.String())
	}
	<-ended
	if told.Len() > 0 || strings.Contains(errs.String(), "cnry") {
		t.Errorf("the log has %q, and standard error %q", told.String(), errs.String())
	}
}

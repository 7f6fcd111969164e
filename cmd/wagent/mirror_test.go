package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// mirrors are servers that send back the credentials they were sent, by story.
type mirrors struct {
	mu   sync.Mutex
	sent map[string][]string
}

// serve is the command mirror: it starts a server and puts its address into the
// manifest that it is given, where that says MIRROR.
func (m *mirrors) serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: mirror FILE")
	}
	story := ts.MkAbs(".")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.sent[story] = append(m.sent[story], r.Header.Get("Authorization"))
		fmt.Fprintf(w, "you sent %s", r.Header.Get("Authorization"))
	}))
	ts.Defer(s.Close)
	text := strings.ReplaceAll(ts.ReadFile(args[0]), "MIRROR", s.URL)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// got is the command mirrored: it fails unless the server got the credentials.
func (m *mirrors) got(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: mirrored CREDENTIALS")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.sent[ts.MkAbs(".")]
	if len(all) == 0 || all[len(all)-1] != args[0] {
		ts.Fatalf("the server got %q", all)
	}
}

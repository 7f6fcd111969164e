package main

import (
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wagent-dev/wagent/host/model/modeltest"
)

// running keeps the endpoint of each script, which may run beside others.
type running struct {
	mu     sync.Mutex
	byWork map[string]*modeltest.Endpoint
}

var endpoints = running{byWork: map[string]*modeltest.Endpoint{}}

func (r *running) put(ts *testscript.TestScript, e *modeltest.Endpoint) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byWork[ts.Getenv("WORK")] = e
}

func (r *running) of(ts *testscript.TestScript) *modeltest.Endpoint {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.byWork[ts.Getenv("WORK")]
	if e == nil {
		ts.Fatalf("no provider was started")
	}
	return e
}

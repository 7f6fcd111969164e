//go:build race

package agent_test

// Under the race detector a script takes ten times as long, and what is new to it are
// the goroutines and not the scripts: `make e2e` tries ten thousand without it.
const checks, replyCalls = "60", 300

package agent

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/run"
)

// pairwise is what waves means, each action held against each other.
func pairwise(a *Agent, actions []run.Action) []int {
	feeds := func(i, j int) bool {
		w, r := a.tool(actions[i].Tool), a.tool(actions[j].Tool)
		return i != j && w != nil && r != nil && slices.ContainsFunc(w.Writes, func(out StateWrite) bool {
			return slices.ContainsFunc(r.Reads, func(in StateRead) bool { return in.Key == out.Key })
		})
	}
	waves := make([]int, len(actions))
	left := make([]int, len(actions))
	for i := range left {
		left[i] = i
	}
	for wave := 0; len(left) > 0; wave++ {
		var ready []int
		for _, j := range left {
			if !slices.ContainsFunc(left, func(i int) bool { return feeds(i, j) }) {
				ready = append(ready, j)
			}
		}
		if len(ready) == 0 {
			ready = left[:1:1]
		}
		for _, i := range ready {
			waves[i] = wave
		}
		left = slices.DeleteFunc(slices.Clone(left), func(i int) bool { return slices.Contains(ready, i) })
	}
	return waves
}

func TestWavesAreThoseOfEachPair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SampledFrom([]string{"k", "l", "m"})
		a := &Agent{}
		for i := range 4 {
			one := Tool{Definition: model.Definition{Name: fmt.Sprint(i)}}
			for _, k := range rapid.SliceOfN(key, 0, 3).Draw(t, "reads") {
				one.Reads = append(one.Reads, StateRead{Key: k})
			}
			for _, k := range rapid.SliceOfN(key, 0, 3).Draw(t, "writes") {
				one.Writes = append(one.Writes, StateWrite{Key: k})
			}
			a.Tools = append(a.Tools, one)
		}
		var actions []run.Action
		for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"0", "1", "2", "3", "none"}), 0, 12).Draw(t, "calls") {
			actions = append(actions, run.Action{Tool: name})
		}
		if got, want := a.waves(actions), pairwise(a, actions); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// The square of 5,000 calls takes minutes, and nobody can cancel it.
func TestWavesOfThousandsOfCallsAreFoundAtOnce(t *testing.T) {
	for name, tools := range map[string]int{"one tool": 1, "a circle": 200} {
		a := &Agent{}
		for i := range tools {
			a.Tools = append(a.Tools, Tool{
				Definition: model.Definition{Name: fmt.Sprint(i)},
				Reads:      []StateRead{{Key: fmt.Sprint(i)}}, Writes: []StateWrite{{Key: fmt.Sprint((i + 1) % tools)}},
			})
		}
		var actions []run.Action
		for i := range 5000 {
			actions = append(actions, run.Action{Tool: fmt.Sprint(i % tools)})
		}
		began := time.Now()
		waves := a.waves(actions)
		if took := time.Since(began); took > 5*time.Second { // a hundredth of it on a quiet machine
			t.Errorf("%s: %v", name, took)
		}
		if slices.Max(waves) == 0 {
			t.Errorf("%s: nobody waits", name)
		}
	}
}

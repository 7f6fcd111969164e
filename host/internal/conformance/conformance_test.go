package conformance

import (
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/wagent-dev/wagent/host/internal/testkit"
)

var casesFile = flag.String("cases", "", "a file of cases to run instead of those of the repository, as an absolute path")

// verdict is what became of a case.
type verdict struct {
	kind string // passes, differs, waits or fails
	why  string // the rule, what it waits for, or what is wrong
}

const (
	passes  = "passes"
	differs = "differs"
	waits   = "waits"
	fails   = "fails"
)

// judge runs a case. One that is ours is held to the table alone; for another,
// byRule lets the rules explain a difference.
func judge(t *testing.T, c *testCase, d *difference, byRule bool) verdict {
	t.Helper()
	if c.broken != nil {
		return verdict{fails, c.broken.Error()}
	}
	if w := c.waiting(); w != "" {
		return verdict{waits, w}
	}
	if err := c.unknown(); err != nil {
		return verdict{fails, err.Error()}
	}
	if d != nil {
		if wrong := d.check(t, c); wrong != "" {
			return verdict{fails, "(listed as a difference: " + d.Rule + ") " + wrong}
		}
		return verdict{differs, d.Rule}
	}
	got, wrong := c.outcome(t)
	if wrong != "" {
		return verdict{fails, wrong}
	}
	if wrong = differ(c.theirs(), got); wrong == "" {
		return verdict{passes, ""}
	}
	if want := c.theirs(); byRule {
		if rule := c.byRule(want); rule != "" && differ(want, got) == "" {
			return verdict{differs, rule}
		}
	}
	return verdict{fails, wrong}
}

// waiting is the feature that a case needs and that is not there, or "".
func (c *testCase) waiting() string {
	if c.Waits != "" {
		return c.Waits
	}
	needs := map[string]bool{}
	for _, hooks := range c.Agent.Hooks {
		for _, h := range hooks {
			kind := fmt.Sprint(h["kind"])
			if kind == "budget" && h["add_final_message"] == nil {
				continue // it is a limit of the run
			}
			needs[kind] = true
		}
	}
	switch {
	case needs["confirm"]:
		return "confirmation"
	case needs["offload"]:
		return "offload"
	case needs["compaction"]:
		return "compaction"
	case len(needs) > 0:
		return "hooks"
	}
	return ""
}

func (c *testCase) needsState() bool {
	if c.Agent.State != nil {
		return true
	}
	return slices.ContainsFunc(c.Agent.Tools, func(s toolSpec) bool { return s.InputsFromState != nil || s.OutputsToState != nil })
}

// TestConformance runs every case, or those of the file that is named. It fails
// for a case that neither passes nor is listed, and for an entry of the table
// that does not hold.
func TestConformance(t *testing.T) {
	folder := filepath.Join(testkit.Root(t), "testdata", "conformance")
	listed := table(t, filepath.Join(folder, "differences.json"))
	files := []string{filepath.Join(folder, "haystack.json"), filepath.Join(folder, "langchain.json")}
	ours := make(map[string]bool)
	var all []*testCase
	for _, f := range files {
		all = append(all, load(t, f)...)
	}
	for _, c := range all {
		if ours[c.ID] {
			t.Errorf("two cases have the id %s", c.ID)
		}
		ours[c.ID] = true
	}
	for id := range listed {
		if !ours[id] {
			t.Errorf("differences.json lists %s, which is no case", id)
		}
	}
	if *casesFile != "" {
		all = load(t, *casesFile)
	}
	report(t, all, func(t *testing.T, c *testCase) verdict { return judge(t, c, listed[c.ID], !ours[c.ID]) })
}

// report judges cases and prints the counts.
func report(t *testing.T, all []*testCase, judged func(*testing.T, *testCase) verdict) {
	t.Helper()
	kinds, reasons := map[string]int{}, map[string]map[string]int{differs: {}, waits: {}}
	for _, c := range all {
		t.Run(c.ID, func(t *testing.T) {
			v := judged(t, c)
			kinds[v.kind]++
			if r := reasons[v.kind]; r != nil {
				r[v.why]++
			}
			if v.kind == fails {
				t.Error(v.why)
			}
		})
	}
	fmt.Printf("conformance: %d cases: %d pass, %d differ on purpose, %d wait, %d fail\n",
		len(all), kinds[passes], kinds[differs], kinds[waits], kinds[fails])
	for _, k := range []string{differs, waits} {
		for _, why := range slices.Sorted(maps.Keys(reasons[k])) {
			fmt.Printf("  %s: %3d %s\n", k, reasons[k][why], why)
		}
	}
}

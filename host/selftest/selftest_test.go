package selftest

import (
	"strings"
	"testing"
)

func TestEveryAttackIsHeldOff(t *testing.T) {
	n := 0
	for r, err := range Run(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		switch {
		case r.Skipped != "":
			t.Errorf("%s %s: skipped: %s", r.ID, r.What, r.Skipped)
		case r.Failed():
			t.Errorf("%s %s: %s", r.ID, r.What, r.Problem)
		}
		t.Logf("%-7s %8.1f ms %9d B  %s", r.ID, r.WallMS, r.PeakBytes, r.What)
	}
	if n != len(All()) || n < 60 {
		t.Errorf("%d checks of %d", n, len(All()))
	}
}

func TestIDsAreUniqueAndNameARequirement(t *testing.T) {
	seen := make(map[string]bool)
	for _, id := range All() {
		if seen[id] || strings.Count(id, "-") != 1 {
			t.Errorf("id %q", id)
		}
		seen[id] = true
	}
}

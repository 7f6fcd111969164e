package selftest

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
)

// TestMain makes this test a program whose guests can have processes of their own.
func TestMain(m *testing.M) {
	sandbox.Worker()
	os.Exit(m.Run())
}

func TestEveryAttackIsHeldOff(t *testing.T) {
	for name, o := range map[string]*Options{"inprocess": nil, "process": {Isolated: true}} {
		t.Run(name, func(t *testing.T) { everyAttackIsHeldOff(t, o) })
	}
}

func everyAttackIsHeldOff(t *testing.T, o *Options) {
	t.Helper()
	n := 0
	for r, err := range Run(t.Context(), o) {
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
	if n != len(All()) || n < 150 {
		t.Errorf("%d checks of %d", n, len(All()))
	}
}

// An id is that of a requirement, and a text is read alone, by who has not seen the
// one before it.
func TestEveryCheckSaysWhatItIs(t *testing.T) {
	id := regexp.MustCompile(`^(CPU|MEM|MOD|ISO|FS|NET|SEC|KV|LOG|TXT|BUD)-[0-9]+[a-z]?$`)
	seen := make(map[string]bool)
	for _, c := range checks() {
		if seen[c.id] || seen[c.what] || !id.MatchString(c.id) {
			t.Errorf("%s %q is there twice, or its id is none", c.id, c.what)
		}
		seen[c.id], seen[c.what] = true, true
		if c.what == "" || c.how == "" || strings.Contains(c.what, "the same by") || len(c.what)+len(c.how) > 150 {
			t.Errorf("%s: what is tried is %q, and what holds %q", c.id, c.what, c.how)
		}
	}
}

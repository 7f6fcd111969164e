package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host"
	"github.com/wagent-dev/wagent/host/policy"
)

// A ceiling names folders, and a name below one may be a link out of it.
func TestALinkDoesNotLeadOutOfTheCeiling(t *testing.T) {
	inside, outside := t.TempDir(), t.TempDir()
	alias := filepath.Join(t.TempDir(), "alias")
	for _, link := range [][2]string{{outside, filepath.Join(inside, "out")}, {inside, alias}} {
		if err := os.Symlink(link[0], link[1]); err != nil {
			t.Fatal(err)
		}
	}
	ceiling := policy.Default()
	ceiling.Grants.Read = []policy.Mount{{Host: alias, Guest: "/any"}}
	for _, c := range []struct {
		name, folder string
		granted      bool
	}{
		{"the folder itself", inside, true},
		{"another name of it", alias, true},
		{"a link out of it", filepath.Join(inside, "out"), false},
		{"a link out of it by another name", filepath.Join(alias, "out"), false},
		{"a folder elsewhere", outside, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := open(t, strings.TrimSpace(counting)+"\n    allow: {read: {'"+c.folder+"': /data}}\n",
				host.Options{Getenv: env("BASE_URL", "http://127.0.0.1:1"), Ceiling: &ceiling})
			if got := h.Tools()[0].Policy.Grants.Read; len(got) > 0 != c.granted {
				t.Errorf("granted: %v", got)
			}
		})
	}
}

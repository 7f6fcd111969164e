package sandbox

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host/policy"
)

// residentPeak returns the most memory that this process had since the last
// time, in bytes, and begins anew.
func residentPeak(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	return kib * policy.KiB
}

func TestAGroupsMemoryIsTheLeastOfItsOwnAndThoseAround(t *testing.T) {
	files := map[string]string{
		"/sys/fs/cgroup/memory.max":                            "max\n",
		"/sys/fs/cgroup/a/memory.max":                          "3000\n",
		"/sys/fs/cgroup/a/b/memory.max":                        "5000\n",
		"/sys/fs/cgroup/memory/memory.limit_in_bytes":          "9223372036854771712\n",
		"/sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes": "2000\n",
	}
	read := func(name string) ([]byte, error) {
		text, ok := files[name]
		if !ok {
			return nil, os.ErrNotExist
		}
		return []byte(text), nil
	}
	for own, want := range map[string]int64{
		"":                       10_000,
		"0::/\n":                 10_000,
		"0::/a/b\n":              3000,
		"0::/a/b/c/d\n":          3000,
		"5:memory:/docker/x\n":   2000,
		"5:cpu,cpuacct:/a/b\n":   10_000,
		"nonsense\n::\n0:\n":     10_000,
		"0::/../../etc/passwd\n": 10_000,
	} {
		if got := groupMemory(own, read, 10_000); got != want {
			t.Errorf("%q: %d, want %d", own, got, want)
		}
	}
}

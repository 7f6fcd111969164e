package manifest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestAViewOfTheKernelIsNoFolder(t *testing.T) {
	dir := folder(t)
	link(t, "/proc/self/cwd", filepath.Join(dir, "cwd"))
	link(t, "/sys/kernel", filepath.Join(dir, "kernel"))
	for _, kind := range []string{"read", "write"} {
		for _, path := range []string{"/proc", "/proc/self", "/proc/self/cwd", "/proc/1", "/sys", "/sys/kernel", "/dev", "/dev/fd", "cwd", "kernel", "/dev/../proc"} {
			src := oneTool + "    allow: {" + kind + ": {" + path + ": /x}}\n"
			m, err := Parse([]byte(src), filepath.Join(dir, "wagent.yaml"), noEnv)
			if err != nil {
				t.Fatal(err)
			}
			at := fmt.Sprintf("wagent.yaml:4:%d: tools[0].allow.%s[", 18+len(kind)+len(path), kind)
			if got := messages(m.Check(), dir); !strings.HasPrefix(got, at) || !strings.Contains(got, "is a view of the kernel") {
				t.Errorf("%s: %q, want it at %s", src, got, at)
			}
		}
	}
	for _, path := range []string{"/dev/shm", "/processes", "/dev/shm/x"} {
		if ofKernel(path, true) {
			t.Errorf("%s is taken for a view of the kernel", path)
		}
	}
	if ofKernel("/dev", false) || ofKernel("/", true) {
		t.Error("what is above is refused")
	}
}

package sandbox

import (
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// machineMemory is how much memory this process may use, in bytes: that of the
// machine, or what its control group allows (memory.max of version 2,
// memory.limit_in_bytes of version 1). 0: not known.
func machineMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	total := int64(info.Totalram) * int64(info.Unit)
	own, _ := os.ReadFile("/proc/self/cgroup") // without it: the root's
	return min(total, groupMemory(string(own), os.ReadFile, total))
}

// groupMemory is the smallest limit of the groups that own lists, and of those
// around them.
func groupMemory(own string, read func(string) ([]byte, error), total int64) int64 {
	at := func(file string) {
		text, err := read(file)
		if err != nil {
			return // no limit, or none of this version
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
			total = min(total, n)
		}
	}
	at("/sys/fs/cgroup/memory.max")
	at("/sys/fs/cgroup/memory/memory.limit_in_bytes")
	for line := range strings.Lines(own) {
		id, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		for ; group != "" && group != "/" && group != "."; group = path.Dir(group) {
			switch {
			case id == "0" && controllers == "":
				at(path.Join("/sys/fs/cgroup", group, "memory.max"))
			case controllers == "memory":
				at(path.Join("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes"))
			}
		}
	}
	return total
}

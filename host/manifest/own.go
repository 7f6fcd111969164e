package manifest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A tool that may write where the manifest is grants itself what it likes in the
// next run, and one that may write its module is another tool. So what wagent
// itself reads lies in no folder that a tool may write. Folders are compared by
// what they are, not by their names: there are links, mounts and file systems
// that do not tell capitals apart.

// belonging is something that wagent reads, and a folder through which it is
// found: whoever can write there can put something else in its place.
type belonging struct {
	what   string
	folder fs.FileInfo
}

const narrower = ": grant a folder that holds nothing but what the tool may change, such as one below it"

// covers says in words what a folder must not be writable for, or "". The
// folder's own faults are told elsewhere.
func (c *checker) covers(folder string) string {
	info, err := os.Stat(folder)
	if err != nil {
		return ""
	}
	if c.own == nil {
		c.own = c.belongings()
	}
	for _, b := range c.own {
		if os.SameFile(info, b.folder) {
			return "the folder holds " + b.what + ", which the host reads" + narrower
		}
	}
	if c.Path == "" {
		return ""
	}
	for _, step := range through(folder) {
		if strings.EqualFold(filepath.Base(step), ".git") {
			return "the folder lies in a .git folder, whose files make Git run programs: grant another"
		}
	}
	if holdsGit(folder) {
		return "the folder holds a .git folder, whose files make Git run programs" + narrower
	}
	return ""
}

// Covers returns an [*Error] at the first folder that the tool may write and that
// holds what path stands for, or through which it is found; what names it in the
// error. It is for what a host reads besides the files of the manifest, which
// [Manifest.Check] looks at. Folders are compared by what they are.
func (t *Tool) Covers(what, path string) error {
	steps := through(path)
	for _, host := range sortedKeys(t.Allow.Write) {
		folder, err := os.Stat(host)
		if err != nil {
			continue
		}
		for _, step := range steps {
			if info, err := os.Stat(step); err == nil && os.SameFile(folder, info) {
				field := within(t.field, entry("allow.write", host))
				return faultAt(t.origin, field, t.origin.near(field), errors.New("the folder holds "+what+", which the host reads"+narrower))
			}
		}
	}
	return nil
}

// CoversThoseOf returns an [*Error] at each folder that a tool of m may write and that
// holds something which a host of other reads, joined. It is for agents that call each
// other, whose own files [Manifest.Check] has looked at.
func (m *Manifest) CoversThoseOf(other *Manifest) error {
	var faults []error
	var theirs []belonging
	for i := range m.Tools {
		t := &m.Tools[i]
		if t.Agent != "" {
			continue // it can only take away from what the agent's own tools may write
		}
		for _, host := range sortedKeys(t.Allow.Write) {
			folder, err := os.Stat(m.absolute(host))
			if err != nil {
				continue
			}
			if theirs == nil {
				theirs = (&checker{Manifest: other}).belongings()
			}
			i := slices.IndexFunc(theirs, func(b belonging) bool { return os.SameFile(folder, b.folder) })
			if i >= 0 {
				field := within(t.field, entry("allow.write", host))
				faults = append(faults, faultAt(t.origin, field, t.origin.near(field),
					errors.New("the folder holds "+theirs[i].what+", which the host reads for another agent"+narrower)))
			}
		}
	}
	return errors.Join(faults...)
}

// belongings are the manifest, the modules, the agents and the recording.
func (c *checker) belongings() []belonging {
	out := []belonging{}
	seen := map[string]bool{}
	add := func(what, path string) {
		for _, step := range through(path) {
			if info, err := os.Stat(step); err == nil && info.IsDir() && !seen[step] {
				seen[step] = true
				out = append(out, belonging{what, info})
			}
		}
	}
	if c.Path != "" {
		add("the manifest", filepath.Join(c.Dir, filepath.Base(c.Path)))
	}
	for i := range c.Tools {
		if module := c.Tools[i].Module; module != "" && !remote(module) {
			add("the module "+show(filepath.Base(module)), c.absolute(module))
		}
		if agent := c.Tools[i].Agent; agent != "" && !remote(agent) {
			add("the agent "+show(filepath.Base(agent)), c.absolute(agent))
		}
	}
	if module := c.Agent.OnParseError.Module; module != "" && !remote(module) {
		add("a module", c.absolute(module))
	}
	if c.Model.Recording != "" {
		add("the recording", c.absolute(c.Model.Recording))
	}
	return out
}

// maxLinks is how many links are followed; more are a circle.
const maxLinks = 64

// through returns the folders that looking up path goes through, by names in
// which no link is left, and at last what path itself stands for.
func through(path string) []string {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	at, rest := root(path)
	var steps []string
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		steps = append(steps, at)
		next := filepath.Join(at, name)
		target, err := os.Readlink(next)
		if err != nil { // no link
			at = next
			continue
		}
		if links++; links > maxLinks {
			break
		}
		if filepath.IsAbs(target) {
			var more []string
			at, more = root(target)
			rest = append(more, rest...)
		} else {
			rest = append(strings.Split(filepath.ToSlash(target), "/"), rest...)
		}
	}
	return append(steps, at)
}

// root splits an absolute path into where it begins and its names.
func root(path string) (string, []string) {
	volume := filepath.VolumeName(path)
	return volume + string(filepath.Separator), strings.Split(filepath.ToSlash(path[len(volume):]), "/")
}

// Bounds of the search for a repository below a folder: one is found where people
// have it, and a large tree does not hold up the start.
const (
	maxSearched = 1000   // folders
	maxListed   = 20_000 // names
)

// holdsGit looks for a .git below a folder, from the top down, through no links.
// It may be a file, which names the folder.
func holdsGit(folder string) bool {
	queue := []string{folder}
	listed := 0
	for i := 0; i < len(queue) && i < maxSearched && listed < maxListed; i++ {
		entries := list(queue[i], maxListed-listed)
		listed += len(entries)
		for _, e := range entries {
			if strings.EqualFold(e.Name(), ".git") {
				return true
			}
			if e.IsDir() {
				queue = append(queue, filepath.Join(queue[i], e.Name()))
			}
		}
	}
	return false
}

// list returns at most n entries of a folder, none where it cannot be read.
func list(folder string, n int) []fs.DirEntry {
	f, err := os.Open(folder)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(n) // what could be read is enough
	return entries
}

// kernel refuses a folder that is a view of the kernel and not files on a disk, or
// that is found through one: what /proc/self stands for differs for everybody.
func (c *checker) kernel(field, path string) {
	steps := through(path)
	for i, step := range steps {
		if ofKernel(filepath.ToSlash(step), i == len(steps)-1) {
			c.absent(field, "the folder is a view of the kernel (%s) and holds no files of yours: grant another", show(step))
			return
		}
	}
}

// ofKernel knows the places that every Unix has. What is mounted elsewhere is
// refused when it is opened.
func ofKernel(step string, last bool) bool {
	switch {
	case step == "/dev":
		return last
	case step == "/dev/shm", strings.HasPrefix(step, "/dev/shm/"): // memory that is used as a disk
		return false
	}
	for _, view := range []string{"/proc", "/sys", "/dev"} {
		if step == view || strings.HasPrefix(step, view+"/") {
			return true
		}
	}
	return false
}

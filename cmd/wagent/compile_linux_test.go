package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// straight is a command with so many bytes of calls in its only other function: two
// megabytes keep a compiler busy for ten seconds and more.
func straight(code int) []byte {
	sized := func(s string) string { return string(binary.AppendUvarint(nil, uint64(len(s)))) + s }
	return []byte("\x00asm\x01\x00\x00\x00" +
		"\x01" + sized("\x01\x60\x00\x00") +
		"\x03" + sized("\x02\x00\x00") +
		"\x05" + sized("\x01\x00\x01") +
		"\x07" + sized("\x02"+sized("memory")+"\x02\x00"+sized("_start")+"\x00\x01") +
		"\x0a" + sized("\x02"+sized("\x00\x0b")+sized("\x00"+strings.Repeat("\x10\x00", code/2)+"\x0b")))
}

// An interrupt ends the process that compiles with the one that waits for it, and
// nothing of what it had written stays.
func TestAnInterruptLeavesNothingOfACompiler(t *testing.T) {
	bin, dir := build(t), t.TempDir()
	manifest := "version: 1\nmodel: {name: scripted}\ntools: [{module: ./straight.wasm}]\n"
	for name, data := range map[string]string{"straight.wasm": string(straight(2<<20 - 100)), "wagent.yaml": manifest} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, args := range map[string][]string{"inspect": {"tools", "inspect", "straight.wasm"}, "run": {"run", "go"}} {
		t.Run(name, func(t *testing.T) {
			temporary := t.TempDir()
			s := spawn(t, dir, []string{"TMPDIR=" + temporary}, append([]string{bin}, args...)...)
			worker := s.awaitChild(t)
			code, took := s.interrupt(t)
			if code != exitInterrupted || took > time.Second || s.stderr.String() != "wagent: interrupted\n" {
				t.Errorf("exit status %d after %s\n%s", code, took, s.stderr.String())
			}
			if _, err := os.Stat(worker); err == nil {
				t.Errorf("%s is left", worker)
			}
			for _, at := range []string{temporary, filepath.Join(dir, "wagent")} {
				if left := under(t, at); len(left) > 0 {
					t.Errorf("files are left: %v", left)
				}
			}
		})
	}
}

// awaitChild blocks until the process has started another one, and returns the
// folder where the system tells of that. A minute is more than a loaded machine
// takes to read two megabytes.
func (s *started) awaitChild(t *testing.T) string {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) { // polls a process, and decides nothing
		all, err := filepath.Glob("/proc/[0-9]*")
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range all {
			stat, _ := os.ReadFile(filepath.Join(at, "stat")) // it may have ended
			_, rest, _ := strings.Cut(string(stat), ") ")
			var state string
			var parent int
			if _, err := fmt.Sscan(rest, &state, &parent); err == nil && parent == s.cmd.Process.Pid {
				return at
			}
		}
	}
	t.Fatalf("no process was started\n%s", s.stderr.String())
	return ""
}

// under lists the files below dir, and the folders of a compiler.
func under(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err == nil && (!d.IsDir() || strings.Contains(d.Name(), "compiling-")) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// The doors are the ways by which a guest comes to the host: each has the same
// guest, which does what a test tells it to by the system interface.
const (
	doorSDK    = "sdk"    // a tool of our SDK
	doorExtism = "extism" // an Extism plugin
	doorWASI   = "wasi"   // a program
)

func doors() []string { return []string{doorSDK, doorExtism, doorWASI} }

// step names a thing that the guest of testdata/doors does; see Step there.
type doorStep struct {
	Do, Dir, Path, To, Name, Flags, FD, As, Text string `json:",omitempty"`

	N, Off uint64 `json:",omitempty"`
	Times  int    `json:",omitempty"`
	Raw    bool   `json:",omitempty"`

	want string
}

// doorSource is the guest behind a door.
func doorSource(t testing.TB, door string, change ...func(*Source)) Source {
	t.Helper()
	dir := filepath.Join("testdata", "doors", door)
	src := doorTerms(door)
	if door == doorWASI {
		src.Wasm = builds.Command(t, dir)
	} else {
		src.Wasm = builds.Tool(t, dir)
	}
	for _, f := range change {
		f(&src)
	}
	return src
}

// doorTerms is doorSource without the module.
func doorTerms(door string) Source {
	src := Source{Name: door + ".wasm", Policy: policy.Default()}
	switch door {
	case doorExtism:
		plainTool("script")(&src)
	case doorWASI:
		src.Tool = &abi.Tool{Name: "script"}
	}
	return src
}

// through is a call of the guest, which is told to do steps.
func through(t testing.TB, steps []doorStep) Call {
	t.Helper()
	args, err := json.Marshal(map[string]any{"Steps": steps})
	if err != nil {
		t.Fatal(err)
	}
	return Call{ID: "c1", Tool: "script", Arguments: args}
}

// answersAtDoors does steps through each door and checks what came of each, that
// the call ends well, and all that holds for every guest (see suffers). fresh
// makes the world anew before each.
func (l *lab) answersAtDoors(t *testing.T, grant func(*Source), steps []doorStep, fresh func()) {
	t.Helper()
	l.answersAt(t, doors(), grant, steps, fresh)
}

func (l *lab) answersAt(t *testing.T, doors []string, grant func(*Source), steps []doorStep, fresh func()) {
	t.Helper()
	for _, door := range doors {
		if fresh != nil {
			fresh()
		}
		l.suffers(t, attack{what: door, src: doorSource(t, door, grant), want: well, on: func(m *Module) Outcome {
			out := m.Call(t.Context(), through(t, steps))
			got := strings.Split(said(out), "\n")
			if out.Fault != "" || len(got) != len(steps) {
				t.Errorf("%q %.300q %s", out.Fault, said(out), out.Detail)
				return out
			}
			for i, s := range steps {
				if got[i] != s.want {
					t.Errorf("%s: got %.300q, want %q", s, got[i], s.want)
				}
			}
			return out
		}})
	}
}

func (s doorStep) String() string {
	return strings.Join(strings.Fields(fmt.Sprintf("%s %s %.60q %s %.60q %s %s x%d", s.Do, s.Dir, s.Path, s.To, s.Name, s.Flags, s.FD, s.Times)), " ")
}

// refused are the answers of the host that say no.
func refused(e errno) string { return fmt.Sprintf("errno %d", e) }

func refusedAfter(e errno, n int) string { return fmt.Sprintf("errno %d after %d", e, n) }

// tree is what lies in a folder: names, and what they hold or where they lead.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			out[name] = "a folder"
		case d.Type()&os.ModeSymlink != 0:
			out[name], err = os.Readlink(path)
		case d.Type().IsRegular():
			var b []byte
			b, err = os.ReadFile(path)
			out[name] = string(b)
		default:
			out[name] = d.Type().String()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// same checks that nothing in a folder has changed.
func same(t *testing.T, dir string, before map[string]string) {
	t.Helper()
	if diff := cmp.Diff(before, tree(t, dir)); diff != "" {
		t.Errorf("the host's files changed: %s", diff)
	}
}

const swapperArg = "--swapper="

// swapper makes this process one that exchanges what two names in a folder stand
// for, until its input ends: a file and a link to one outside, a folder and a link
// to one outside.
func swapper() {
	dir, ok := strings.CutPrefix(os.Args[len(os.Args)-1], swapperArg)
	if !ok {
		return
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	for i := 0; ; i++ {
		for name, targets := range map[string][2]string{"file": {"good", "bad"}, "dir": {"gooddir", "baddir"}} {
			path := filepath.Join(dir, name)
			if err := os.Symlink(targets[i%2], path+".tmp"); err != nil {
				panic(err)
			}
			if err := os.Rename(path+".tmp", path); err != nil {
				panic(err)
			}
		}
		if i == 0 {
			fmt.Println("swapping")
		}
	}
}

// swapping starts a swapper and returns when it has begun.
func swapping(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], swapperArg+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
}

const tracedArg = "--traced="

// tracedOrder is what a traced process does: calls of guests, each between two
// looks at names that say where in the trace it is.
type tracedOrder struct {
	Cache string
	Wasm  map[string]string // by door
	Read  map[string]string // host folder: guest folder
	Write map[string]string
	Args  json.RawMessage
}

const (
	tracedBegin = "/a call begins"
	tracedEnd   = "/a call has ended"
)

// traced makes this process one whose calls of the system are looked at.
func traced() {
	path, ok := strings.CutPrefix(os.Args[len(os.Args)-1], tracedArg)
	if !ok {
		return
	}
	if err := tracedCalls(path); err != nil {
		panic(err)
	}
	os.Exit(0)
}

func tracedCalls(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var o tracedOrder
	if err := json.Unmarshal(raw, &o); err != nil {
		return err
	}
	e, err := New(Options{CacheDir: o.Cache})
	if err != nil {
		return err
	}
	ctx := context.Background()
	for _, door := range doors() {
		src := doorTerms(door)
		if src.Wasm, err = os.ReadFile(o.Wasm[door]); err != nil {
			return err
		}
		for host, guest := range o.Read {
			src.Policy.Grants.Read = append(src.Policy.Grants.Read, policy.Mount{Host: host, Guest: guest})
		}
		for host, guest := range o.Write {
			src.Policy.Grants.Write = append(src.Policy.Grants.Write, policy.Mount{Host: host, Guest: guest})
		}
		m, err := e.Load(ctx, src)
		if err != nil {
			return err
		}
		for range 2 { // in a fresh guest and in one that was put back
			_, _ = os.Stat(tracedBegin)
			out := m.Call(ctx, Call{Tool: "script", Arguments: o.Args})
			_, _ = os.Stat(tracedEnd)
			if out.Fault != "" {
				return fmt.Errorf("%s: %s %s", door, out.Fault, out.Detail)
			}
			fmt.Println(said(out))
		}
	}
	return e.Close(ctx)
}

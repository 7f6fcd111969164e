//go:build wasip1

// The guest of the sandbox's tests: a tool of the wagent ABI without an SDK.
// Which test it serves is decided by the tool's name.
package main

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"os"
	"strings"
	"time"
	"unsafe"

	"github.com/wagent-dev/wagent/sdk/abi"
)

var (
	buffer []byte // what the host writes into
	answer []byte // kept until the host has read it
	calls  int
	began  = time.Now()
)

//go:wasmimport wagent http
func httpCall(ptr, n uint32) int64

//go:wasmimport wagent read
func httpRead(handle, ptr, n uint32) int32

//go:wasmimport wagent log
func logLine(level int32, ptr, n uint32)

//go:wasmimport wagent progress
func progress(permille int32, ptr, n uint32)

//go:wasmexport wagent_abi
func version() uint32 { return abi.Version }

//go:wasmexport wagent_alloc
func alloc(n uint32) uint32 {
	buffer = make([]byte, n+1)
	return at(buffer)
}

//go:wasmexport wagent_describe
func describe() uint64 {
	return give(abi.Description{Tools: []abi.Tool{{Name: "echo", Description: "Answers its arguments."}}})
}

//go:wasmexport wagent_call
func call(_, n uint32) uint64 {
	var req abi.Request
	if err := json.Unmarshal(buffer[:n], &req); err != nil {
		return give(abi.Response{V: 1, Error: &abi.Error{Kind: abi.Internal, Message: err.Error()}})
	}
	text, err := serve(req)
	if err != nil {
		return give(abi.Response{V: 1, Error: &abi.Error{Kind: abi.NotFound, Message: err.Error()}})
	}
	return give(abi.Response{V: 1, Result: abi.Result{Content: []abi.Content{{Type: "text", Text: text}}}})
}

func serve(req abi.Request) (string, error) {
	var arg string
	_ = json.Unmarshal(req.Arguments, &arg)
	switch req.Tool {
	case "echo":
		return string(req.Arguments), nil
	case "request":
		req.DeadlineMS = min(req.DeadlineMS, 1)
		b, err := json.Marshal(req)
		return string(b), err
	case "count":
		calls++
		return fmt.Sprint(calls), nil
	case "panic":
		panic("out of cheese")
	case "hoard":
		var all [][]byte
		for {
			all = append(all, make([]byte, 1<<20))
			calls = len(all)
		}
	case "env":
		return strings.Join(append(os.Environ(), os.Args...), "\n"), nil
	case "clock":
		return time.Now().UTC().Format(time.RFC3339Nano), nil
	case "random":
		return random()
	case "rand":
		return fmt.Sprint(rand.Uint64()), nil
	case "maporder":
		m := map[int]bool{}
		for i := range 50 {
			m[i] = true
		}
		var order []int
		for i := range m {
			order = append(order, i)
		}
		return fmt.Sprint(order), nil
	case "maphash":
		return fmt.Sprint(maphash.String(maphash.MakeSeed(), "a")), nil
	case "elapsed":
		return time.Since(began).String(), nil
	case "sleep":
		time.Sleep(time.Hour)
		return "woke", nil
	case "stdin":
		b := make([]byte, 10)
		n, err := os.Stdin.Read(b)
		return fmt.Sprint(n, err), nil
	case "print":
		fmt.Println("to stdout")
		fmt.Fprintln(os.Stderr, "to stderr")
		say("to the log")
		progress(500, at([]byte("half")), 4)
		return "printed", nil
	case "fetch":
		return fetch(arg)
	default:
		return files(req.Tool, arg)
	}
}

func random() (string, error) {
	f, err := os.Open("/dev/urandom")
	if err == nil {
		f.Close()
		return "", fmt.Errorf("there is a /dev")
	}
	b := make([]byte, 16)
	if e := randomGet(at(b), 16); e != 0 {
		return "", fmt.Errorf("errno %d", e)
	}
	return fmt.Sprintf("%x", b), nil
}

//go:wasmimport wasi_snapshot_preview1 random_get
func randomGet(ptr, n uint32) uint32

func say(s string) { logLine(int32(abi.LevelWarn), at([]byte(s)), uint32(len(s))) }

func fetch(url string) (string, error) {
	req, err := json.Marshal(abi.HTTPRequest{Method: "GET", URL: url})
	if err != nil {
		return "", err
	}
	res := httpCall(at(req), uint32(len(req)))
	if res < 0 {
		return "", abi.Errno(res)
	}
	body := make([]byte, uint32(res))
	for n := 0; n < len(body); {
		// In pieces, to show that a response can be read so.
		part := body[n:min(n+1000, len(body))]
		got := httpRead(uint32(res>>32), at(part), uint32(len(part)))
		if got <= 0 {
			return "", fmt.Errorf("read gave %d", got)
		}
		n += int(got)
	}
	var r abi.HTTPResponse
	if err := json.Unmarshal(body, &r); err != nil {
		return "", err
	}
	if r.Error != nil {
		return "", fmt.Errorf("%s: %s", r.Error.Code, r.Error.Message)
	}
	return fmt.Sprintf("%d %s", r.Status, r.Body), nil
}

func files(tool, path string) (string, error) {
	switch tool {
	case "read":
		b, err := os.ReadFile(path)
		return string(b), err
	case "write":
		return "written", os.WriteFile(path, []byte("from the guest"), 0o644)
	case "list":
		entries, err := os.ReadDir(path)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return strings.Join(names, " "), err
	case "link":
		return "linked", os.Symlink("../secret", path)
	case "hardlink":
		return "linked", os.Link(path, path+".2")
	case "readlink":
		return os.Readlink(path)
	case "tree":
		return "made and removed", tree(path)
	default:
		return "", fmt.Errorf("there is no tool %q", tool)
	}
}

// tree uses every operation that a writable folder has.
func tree(dir string) error {
	sub, file := dir+"/sub", dir+"/sub/a"
	if err := os.Mkdir(sub, 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, e1 := f.WriteString("0123456789")
	_, e2 := f.WriteAt([]byte("X"), 5)
	e3 := f.Truncate(8)
	_, e4 := f.Seek(2, 0)
	got := make([]byte, 20)
	n, e5 := f.Read(got)
	for _, err := range []error{e1, e2, e3, e4, e5, f.Sync(), f.Close()} {
		if err != nil {
			return err
		}
	}
	if string(got[:n]) != "234X67" {
		return fmt.Errorf("read %q", got[:n])
	}
	a, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	if _, err := a.WriteString("!"); err != nil {
		return err
	}
	if err := a.Close(); err != nil {
		return err
	}
	if err := os.Chtimes(file, time.Unix(1000, 0), time.Unix(2000, 0)); err != nil {
		return err
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if info.Size() != 9 || info.ModTime().Unix() != 2000 {
		return fmt.Errorf("size %d, time %v", info.Size(), info.ModTime())
	}
	if err := os.Rename(file, dir+"/b"); err != nil {
		return err
	}
	if err := os.Remove(dir + "/b"); err != nil {
		return err
	}
	return os.Remove(sub)
}

func give(v any) uint64 {
	var err error
	if answer, err = json.Marshal(v); err != nil {
		panic(err)
	}
	return uint64(at(answer))<<32 | uint64(len(answer))
}

func at(b []byte) uint32 { return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

func main() {}

package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/wagent-dev/wagent/host/policy"
)

const badWorkerArg = "--bad-worker="

func badWorkerArgs(how string) []string { return []string{os.Args[0], badWorkerArg + how} }

// badWorker makes this process a worker that does something else.
func badWorker() {
	how, ok := strings.CutPrefix(os.Args[len(os.Args)-1], badWorkerArg)
	if !ok {
		return
	}
	switch how {
	case "mute":
		fmt.Println("hello")
		time.Sleep(time.Minute) // until it is killed
	case "upset":
		panic("no configuration")
	}
	fmt.Println(workerGreeting)
	var o order
	r := bufio.NewReader(os.Stdin)
	line, err := r.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &o)
	}
	if err == nil {
		_, err = io.CopyN(io.Discard, r, o.Size)
	}
	if err != nil {
		panic(err)
	}
	var said report
	switch how {
	case "panic":
		go panic("out of cheese")
		select {}
	case "exit":
		os.Exit(9)
	case "hog":
		bound(o)
		hog := make([]byte, 4<<30)
		hog[len(hog)-1] = 1
	case "full":
		said.Unkept = "no space left on device"
	case "look":
		bound(o)
		said.Refused = surroundings()
	}
	if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
		panic(err)
	}
	os.Exit(0)
}

// A worker ends with its parent, also where the system does not see to it.
func TestWorkerEndsWhenItsParentHasGone(t *testing.T) {
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, workerArg)
	cmd.Dir = t.TempDir()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wasm := straight(bomb)
	o := order{Size: int64(len(wasm)), Memory: 4 * policy.GiB, CPU: time.Minute, Workers: 1}
	if err := json.NewEncoder(in).Encode(o); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(wasm); err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitOrphan || time.Since(began) > killing {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

func TestWorkerThatIsToldNothingEnds(t *testing.T) {
	for _, told := range []string{"", "\n", "{\n", `{"Size":10,"Memory":1073741824,"CPU":1000000000}` + "\nshort"} {
		path, err := program()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), path, workerArg)
		cmd.Dir, cmd.Stdin = t.TempDir(), strings.NewReader(told)
		var exit *exec.ExitError
		if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != exitUnheard {
			t.Errorf("%q: %v", told, err)
		}
	}
}

// awaitWorker blocks until a worker runs. A minute is more than a loaded machine
// takes to write two megabytes anew.
func awaitWorker(t *testing.T, dir string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); len(scratches(t, dir)) == 0 || !running(t); {
		if time.Now().After(deadline) {
			t.Fatal("no worker was started")
		}
		time.Sleep(time.Millisecond) // polls the system, and decides nothing
	}
}

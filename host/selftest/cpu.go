package selftest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"time"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
)

// stackRoom is the time in which a stack has to be full.
const stackRoom = 20 * time.Second

// What held off attacks on time.
const (
	atTime        = "stopped at the time limit"
	atStack       = "stopped at the limit of the stack"
	beforeCompile = "refused before it was compiled"
)

func cpuChecks() []check {
	deep := []sandbox.Fault{sandbox.FaultStack}
	return []check{
		{"CPU-1a", "a loop without end", atTime, stopped("loop", "")},
		{"CPU-1b", "a loop in the start section, which runs before any function", atTime, stopped("startloop", "")},
		{"CPU-1c", "a loop while the tool initialises itself", atTime, stopped("initloop", "")},
		{"CPU-1d", "a loop in the start section of an Extism plugin", atTime, stopped("extism-start", "")},
		{"CPU-1e", "a loop that branches through a jump table", atTime, stopped("spin", "o")},
		{"CPU-1f", "a loop in a function of an Extism plugin", atTime, stopped("extism-plain", "", plain("loops"))},
		{"CPU-2a", "functions without a loop that each call the next one twice, level by level", atTime, stopped("spin", "a")},
		{"CPU-2b", "calls through a table, each function calling the next one twice", atTime, stopped("spin", "b")},
		{"CPU-3a", "fills of all the memory, again and again", atTime, stopped("spin", "e")},
		{"CPU-3b", "copies of all the memory over itself, again and again", atTime, stopped("spin", "f")},
		{"CPU-3c", "fills and copies of a table, again and again", atTime, stopped("spin", "h")},
		{"CPU-3d", "a data segment, copied into memory again and again", atTime, stopped("spin", "l")},
		{"CPU-3e", "a hundred million fills of two bytes", atTime, stopped("spin", "m")},
		{"CPU-3f", "pointers that lead through all the memory, without end", atTime, stopped("spin", "g")},
		{"CPU-3g", "one page of memory after the other, written for the first time", atTime, stopped("spin", "n")},
		{"CPU-3h", "growing the memory by nothing and by too much, without end", atTime, stopped("spin", "i")},
		{"CPU-3i", "divisions and roots without end", atTime, stopped("spin", "j")},
		{"CPU-3j", "vector instructions without end", atTime, stopped("spin", "k")},
		{"CPU-4", "a request to a server that never answers", "given up at the time limit", unanswered},
		{"CPU-5", "a sleep of an hour", "woken and stopped at the time limit", stopped("sleep", "")},
		{"CPU-6a", "recursion without end", atStack, ends("recurse", sandbox.Call{}, deep, within(stackRoom))},
		{"CPU-6b", "recursion without end that needs a value again afterwards", atStack, ends("spin", sandbox.Call{ID: "c"}, deep, within(stackRoom))},
		{"CPU-6c", "recursion without end with many values in each frame", atStack, ends("spin", sandbox.Call{ID: "d"}, deep, within(stackRoom))},
		{"CPU-7a", "a function of 20,000 blocks in one another", beforeCompile, refused(function(strings.Repeat("\x02\x40", 20_000)+strings.Repeat(codeEnd, 20_000)), sandbox.LoadTooLarge, "nested")},
		{"CPU-7b", "a branch with a million targets", beforeCompile, refused(function("\x41\x00\x0e"+number(1_000_000)+strings.Repeat("\x00", 1_000_001)), sandbox.LoadTooLarge, "br_table")},
		{"CPU-7c", "a function with a million local variables", beforeCompile, refused(built(
			section(1, vector(typeNothing)), section(3, vector("\x00")),
			section(10, vector(sized(vector(number(1_000_000)+"\x7f")+codeEnd)))), sandbox.LoadTooLarge, "locals")},
		{"CPU-7d", "a module of a million functions", beforeCompile, refused(built(
			section(1, vector(typeNothing)), section(3, number(1_000_000)+strings.Repeat("\x00", 1_000_000))), sandbox.LoadTooLarge, "function")},
		{"CPU-9", "fifty calls that run into their time limit", "stopped, and nothing of them runs on", leftBehind},
		{"CPU-10", "the same call twice, and a loop with a budget of work", "the work was counted the same, and the loop stopped when it was used up", fuel},
	}
}

// unanswered asks a server that accepts and says nothing.
func unanswered(ctx context.Context, l *lab) error {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return skipped("nothing can listen on loopback here: " + err.Error())
	}
	url := "http://" + server.Addr().String() + "/"
	c, err := request(get(url))
	if err == nil {
		err = ends("ask", c, []sandbox.Fault{"", sandbox.FaultTimeout}, within(short), reaching(url))(ctx, l)
	}
	return errors.Join(err, server.Close())
}

// leftBehind looks for goroutines that outlive their calls.
func leftBehind(ctx context.Context, l *lab) error {
	const calls, spare = 50, 5
	m, err := l.load(ctx, "loop", within(2*time.Millisecond))
	if err != nil {
		return err
	}
	l.ask(ctx, m, sandbox.Call{})
	before := runtime.NumGoroutine()
	for range calls {
		if out := l.ask(ctx, m, sandbox.Call{}); out.Fault != sandbox.FaultTimeout {
			return errors.Join(ended(&out, []sandbox.Fault{sandbox.FaultTimeout}), m.Close(ctx))
		}
	}
	if err := m.Close(ctx); err != nil {
		return err
	}
	if n := runtime.NumGoroutine() - before; n > spare {
		return fmt.Errorf("%d goroutines are left of %d calls", n, calls)
	}
	return nil
}

func fuel(ctx context.Context, l *lab) error {
	src, err := guest("counter", func(s *sandbox.Source) { s.Meter = true })
	if err != nil {
		return err
	}
	var used []int64
	for range 2 {
		out, err := l.call(ctx, src, sandbox.Call{})
		if err != nil {
			return err
		}
		used = append(used, out.Receipt.Fuel)
	}
	if used[0] != used[1] || used[0] <= 0 {
		return fmt.Errorf("one call took %d units and the next %d", used[0], used[1])
	}
	spent := func(s *sandbox.Source) { s.Policy.Limits.Fuel = 1_000_000 }
	return ends("loop", sandbox.Call{}, []sandbox.Fault{sandbox.FaultFuel}, spent)(ctx, l)
}

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

func cpuChecks() []check {
	deep := []sandbox.Fault{sandbox.FaultStack}
	return []check{
		{"CPU-1a", "a loop without end", stopped("loop", "")},
		{"CPU-1b", "a loop in the start section", stopped("startloop", "")},
		{"CPU-1c", "a loop while the guest is initialised", stopped("initloop", "")},
		{"CPU-1d", "a loop in the start section of an Extism plugin", stopped("extism-start", "")},
		{"CPU-1e", "a loop that branches through a table", stopped("spin", "o")},
		{"CPU-1f", "a loop in an Extism function", stopped("extism-plain", "", plain("loops"))},
		{"CPU-2a", "calls without a loop, twice at each level", stopped("spin", "a")},
		{"CPU-2b", "the same through a table", stopped("spin", "b")},
		{"CPU-3a", "fills of all the memory", stopped("spin", "e")},
		{"CPU-3b", "copies of all the memory over itself", stopped("spin", "f")},
		{"CPU-3c", "fills and copies of a table", stopped("spin", "h")},
		{"CPU-3d", "a data segment, copied again and again", stopped("spin", "l")},
		{"CPU-3e", "a hundred million fills of two bytes", stopped("spin", "m")},
		{"CPU-3f", "pointers that lead through all the memory", stopped("spin", "g")},
		{"CPU-3g", "one page after the other, written for the first time", stopped("spin", "n")},
		{"CPU-3h", "growing the memory by nothing and by too much", stopped("spin", "i")},
		{"CPU-3i", "divisions and roots", stopped("spin", "j")},
		{"CPU-3j", "vector instructions", stopped("spin", "k")},
		{"CPU-4", "a request to a server that never answers", unanswered},
		{"CPU-5", "a sleep of an hour", stopped("sleep", "")},
		{"CPU-6a", "recursion without end", ends("recurse", sandbox.Call{}, deep, within(stackRoom))},
		{"CPU-6b", "the same with a value to come back to", ends("spin", sandbox.Call{ID: "c"}, deep, within(stackRoom))},
		{"CPU-6c", "the same with many values in each frame", ends("spin", sandbox.Call{ID: "d"}, deep, within(stackRoom))},
		{"CPU-7a", "20,000 blocks in one another", refused(function(strings.Repeat("\x02\x40", 20_000)+strings.Repeat(codeEnd, 20_000)), sandbox.LoadTooLarge, "nested")},
		{"CPU-7b", "a branch with a million labels", refused(function("\x41\x00\x0e"+number(1_000_000)+strings.Repeat("\x00", 1_000_001)), sandbox.LoadTooLarge, "br_table")},
		{"CPU-7c", "a function with a million locals", refused(built(
			section(1, vector(typeNothing)), section(3, vector("\x00")),
			section(10, vector(sized(vector(number(1_000_000)+"\x7f")+codeEnd)))), sandbox.LoadTooLarge, "locals")},
		{"CPU-7d", "a million functions", refused(built(
			section(1, vector(typeNothing)), section(3, number(1_000_000)+strings.Repeat("\x00", 1_000_000))), sandbox.LoadTooLarge, "function")},
		{"CPU-9", "what fifty calls that were stopped leave behind", leftBehind},
		{"CPU-10", "the same call counts the same fuel twice, and is stopped where it is used up", fuel},
	}
}

// unanswered asks a server that accepts and says nothing.
func unanswered(ctx context.Context, l *lab) error {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return skipped("nothing can listen on loopback here: " + err.Error())
	}
	url := "http://" + server.Addr().String() + "/"
	c, err := request(url, "GET", nil)
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

package selftest

import (
	"context"
	"errors"
	"strings"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
	"github.com/wagent-dev/wagent/host/policy"
)

// What held off attacks on memory.
const (
	atMemory = "stopped at the memory limit"
	asAnswer = "refused as an answer"
)

func memoryChecks() []check {
	small := memory(policy.MiB)
	packed := func(id string, ways ...sandbox.Fault) func(context.Context, *lab) error {
		return ends("packed", sandbox.Call{ID: id}, ways)
	}
	return []check{
		{"MEM-1a", "growing the memory for ever", atMemory, ends("memgrow", sandbox.Call{}, []sandbox.Fault{sandbox.FaultMemory}, small)},
		{"MEM-1b", "growing the memory by four GiB", "refused, and the tool went on", ends("growback", sandbox.Call{}, []sandbox.Fault{""}, small)},
		{"MEM-1c", "writing 62 MiB of 64 four times over, to show that the limit is all there", "answered, within the limit", ends("touch", sandbox.Call{}, []sandbox.Fault{""})},
		{"MEM-1d", "a function of an Extism plugin that grows the memory for ever", atMemory, ends("extism-plain", sandbox.Call{}, []sandbox.Fault{sandbox.FaultMemory}, plain("grows"), memory(4*policy.MiB))},
		{"MEM-2", "a module that starts with four GiB of memory", whenLoaded, refused(embedded("bigmin"), sandbox.LoadMemory, "")},
		{"MEM-4a", "a module with a table of 67 million entries", whenLoaded, refused(embedded("bigtable"), sandbox.LoadTooLarge, "table")},
		{"MEM-4b", "a module with a hundred tables", whenLoaded, refused(built(section(4, vector(hundred("\x70\x00\x01")...))), sandbox.LoadTooLarge, "table")},
		{"MEM-5a", "an answer that lies behind the end of the memory", asAnswer, packed("0002000000000001", sandbox.FaultInvalidResult)},
		{"MEM-5b", "an answer whose end overflows 32 bits", asAnswer, packed("ffffffff0000ffff", sandbox.FaultInvalidResult)},
		{"MEM-5c", "an answer of four GiB", "refused as larger than an answer may be", packed("00000400ffffffff", sandbox.FaultOutput)},
		{"MEM-5d", "an empty answer", asAnswer, packed("0000040000000000", sandbox.FaultInvalidResult)},
		{"MEM-5e", "a tool that gives a buffer for its arguments behind the end of its memory", "nothing was written there, and the call refused", ends("badalloc", sandbox.Call{}, []sandbox.Fault{sandbox.FaultInvalidResult})},
		{"MEM-5f", "a tool that gives no buffer for its arguments", "the call refused", ends("noalloc", sandbox.Call{}, []sandbox.Fault{sandbox.FaultInvalidArgs})},
		{"MEM-5g", "output without end", "stopped at the limit of output", ends("outflood", sandbox.Call{}, []sandbox.Fault{sandbox.FaultOutput})},
		{"MEM-6a", "arguments of a million opening brackets", "refused before the tool ran", ends("done", sandbox.Call{Arguments: []byte(strings.Repeat("[", 1_000_000))}, []sandbox.Fault{sandbox.FaultInvalidArgs})},
		{"MEM-6b", "an answer of 9,000 lists in one another", asAnswer, ends("cat", sandbox.Call{Arguments: []byte(`{"content":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}`)}, []sandbox.Fault{sandbox.FaultInvalidResult})},
		{"MEM-6c", "arguments of 8 MiB, more than their limit", "refused before the tool ran", ends("done", sandbox.Call{Arguments: []byte(`"` + strings.Repeat("x", 8<<20) + `"`)}, []sandbox.Fault{sandbox.FaultInvalidArgs})},
		{"MEM-7", "sixteen calls at once of 62 MiB each, where four have room", "they waited for each other, and all were answered", crowd},
	}
}

func hundred(s string) []string {
	all := make([]string, 100)
	for i := range all {
		all[i] = s
	}
	return all
}

// crowd makes more calls at once than there is room for. They have to wait for
// each other and not to fail.
func crowd(ctx context.Context, l *lab) (err error) {
	const calls = 16
	engine, err := sandbox.New(sandbox.Options{Memory: policy.GiB / 4, Isolated: l.isolated})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close(ctx)) }()
	src, err := guest("touch")
	if err != nil {
		return err
	}
	m, err := engine.Load(ctx, src)
	if err != nil {
		return err
	}
	outs := make(chan sandbox.Outcome, calls)
	for range calls {
		go func() { outs <- m.Call(ctx, sandbox.Call{}) }()
	}
	for range calls {
		out := <-outs
		l.peak = max(l.peak, out.Receipt.PeakMemory)
		err = errors.Join(err, ended(&out, []sandbox.Fault{""}))
	}
	return err
}

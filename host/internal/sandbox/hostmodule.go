package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// The host side of the wagent import module. A guest may pass any number as a
// pointer, a length or a handle, call as often as it likes and in any order:
// every function answers with a number, and none traps, panics or blocks past
// the deadline.

const (
	i32 = api.ValueTypeI32
	i64 = api.ValueTypeI64
)

// maxHTTPRequest is the most bytes of a request's JSON; maxHTTPBody of its body.
const (
	maxHTTPBody    = 1 << 20
	maxHTTPRequest = 2 << 20
)

// hostFunc is one function of the module. do gets the arguments and returns
// the result, or an abi.Errno.
type hostFunc struct {
	name    string
	params  []api.ValueType
	results []api.ValueType
	do      func(g *guest, mem api.Memory, args []uint64) int64
}

func hostFuncs() []hostFunc {
	text := []api.ValueType{i32, i32}
	return []hostFunc{
		{abi.ImportLog, []api.ValueType{i32, i32, i32}, nil, hostLog},
		{abi.ImportProgress, []api.ValueType{i32, i32, i32}, nil, hostProgress},
		{abi.ImportSecretExists, text, []api.ValueType{i32}, hostSecretExists},
		{abi.ImportHTTP, text, []api.ValueType{i64}, hostHTTP},
		{abi.ImportRead, []api.ValueType{i32, i32, i32}, []api.ValueType{i32}, hostRead},
		{abi.ImportKVGet, text, []api.ValueType{i64}, withKey(abi.MaxKVKey, hostKVGet)},
		{abi.ImportKVSet, []api.ValueType{i32, i32, i32, i32}, []api.ValueType{i32}, hostKVSet},
		{abi.ImportKVDelete, text, []api.ValueType{i32}, withKey(abi.MaxKVKey, hostKVDelete)},
		{abi.ImportKVList, text, []api.ValueType{i64}, withKey(2*abi.MaxKVKey+1, hostKVList)},
		{abi.ImportStateGet, text, []api.ValueType{i64}, hostStateGet},
	}
}

func wagentSignatures() signatures {
	s := make(signatures)
	for _, f := range hostFuncs() {
		s[f.name] = engineSignature(f.params, f.results)
	}
	return s
}

// linkWagent puts the module into a runtime.
func linkWagent(ctx context.Context, r wazero.Runtime) error {
	b := r.NewHostModuleBuilder(abi.Module)
	for _, f := range hostFuncs() {
		b.NewFunctionBuilder().WithGoModuleFunction(f, f.params, f.results).Export(f.name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

// Call lets the guest in. It implements the engine's function interface.
func (f hostFunc) Call(ctx context.Context, mod api.Module, stack []uint64) {
	res := f.guarded(guestOf(ctx), mod, stack[:len(f.params)])
	switch {
	case len(f.results) == 0:
	case f.results[0] == i32:
		stack[0] = api.EncodeI32(int32(res))
	default:
		stack[0] = api.EncodeI64(res)
	}
}

func (f hostFunc) guarded(g *guest, mod api.Module, args []uint64) (res int64) {
	if g == nil || mod.Memory() == nil {
		return int64(abi.ErrInternal)
	}
	defer func() {
		if p := recover(); p != nil {
			why := fault(FaultInternal, "the host failed in %s", f.name)
			why.Detail = cleanLines(fmt.Sprintf("panic: %v\n%s", p, debug.Stack()), maxDetail)
			g.watch.stop(why)
			res = int64(abi.ErrInternal)
		}
	}()
	if err := g.count(); err != 0 {
		return int64(err)
	}
	defer g.pace.exclude(time.Now())
	return g.trace.host(f, g, mod.Memory(), args)
}

// count charges one call of a host function.
func (g *guest) count() abi.Errno {
	if g.ctx.Err() != nil {
		return abi.ErrTimeout
	}
	if g.hostCalls++; g.hostCalls > maxHostCalls {
		g.watch.stop(fault(FaultHostCalls, "the tool called the host more than %d times and was stopped; ask for less at once", maxHostCalls))
		return abi.ErrTooMany
	}
	return 0
}

// text copies what the guest points at, at most limit bytes. Pointer and
// length come from the guest and are compared as 64-bit numbers.
func text(mem api.Memory, ptr, n uint64, limit int64) ([]byte, abi.Errno) {
	p, l := uint64(uint32(ptr)), uint64(uint32(n))
	if p+l > uint64(mem.Size()) {
		return nil, abi.ErrInvalid
	}
	if int64(l) > limit {
		return nil, abi.ErrTooLarge
	}
	view, ok := mem.Read(uint32(p), uint32(l))
	if !ok {
		return nil, abi.ErrInvalid
	}
	out := make([]byte, len(view))
	copyInPieces(out, view)
	return out, 0
}

// hostLog is bounded by limits.logs as everything the guest prints: a line
// that is longer than that is cut before it is copied.
func hostLog(g *guest, mem api.Memory, args []uint64) int64 {
	n := min(uint64(uint32(args[2])), uint64(max(g.limits.Logs, 0))+1)
	line, err := text(mem, args[1], n, g.limits.Logs+1)
	if err == 0 {
		g.sink.Line(nearestLevel(int32(uint32(args[0]))), string(line))
	}
	return 0
}

func nearestLevel(n int32) abi.Level {
	return min(max(abi.Level(n), abi.LevelDebug), abi.LevelError)
}

// hostProgress shows at most ten lines a second of a tool in a run, however many
// calls it makes of it, so that a guest cannot bury what a person has to see.
func hostProgress(g *guest, mem api.Memory, args []uint64) int64 {
	if g.progress == nil {
		return 0
	}
	line, err := text(mem, args[1], min(uint64(uint32(args[2])), 4*maxProgress), 4*maxProgress)
	if err == 0 {
		g.tell(int(int32(uint32(args[0]))), string(line))
	}
	return 0
}

func (g *guest) tell(permille int, line string) {
	if g.progress != nil && g.pacer.lets(time.Now()) {
		g.progress(min(max(permille, 0), 1000), oneLine(g.redact.String(line), maxProgress))
	}
}

func hostHTTP(g *guest, mem api.Memory, args []uint64) int64 {
	if g.http == nil {
		return int64(abi.ErrDenied)
	}
	raw, err := text(mem, args[0], args[1], maxHTTPRequest)
	if err != 0 {
		return int64(err)
	}
	var req abi.HTTPRequest
	if json.Unmarshal(raw, &req) != nil {
		return int64(abi.ErrInvalid)
	}
	answer, e := json.Marshal(g.http.Do(g.ctx, req))
	if e != nil {
		return int64(abi.ErrInternal)
	}
	handle, err := g.responses.put(answer)
	if err != 0 {
		return int64(err)
	}
	return int64(handle)<<32 | int64(len(answer))
}

func hostRead(g *guest, mem api.Memory, args []uint64) int64 {
	p, l := uint64(uint32(args[1])), uint64(uint32(args[2]))
	if p+l > uint64(mem.Size()) {
		return int64(abi.ErrInvalid)
	}
	into, ok := mem.Read(uint32(p), uint32(l))
	if !ok {
		return int64(abi.ErrInvalid)
	}
	return g.responses.read(int32(uint32(args[0])), into)
}

package sandbox

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"
)

const wasiModule = "wasi_snapshot_preview1"

// maxSystemCalls is the most calls of WASI functions that one call may make.
// Honest tools read and write in pieces of kilobytes and never meet it.
const maxSystemCalls = 10_000_000

// wasiFunc is one function of WASI preview 1. do gets the arguments, a 32-bit
// one with zeros above it.
type wasiFunc struct {
	name   string
	params []api.ValueType
	do     func(s *system, m guestMemory, args []uint64) errno
	// work says that the function can take time, so it ends with the call. The
	// others answer still: languages break off when a clock fails, and their last
	// words would be about the clock.
	work bool
}

// wasiFuncs are all of them but proc_exit, in the order of the specification.
func wasiFuncs() []wasiFunc {
	const quick, work = false, true
	return []wasiFunc{
		{"args_get", wasmTypes("ii"), (*system).argsGet, quick},
		{"args_sizes_get", wasmTypes("ii"), (*system).argsSizes, quick},
		{"environ_get", wasmTypes("ii"), (*system).environGet, quick},
		{"environ_sizes_get", wasmTypes("ii"), (*system).environSizes, quick},
		{"clock_res_get", wasmTypes("ii"), (*system).clockResolution, quick},
		{"clock_time_get", wasmTypes("iIi"), (*system).clockTime, quick},
		{"fd_advise", wasmTypes("iIIi"), (*system).fdAdvise, quick},
		{"fd_allocate", wasmTypes("iII"), (*system).fdAllocate, work},
		{"fd_close", wasmTypes("i"), (*system).fdClose, quick},
		{"fd_datasync", wasmTypes("i"), (*system).fdSync, work},
		{"fd_fdstat_get", wasmTypes("ii"), (*system).fdstatGet, quick},
		{"fd_fdstat_set_flags", wasmTypes("ii"), (*system).fdstatSetFlags, quick},
		{"fd_fdstat_set_rights", wasmTypes("iII"), (*system).fdstatSetRights, quick},
		{"fd_filestat_get", wasmTypes("ii"), (*system).fdFilestatGet, work},
		{"fd_filestat_set_size", wasmTypes("iI"), (*system).fdSetSize, work},
		{"fd_filestat_set_times", wasmTypes("iIIi"), (*system).fdSetTimes, work},
		{"fd_pread", wasmTypes("iiiIi"), (*system).fdPread, work},
		{"fd_prestat_get", wasmTypes("ii"), (*system).prestatGet, quick},
		{"fd_prestat_dir_name", wasmTypes("iii"), (*system).prestatName, quick},
		{"fd_pwrite", wasmTypes("iiiIi"), (*system).fdPwrite, work},
		{"fd_read", wasmTypes("iiii"), (*system).fdRead, work},
		{"fd_readdir", wasmTypes("iiiIi"), (*system).fdReaddir, work},
		{"fd_renumber", wasmTypes("ii"), (*system).fdRenumber, quick},
		{"fd_seek", wasmTypes("iIii"), (*system).fdSeek, work},
		{"fd_sync", wasmTypes("i"), (*system).fdSync, work},
		{"fd_tell", wasmTypes("ii"), (*system).fdTell, work},
		{"fd_write", wasmTypes("iiii"), (*system).fdWrite, work},
		{"path_create_directory", wasmTypes("iii"), (*system).pathMkdir, work},
		{"path_filestat_get", wasmTypes("iiiii"), (*system).pathFilestatGet, work},
		{"path_filestat_set_times", wasmTypes("iiiiIIi"), (*system).pathSetTimes, work},
		{"path_link", wasmTypes("iiiiiii"), (*system).pathLink, work},
		{"path_open", wasmTypes("iiiiiIIii"), (*system).pathOpen, work},
		{"path_readlink", wasmTypes("iiiiii"), (*system).pathReadlink, work},
		{"path_remove_directory", wasmTypes("iii"), (*system).pathRmdir, work},
		{"path_rename", wasmTypes("iiiiii"), (*system).pathRename, work},
		{"path_symlink", wasmTypes("iiiii"), (*system).pathSymlink, work},
		{"path_unlink_file", wasmTypes("iii"), (*system).pathUnlink, work},
		{"poll_oneoff", wasmTypes("iiii"), (*system).poll, work},
		{"proc_raise", wasmTypes("i"), (*system).procRaise, quick},
		{"sched_yield", nil, (*system).schedYield, quick},
		{"random_get", wasmTypes("ii"), (*system).randomGet, work},
		{"sock_accept", wasmTypes("iii"), (*system).socket, quick},
		{"sock_recv", wasmTypes("iiiiii"), (*system).socket, quick},
		{"sock_send", wasmTypes("iiiii"), (*system).socket, quick},
		{"sock_shutdown", wasmTypes("ii"), (*system).socket, quick},
	}
}

// wasmTypes spells a parameter list: i is an i32, I an i64.
func wasmTypes(s string) []api.ValueType {
	out := make([]api.ValueType, len(s))
	for i := range s {
		out[i] = i32
		if s[i] == 'I' {
			out[i] = i64
		}
	}
	return out
}

// linkWASI puts WASI preview 1 into a runtime and says what it offers.
func linkWASI(ctx context.Context, r wazero.Runtime) (signatures, error) {
	b := r.NewHostModuleBuilder(wasiModule)
	s := make(signatures)
	result := []api.ValueType{i32}
	for _, f := range wasiFuncs() {
		b.NewFunctionBuilder().WithGoModuleFunction(f, f.params, result).Export(f.name)
		s[f.name] = engineSignature(f.params, result)
	}
	b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(procExit), result, nil).Export("proc_exit")
	s["proc_exit"] = engineSignature(result, nil)
	_, err := b.Instantiate(ctx)
	return s, err
}

// Call lets the guest in. It implements the engine's function interface.
func (f wasiFunc) Call(ctx context.Context, mod api.Module, stack []uint64) {
	for i, t := range f.params {
		if t == i32 {
			stack[i] = uint64(uint32(stack[i]))
		}
	}
	stack[0] = uint64(f.guarded(guestOf(ctx), mod, stack[:len(f.params)]))
}

func (f wasiFunc) guarded(g *guest, mod api.Module, args []uint64) (e errno) {
	if g == nil || g.sys == nil {
		return wasiNosys
	}
	defer func() {
		if p := recover(); p != nil {
			why := fault(FaultInternal, "the host failed in %s", f.name)
			why.Detail = cleanLines(fmt.Sprintf("panic: %v\n%s", p, debug.Stack()), maxDetail)
			g.watch.stop(why)
			e = wasiIO
		}
	}()
	g.sys.count()
	if g.sys.called != nil {
		g.sys.called[f.name] = true
	}
	if f.work {
		if g.ctx.Err() != nil {
			return wasiIntr
		}
		defer g.pace.exclude(time.Now())
	}
	return g.trace.system(f, g.sys, memoryOf(mod), args)
}

// procExit ends the guest: the engine unwinds it and returns the error.
func procExit(ctx context.Context, _ api.Module, stack []uint64) {
	code := uint32(stack[0])
	if g := guestOf(ctx); g != nil && g.sys != nil {
		g.sys.exited = true
		g.trace.exited(code)
	}
	panic(sys.NewExitError(code))
}

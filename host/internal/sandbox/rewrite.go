package sandbox

import (
	"errors"
	"fmt"

	"github.com/wagent-dev/wagent/host/internal/sandbox/linear"
	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
)

// guestCode is a module that was read, checked and made interruptible. The
// engine sees nothing of a module but what is written here.
type guestCode struct {
	module *wasmbin.Module
	out    *wasmbin.Output
	memory *linear.Image // what it starts with
	apart  bool          // it is not to be in this process, nor to be compiled there
}

// start is what instances are when they are made.
func (c *guestCode) start() snapshot {
	return startOf(c.memory, c.out)
}

func startOf(memory *linear.Image, out *wasmbin.Output) snapshot {
	s := snapshot{memory: memory}
	if !out.Exact {
		return s // the engine sets them
	}
	for _, g := range out.Mutable {
		s.globals = append(s.globals, g.Init)
	}
	return s
}

func (c *guestCode) close() error {
	if c.memory == nil {
		return nil
	}
	return c.memory.Close()
}

// metered says that the work of calls is counted exactly.
func (s *Source) metered() bool { return s.Meter || s.Policy.Limits.Fuel > 0 }

// rewrite checks the whole module and writes it anew, or takes what was written
// and kept before.
func rewrite(src Source, entry *cacheEntry) (*guestCode, *LoadError) {
	m, err := wasmbin.Decode(src.Wasm, wasmbin.DefaultLimits())
	if err != nil {
		return nil, refuseCode(err)
	}
	if refused := checkSizes(m, src.Policy.Limits.Memory); refused != nil {
		return nil, refused
	}
	out, kept := entry.rewritten(src.metered())
	if !kept || src.Inspect && out.Work == (wasmbin.Work{}) {
		if out, err = m.Rewrite(wasmbin.Options{Bare: true, Fuel: src.metered()}); err != nil {
			return nil, refuseCode(err)
		}
		entry.keepRewritten(src.metered(), out)
	}
	img, refused := layOut(m)
	if refused != nil {
		return nil, refused
	}
	return &guestCode{m, out, img, src.Isolated}, nil
}

// refuseCode puts what is wrong with a module into the words of this package.
func refuseCode(err error) *LoadError {
	var at *wasmbin.Error
	if !errors.As(err, &at) {
		return refuse(LoadMalformed, "the module could not be read", "")
	}
	what := oneLine(err.Error(), maxMessage)
	switch at.Kind {
	case wasmbin.Unsupported:
		return refuse(LoadUnsupported, "the module needs what this host does not run: "+what,
			"build it for WebAssembly 2.0 without that feature")
	case wasmbin.TooLarge:
		return refuse(LoadTooLarge, "the module is refused for its size: "+what, "")
	case wasmbin.Reserved:
		return refuse(LoadExport, what, "names that begin with __wagent_ belong to the host")
	default:
		return refuse(LoadMalformed, "this is not a valid core module: "+what, "")
	}
}

// checkSizes compares what a module starts with with what it may have.
func checkSizes(m *wasmbin.Module, memory int64) *LoadError {
	if m.Memory == nil {
		return nil
	}
	if got := int64(m.Memory.Min) * pageSize; got > memory {
		return refuse(LoadMemory, fmt.Sprintf("the module starts with %d bytes of memory, its limit is %d", got, memory),
			fmt.Sprintf("set limits: {memory: %dMiB} or more", (got+1<<20-1)>>20))
	}
	return nil
}

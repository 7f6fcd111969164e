package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/wagent-dev/wagent/host/internal/sandbox/linear"
	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
	"github.com/wagent-dev/wagent/host/policy"
)

// compiled is code in a runtime of its own: names, host modules and closing
// are shared within a runtime.
type compiled struct {
	runtime wazero.Runtime
	code    wazero.CompiledModule
	entry   *cacheEntry
	funcs   map[string]api.FunctionDefinition // that are exported
	base    snapshot                          // as instances are when they are made
	mutable []wasmbin.MutableGlobal
	exact   bool // see wasmbin.Output
	fromGo  bool // as the module says
}

// snapshot is what instances start from.
type snapshot struct {
	memory  *linear.Image
	globals []uint64          // of compiled.mutable, where they are numbers
	seeds   []span            // states of random generators
	mono    int64             // of the monotonic clock, in nanoseconds
	flags   map[uint64]uint16 // of descriptors, by number
}

// span is a part of a memory.
type span struct{ from, to int }

func (c *compiled) close(ctx context.Context) error {
	err := c.runtime.Close(ctx)
	if c.base.memory != nil {
		err = errors.Join(err, c.base.memory.Close())
	}
	if e := c.entry.close(ctx); err == nil {
		err = e
	}
	return err
}

// layOut makes the memory that a module starts with: zeros and its active data
// segments, which the engine does not see.
func layOut(m *wasmbin.Module) (*linear.Image, *LoadError) {
	if m.Memory == nil {
		return nil, nil
	}
	mem := make([]byte, int(m.Memory.Min)*pageSize)
	fits := true
	known := m.ActiveData(func(offset uint32, b []byte) {
		if uint64(offset)+uint64(len(b)) > uint64(len(mem)) {
			fits = false
			return
		}
		copy(mem[offset:], b)
	})
	switch {
	case !fits:
		return nil, refuse(LoadMalformed, "this is not a valid core module: its data does not fit into its memory", "")
	case !known:
		return nil, refuse(LoadImport, "the place of the module's data depends on an import, which this host does not have", "")
	}
	img, err := linear.NewImage(mem)
	if err != nil {
		return nil, refuse(LoadMemory, "the module's memory could not be laid out: "+oneLine(err.Error(), maxMessage), "")
	}
	return img, nil
}

// instance is one guest. It belongs to one call at a time.
type instance struct {
	guest  *guest
	code   *compiled
	mod    api.Module
	memory *memory // nil: the module has none
	left   api.MutableGlobal
	fuel   api.MutableGlobal   // nil: work is not counted
	told   bool                // what the call used was told
	vars   []api.MutableGlobal // of compiled.mutable
	funcs  map[string]*export
}

// instantiate makes an instance that starts from s. None of its code runs.
func (c *compiled) instantiate(g *guest, cfg wazero.ModuleConfig, s snapshot) (*instance, error) {
	alloc := &imageAllocator{arena: g.arena, image: s.memory}
	mod, err := c.runtime.InstantiateModule(experimental.WithMemoryAllocator(g.ctx, alloc), c.code, cfg)
	if err != nil {
		return nil, err
	}
	in := &instance{
		guest: g, code: c, mod: mod, memory: alloc.made,
		left:  mutable(mod, wasmbin.LeftExport),
		funcs: make(map[string]*export),
	}
	in.fuel, _ = mod.ExportedGlobal(wasmbin.FuelExport).(api.MutableGlobal)
	in.refuel()
	for _, v := range c.mutable {
		in.vars = append(in.vars, mutable(mod, wasmbin.GlobalExport(v.Index)))
	}
	if err := in.fit(s); err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

func mutable(mod api.Module, name string) api.MutableGlobal {
	return mod.ExportedGlobal(name).(api.MutableGlobal)
}

// fit gives the memory the size that it had when s was captured, and sets the
// globals.
func (in *instance) fit(s snapshot) error {
	if s.memory != nil {
		if more := s.memory.Size() - int(in.mod.Memory().Size()); more > 0 {
			if _, ok := in.mod.Memory().Grow(uint32(more / pageSize)); !ok {
				return errors.New("the memory does not grow to what it was")
			}
		}
	}
	for i, v := range s.globals {
		in.vars[i].Set(v)
	}
	return nil
}

// join makes an idle instance part of a call.
func (in *instance) join(g *guest, s snapshot) error {
	in.guest = g
	if in.memory != nil && !in.memory.join(g.arena) {
		return fault(FaultMemory, "the tool starts with more memory than its limit of %s", size(g.limits.Memory))
	}
	for i, v := range s.globals {
		in.vars[i].Set(v)
	}
	in.refuel()
	return nil
}

// refuel gives a call the fuel that it may use, and a slice that is over at once.
func (in *instance) refuel() {
	in.left.Set(0)
	in.told = false
	if in.fuel != nil {
		in.fuel.Set(uint64(allFuel(&in.guest.limits)))
	}
}

// allFuel is how much work a call may do.
func allFuel(l *policy.Limits) int64 {
	if l.Fuel == 0 {
		return noFuelLimit
	}
	return l.Fuel
}

// noFuelLimit is more work than a computer does in a century.
const noFuelLimit = 1 << 62

// settle tells the call what it has used, once.
func (in *instance) settle() {
	if in.fuel == nil || in.told {
		return
	}
	in.told = true
	left := int64(int32(in.left.Get()))
	in.guest.fuel += allFuel(&in.guest.limits) - int64(in.fuel.Get()) - left
	in.guest.outOfFuel = in.guest.outOfFuel || in.fuel.Get() == 0 && left < 0
}

// leave puts an instance back to how it joined, and says whether that was
// possible. It is part of no call then.
func (in *instance) leave() bool {
	if in.memory != nil {
		if in.memory.reserved.Grown() {
			return false
		}
		if in.memory.reset() != nil {
			return false
		}
	}
	in.stay()
	return true
}

// stay makes an instance part of no call, and leaves it as it is.
func (in *instance) stay() {
	in.settle()
	for name, f := range in.funcs {
		if f.size() > smallStack {
			delete(in.funcs, name) // the engine keeps the stack with it
		}
	}
	if in.memory != nil {
		in.memory.leave()
	}
	in.guest = nil
}

// discard ends an instance that is part of no call.
func (in *instance) discard() {
	_ = in.mod.Close(context.Background()) // see close
	if in.memory != nil {
		in.memory.close()
	}
}

// start runs the module's start function, which the engine knows as any other.
func (in *instance) start() error {
	if !in.has(wasmbin.StartExport) {
		return nil
	}
	if _, err := in.call(wasmbin.StartExport); err != nil {
		return fmt.Errorf(whileStarting+"%w", err)
	}
	return nil
}

// function returns what is known of an exported function, or nil.
func (in *instance) function(name string) api.FunctionDefinition {
	return in.code.funcs[name]
}

func (in *instance) has(name string) bool { return in.function(name) != nil }

// call calls an exported function, which must be there. It is the only way into
// the guest.
func (in *instance) call(name string, args ...uint64) ([]uint64, error) {
	f, known := in.funcs[name]
	if !known {
		// Looking it up takes the engine longer than a short call.
		var err error
		if f, err = newExport(in.mod.ExportedFunction(name)); err != nil {
			return nil, err
		}
		in.funcs[name] = f
	}
	outer := in.guest.running
	in.guest.running = f
	defer func() { in.guest.running = outer }()
	return f.Call(in.guest.ctx, args...)
}

// invoke calls an export that has one result.
func (in *instance) invoke(name string, args ...uint64) (uint64, error) {
	res, err := in.call(name, args...)
	if err != nil {
		return 0, err
	}
	return res[0], nil
}

// close ends the instance. The engine may have closed it already.
func (in *instance) close() {
	in.settle()
	// Closing an instance only gives back what this process holds; the error
	// would be that of a descriptor, and those are closed by their owner.
	_ = in.mod.Close(context.WithoutCancel(in.guest.ctx))
}

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// reactor speaks the wagent ABI.
type reactor struct {
	code   *compiled
	guests *guests
	export string // that is called
	role   string // see Source.Role
}

func newReactor(code *compiled, src Source, idle *idlers) *reactor {
	// What a module does to describe itself, such as looking at the types of its
	// tools, calls do not have to do again.
	warm := func(in *instance) error {
		_, err := in.invoke(abi.ExportDescribe)
		return err
	}
	export := abi.ExportCall
	if src.Role != "" {
		warm, export = nil, abi.ExportHook
	}
	return &reactor{code, newGuests(code, idle, src.Policy.Grants, (*instance).initialize, warm), export, src.Role}
}

func (r *reactor) encode(req *abi.Request) ([]byte, error) {
	if r.role != "" {
		return encodeRole(r.role, req)
	}
	return encodeRequest(req)
}

// encodeRole writes what a hook is told: its role and its configuration, and beside them
// the arguments.
func encodeRole(role string, req *abi.Request) ([]byte, error) {
	told := map[string]json.RawMessage{}
	if err := json.Unmarshal(req.Arguments, &told); err != nil {
		return nil, fault(FaultInvalidArgs, "the arguments are no JSON object")
	}
	name, err := json.Marshal(role)
	if err != nil {
		return nil, fault(FaultInternal, "the request could not be written: %v", err)
	}
	told["role"] = name
	if len(req.Config) > 0 {
		told["config"] = req.Config
	}
	b, err := json.Marshal(told)
	if err != nil {
		return nil, fault(FaultInternal, "the request could not be written: %v", err)
	}
	return b, nil
}

func (r *reactor) close(ctx context.Context) error {
	return errors.Join(r.guests.close(), r.code.close(ctx))
}

func (r *reactor) describe(g *guest) ([]byte, error) {
	return r.ask(g, func(in *instance) (uint64, error) { return in.invoke(abi.ExportDescribe) })
}

func (r *reactor) call(g *guest, req *request) (*answer, error) {
	raw, err := r.ask(g, func(in *instance) (uint64, error) {
		ptr, err := in.write(req.input)
		if err != nil {
			return 0, err
		}
		return in.invoke(r.export, uint64(ptr), uint64(len(req.input)))
	})
	if err != nil {
		return nil, err
	}
	return &answer{raw: raw}, nil
}

// ask lets do use an initialised guest, and copies out what it answers.
func (r *reactor) ask(g *guest, do func(*instance) (uint64, error)) (raw []byte, err error) {
	l, err := r.guests.get(g)
	if err != nil {
		return nil, err
	}
	well := false
	defer func() { l.end(well) }()
	packed, err := do(l.instance)
	if err != nil {
		return nil, err
	}
	if raw, err = l.read(packed); err != nil {
		return nil, err
	}
	well = true
	return raw, nil
}

func (in *instance) initialize() error {
	if err := in.start(); err != nil {
		return err
	}
	if in.has(abi.ExportInitialize) {
		if _, err := in.call(abi.ExportInitialize); err != nil {
			return fmt.Errorf(whileInitialising+"%w", err)
		}
	}
	v, err := in.invoke(abi.ExportVersion)
	if err == nil && uint32(v) != abi.Version {
		err = fault(FaultInvalidResult, "the tool speaks version %d of the ABI, this host version %d", uint32(v), abi.Version)
	}
	return err
}

// write puts data into a buffer of the guest.
func (in *instance) write(data []byte) (uint32, error) {
	got, err := in.invoke(abi.ExportAlloc, uint64(len(data)))
	if err != nil {
		return 0, err
	}
	ptr := uint32(got)
	switch {
	case ptr == 0 && in.guest.arena.refused:
		return 0, fault(FaultMemory, "the arguments (%s) do not fit into the tool's memory limit of %s", size(int64(len(data))), size(in.guest.limits.Memory))
	case ptr == 0:
		return 0, fault(FaultInvalidArgs, "the tool does not take arguments of %s", size(int64(len(data))))
	case !in.mod.Memory().Write(ptr, data):
		return 0, fault(FaultInvalidResult, "the tool gave a buffer outside of its memory")
	}
	return ptr, nil
}

// read copies out what a packed pointer and length point at. The guest chooses
// both: they are compared as 64-bit numbers before anything is copied.
func (in *instance) read(packed uint64) ([]byte, error) {
	ptr, n := packed>>32, packed&0xffffffff
	mem := in.mod.Memory()
	switch {
	case int64(n) > in.guest.limits.Output:
		return nil, tooMuchOutput(in.guest.limits.Output)
	case n == 0:
		return nil, fault(FaultInvalidResult, "the tool gave an empty answer")
	case ptr+n > uint64(mem.Size()):
		return nil, fault(FaultInvalidResult, "the tool's answer lies outside of its memory")
	}
	view, ok := mem.Read(uint32(ptr), uint32(n))
	if !ok {
		return nil, fault(FaultInvalidResult, "the tool's answer lies outside of its memory")
	}
	out := make([]byte, len(view))
	copyInPieces(out, view)
	return out, nil
}

func encodeRequest(req *abi.Request) ([]byte, error) {
	b, err := json.Marshal(req)
	if err != nil {
		return nil, fault(FaultInternal, "the request could not be written: %v", err)
	}
	return b, nil
}

package sandbox

import (
	"errors"
	"reflect"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"github.com/wagent-dev/wagent/host/policy"
)

// The engine gives each function that is called from outside a stack of its own,
// which grows as the guest calls, to 100 MB, and is part of no memory. It has
// no setting for it. What a stack takes can be seen, so a guest is stopped at the
// next pause when it takes too much. Rewriting sees to it that it grows little
// until then; see wasmbin.

// export is a function of an instance.
type export struct {
	api.Function
	stack reflect.Value // the engine's own, a slice; not valid: there is none
}

// errHiddenStack is an engine that is not the one this was written for.
var errHiddenStack = errors.New("this version of wazero does not show the size of its stack, which cannot be limited then")

// newExport finds the stack of a function. Only compiled code has one: the
// engine's interpreter bounds how deep calls are nested itself.
func newExport(f api.Function) (*export, error) {
	v := reflect.Indirect(reflect.ValueOf(f))
	if !strings.HasSuffix(v.Type().PkgPath(), compilerPackage) {
		return &export{Function: f}, nil
	}
	stack, err := stackOf(v)
	return &export{f, stack}, err
}

// compilerPackage ends the path of the package whose functions are compiled.
const compilerPackage = "/wazevo"

// stackOf finds the stack in what the engine keeps of a compiled function.
func stackOf(v reflect.Value) (reflect.Value, error) {
	if v.Kind() == reflect.Struct {
		if s := v.FieldByName("stack"); s.Kind() == reflect.Slice && s.Type().Elem().Kind() == reflect.Uint8 {
			return s, nil
		}
	}
	return reflect.Value{}, errHiddenStack
}

// size is how much the stack takes, in bytes.
func (e *export) size() int64 {
	if e == nil || !e.stack.IsValid() {
		return 0
	}
	return int64(e.stack.Len())
}

// The stack is limited by the memory limit: a quarter of it, within bounds.
const (
	minStack = policy.MiB
	maxStack = 16 * policy.MiB
	// smallStack is what an idle instance may keep for each of its functions.
	smallStack = 64 << 10
)

func stackLimit(memory int64) int64 { return min(max(memory/4, minStack), maxStack) }

package sandbox

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/wagent-dev/wagent/host/internal/hostfn"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// FuzzStoreDoor calls the functions of the store and the state with any arguments
// on a memory of any content: the answer is a handle, a number or an error number,
// the store stays within its limit, and the host does not panic.
func FuzzStoreDoor(f *testing.F) {
	for _, seed := range []string{
		"", "\x01\x00\x04\x05\x08\x00\x00\x04\x04\x01\x1d\x08", "\x01\x03\x04\x03\x18\x03\x00\x00\x00\x00\x04\x01\x00\x0f", "\x02\x1d\x1d\x03\x00\x04\x05\x00\x05",
	} {
		f.Add([]byte(seed), []byte("../\x00topic\xff\xfeother"))
	}
	p := policy.Default()
	p.Limits.KV = 2000
	p.Grants.KV, p.Grants.State = true, []string{"topic", "../"}
	names := []string{abi.ImportKVGet, abi.ImportKVSet, abi.ImportKVDelete, abi.ImportKVList, abi.ImportRead, abi.ImportStateGet}
	doors := slices.DeleteFunc(hostFuncs(), func(h hostFunc) bool { return !slices.Contains(names, h.name) })
	r, code := engineWith(f, 1, linkOurs)

	f.Fuzz(func(t *testing.T, program, memory []byte) {
		w := enter(t, r, code, p, bytes.NewReader(nil))
		held := int64(0)
		w.guest.kv = hostfn.NewKV(p.Limits.KV, func(n int64) { held += n })
		w.guest.state = map[string]json.RawMessage{"topic": json.RawMessage(`"go"`), "other": json.RawMessage(`"hidden"`)}
		w.put(0, string(memory[:min(len(memory), pageEnd)]))
		arguments := interesting()
		for calls := 0; len(program) > 0 && calls < 200; calls++ {
			door := doors[int(program[0])%len(doors)]
			program = program[1:]
			args := make([]uint64, len(door.params))
			for i := range args {
				if len(program) > 0 {
					args[i] = arguments[int(program[0])%len(arguments)]
					program = program[1:]
				}
			}
			if res := door.guarded(w.guest, w.mod, args); res <= int64(abi.ErrInternal) {
				t.Fatalf("%s%d: %d", door.name, args, res)
			}
			if held > p.Limits.KV || held != w.guest.kv.(*hostfn.KV).Used() || w.guest.responses.held > w.guest.responses.limit {
				t.Fatalf("%s%d: %d bytes are held, %d wait", door.name, args, held, w.guest.responses.held)
			}
		}
		if why := w.guest.watch.stopped(w.guest.ctx); why != nil && why.Fault == FaultInternal {
			t.Fatal(why.Detail)
		}
		for _, kept := range w.guest.responses.open {
			if bytes.Contains(kept.rest, []byte("hidden")) && !bytes.Contains(memory, []byte("hidden")) {
				t.Fatal("a value of the state is given that was not granted")
			}
		}
	})
}

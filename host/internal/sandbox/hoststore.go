package sandbox

import (
	"slices"

	"github.com/tetratelabs/wazero/api"

	"github.com/wagent-dev/wagent/host/internal/hostfn"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// The store and the run's state, as the guest asks for them. Without a grant there
// is no store and no key of the state; see checkGrant for what is refused before.

// maxStateKey is the most bytes of a name of the run's state.
const maxStateKey = 1 << 10

// storeAnswers is how many bytes of answers may wait to be read where there is a
// store for limit bytes: two values, and two pages of keys.
func storeAnswers(limit int64) int64 { return 2 * (limit + hostfn.MaxPageJSON) }

// answer keeps what a guest asked for until it is read.
func (g *guest) answer(data []byte) int64 {
	handle, err := g.responses.put(data)
	if err != 0 {
		return int64(err)
	}
	return int64(handle)<<32 | int64(len(data))
}

// withKey is a function of the store whose first argument is a key.
func withKey(limit int64, do func(g *guest, key []byte) int64) func(*guest, api.Memory, []uint64) int64 {
	return func(g *guest, mem api.Memory, args []uint64) int64 {
		if g.kv == nil {
			return int64(abi.ErrDenied)
		}
		key, err := text(mem, args[0], args[1], limit)
		if err != 0 {
			return int64(err)
		}
		return do(g, key)
	}
}

func hostKVGet(g *guest, key []byte) int64 {
	value, err := g.kv.Get(key)
	if err != 0 {
		return int64(err)
	}
	return g.answer(value)
}

func hostKVDelete(g *guest, key []byte) int64 { return int64(g.kv.Delete(key)) }

func hostKVList(g *guest, request []byte) int64 {
	page, err := g.kv.List(request)
	if err != 0 {
		return int64(err)
	}
	return g.answer(page)
}

// hostKVSet copies no more than could be kept.
func hostKVSet(g *guest, mem api.Memory, args []uint64) int64 {
	if g.kv == nil {
		return int64(abi.ErrDenied)
	}
	key, err := text(mem, args[0], args[1], abi.MaxKVKey)
	if err != 0 {
		return int64(err)
	}
	value, err := text(mem, args[2], args[3], min(abi.MaxKVValue, g.limits.KV))
	if err != 0 {
		return int64(err)
	}
	return int64(g.kv.Set(key, value))
}

func hostStateGet(g *guest, mem api.Memory, args []uint64) int64 {
	if len(g.grants.State) == 0 {
		return int64(abi.ErrDenied)
	}
	key, err := text(mem, args[0], args[1], maxStateKey)
	switch {
	case err != 0:
		return int64(err)
	case !slices.Contains(g.grants.State, string(key)):
		return int64(abi.ErrDenied)
	}
	value, ok := g.state[string(key)]
	if !ok {
		return int64(abi.ErrNotFound)
	}
	return g.answer(value)
}

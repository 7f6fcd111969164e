package sdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// The store needs allow: {kv: true} in the manifest. It belongs to the module's
// entry there: the calls of a run share it, each run begins with an empty one, and
// it ends with the run. A call that is made outside of a run has one for itself.
// Keys are UTF-8 of at most [abi.MaxKVKey] bytes; see there for the other limits.
// What is over one is an error of kind input, and changes nothing.

// KVGet returns a copy of the value under key in the store of this tool. The error
// is an [abi.Error] of kind not_found if there is none. As with all functions of
// the store it is of kind auth_required if no store is granted.
func KVGet(c *Call, key string) ([]byte, error) {
	b, err := hostKVGet(c, key)
	if err != nil {
		return nil, refused("kv get "+key, err)
	}
	return b, nil
}

// KVSet puts a value under key, in place of an earlier one. It outlives the call,
// also one that fails later, and ends with the run. The value is copied.
func KVSet(c *Call, key string, value []byte) error {
	err := hostKVSet(c, key, value)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, abi.ErrTooLarge):
		return Errorf(abi.Input, "kv set %s: %w: the store has no room for it (limits.kv), or the key or the value is too long", key, err)
	case errors.Is(err, abi.ErrTooMany):
		return Errorf(abi.Input, "kv set %s: %w: the store has %d keys, which is the most; delete some", key, err, abi.MaxKVKeys)
	}
	return refused("kv set "+key, err)
}

// KVDelete removes what is under key. Nothing there is no error.
func KVDelete(c *Call, key string) error {
	if err := hostKVDelete(c, key); err != nil {
		return refused("kv delete "+key, err)
	}
	return nil
}

// KVList returns the keys that begin with prefix, sorted by their bytes; all of
// them if it is empty. It asks the host for one page after the other: what other
// calls of the run change meanwhile may be seen or not.
func KVList(c *Call, prefix string) ([]string, error) {
	var keys []string
	if strings.IndexByte(prefix, abi.KVAfter) >= 0 {
		return keys, nil // no key has it
	}
	for request := prefix; ; {
		b, err := hostKVList(c, request)
		if err != nil {
			return nil, refused("kv list "+prefix, err)
		}
		var page []string
		if err := json.Unmarshal(b, &page); err != nil {
			return nil, fmt.Errorf("kv list %s: %w", prefix, err)
		}
		if len(page) == 0 {
			return keys, nil
		}
		keys = append(keys, page...)
		request = prefix + string([]byte{abi.KVAfter}) + page[len(page)-1]
	}
}

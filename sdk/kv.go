package sdk

import (
	"encoding/json"
	"fmt"
)

// KVGet returns a copy of the value under key in the store of this tool. The error
// is an [abi.Error] of kind not_found if there is none. As with all functions of
// the store it is of kind auth_required if no store is granted.
//
// Not yet supported by this host: it refuses a module that uses it.
func KVGet(c *Call, key string) ([]byte, error) {
	b, err := hostKVGet(c, key)
	if err != nil {
		return nil, refused("kv get "+key, err)
	}
	return b, nil
}

// KVSet puts a value under key, in place of an earlier one. It outlives the call.
// The value is copied.
//
// Not yet supported by this host: it refuses a module that uses it.
func KVSet(c *Call, key string, value []byte) error {
	if err := hostKVSet(c, key, value); err != nil {
		return refused("kv set "+key, err)
	}
	return nil
}

// KVDelete removes what is under key. Nothing there is no error.
//
// Not yet supported by this host: it refuses a module that uses it.
func KVDelete(c *Call, key string) error {
	if err := hostKVDelete(c, key); err != nil {
		return refused("kv delete "+key, err)
	}
	return nil
}

// KVList returns the keys that begin with prefix, sorted; all of them if it is
// empty.
//
// Not yet supported by this host: it refuses a module that uses it.
func KVList(c *Call, prefix string) ([]string, error) {
	b, err := hostKVList(c, prefix)
	if err != nil {
		return nil, refused("kv list "+prefix, err)
	}
	var keys []string
	if err := json.Unmarshal(b, &keys); err != nil {
		return nil, fmt.Errorf("kv list %s: %w", prefix, err)
	}
	return keys, nil
}

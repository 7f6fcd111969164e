//go:build !wasip1

package sdk

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/wagent-dev/wagent/sdk/abi"
)

func hostSecretExists(c *Call, name string) (bool, error) {
	return c.host.Host != nil && slices.Contains(c.host.Secrets, name), nil
}

func hostStateGet(c *Call, key string) ([]byte, error) {
	if c.host.Host == nil || c.host.State == nil {
		return nil, abi.ErrDenied
	}
	v, ok := c.host.State[key]
	if !ok {
		return nil, abi.ErrNotFound
	}
	return v, nil
}

// kv runs do with the store, if there is one.
func kv(c *Call, do func(map[string][]byte) error) error {
	if c.host.Host == nil || c.host.KV == nil {
		return abi.ErrDenied
	}
	c.host.KVMu.Lock()
	defer c.host.KVMu.Unlock()
	return do(c.host.KV)
}

func hostKVGet(c *Call, key string) (value []byte, err error) {
	err = kv(c, func(m map[string][]byte) error {
		v, ok := m[key]
		if !ok {
			return abi.ErrNotFound
		}
		value = slices.Clone(v)
		return nil
	})
	return value, err
}

func hostKVSet(c *Call, key string, value []byte) error {
	return kv(c, func(m map[string][]byte) error {
		m[key] = slices.Clone(value)
		return nil
	})
}

func hostKVDelete(c *Call, key string) error {
	return kv(c, func(m map[string][]byte) error {
		delete(m, key)
		return nil
	})
}

func hostKVList(c *Call, request string) (list []byte, err error) {
	prefix, after, next := strings.Cut(request, string([]byte{abi.KVAfter}))
	err = kv(c, func(m map[string][]byte) error {
		keys := []string{}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if strings.HasPrefix(k, prefix) && (!next || k > after) {
				keys = append(keys, k)
			}
		}
		list, err = json.Marshal(keys)
		return err
	})
	return list, err
}

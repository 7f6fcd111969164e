package hostfn

// Attack: a guest fills the host through its store, in one call or in several at
// once, or hopes that a key with dots, slashes or NULs in it reaches something.

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// maxPageBytes bounds the keys that one answer of List holds, before they are
// written as JSON.
const maxPageBytes = 64 << 10

// MaxPageJSON is the most bytes of an answer of [KV.List]: every byte of a key may
// be written as six, and each key has quotes and a comma.
const MaxPageJSON = 6*maxPageBytes + 3*abi.MaxKVPage + 2

// KV is the store of a tool: values under keys, in memory. A key is compared byte
// by byte and nothing in it has a meaning; it must be UTF-8, since lists of keys
// are JSON. A KV is safe for concurrent use, never blocks for long, and must be
// closed.
type KV struct {
	limit int64
	hold  func(bytes int64)

	mu     sync.Mutex
	used   int64             // bytes of keys and values
	keys   []string          // sorted
	values map[string][]byte // whose bytes are never changed
	closed bool
}

// NewKV returns an empty store for at most limit bytes of keys and values
// together. hold is told how many bytes were taken, and with a negative number how
// many were given back; it is called with the store locked and must neither block
// nor call the store. It may be nil.
func NewKV(limit int64, hold func(bytes int64)) *KV {
	if hold == nil {
		hold = func(int64) {}
	}
	return &KV{limit: limit, hold: hold, values: make(map[string][]byte)}
}

// Get returns the value under key, which must not be changed, or
// [abi.ErrNotFound].
func (s *KV) Get(key []byte) ([]byte, abi.Errno) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fault(key); err != 0 {
		return nil, err
	}
	value, ok := s.values[string(key)]
	if !ok {
		return nil, abi.ErrNotFound
	}
	return value, 0
}

// Set puts value under key, in place of an earlier one. The value belongs to the
// store then. What would go over a limit is [abi.ErrTooLarge], or [abi.ErrTooMany]
// for the number of keys, and changes nothing.
func (s *KV) Set(key, value []byte) abi.Errno {
	if len(value) > abi.MaxKVValue {
		return abi.ErrTooLarge
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fault(key); err != 0 {
		return err
	}
	old, there := s.values[string(key)]
	more := int64(len(value) - len(old))
	if !there {
		more += int64(len(key))
	}
	switch {
	case s.used+more > s.limit:
		return abi.ErrTooLarge
	case !there && len(s.keys) >= abi.MaxKVKeys:
		return abi.ErrTooMany
	}
	name := string(key)
	if !there {
		at, _ := slices.BinarySearch(s.keys, name)
		s.keys = slices.Insert(s.keys, at, name)
	}
	s.values[name] = value
	s.take(more)
	return 0
}

// Delete removes what is under key and gives its bytes back. Nothing there is no
// error.
func (s *KV) Delete(key []byte) abi.Errno {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fault(key); err != 0 {
		return err
	}
	value, there := s.values[string(key)]
	if !there {
		return 0
	}
	at, _ := slices.BinarySearch(s.keys, string(key))
	s.keys = slices.Delete(s.keys, at, at+1)
	delete(s.values, string(key))
	s.take(-int64(len(key) + len(value)))
	return 0
}

// List returns a page of keys as a JSON array, sorted by their bytes. The request
// is a prefix that all of them have, or a prefix, [abi.KVAfter] and a key: then the
// page begins behind that key. A page has at most [abi.MaxKVPage] keys and about
// 64 KiB of them; one that is empty is the end.
func (s *KV) List(request []byte) ([]byte, abi.Errno) {
	prefix, after, next := bytes.Cut(request, []byte{abi.KVAfter})
	if len(prefix) > abi.MaxKVKey || len(after) > abi.MaxKVKey {
		return nil, abi.ErrTooLarge
	}
	page, err := s.page(string(prefix), string(after), next)
	if err != 0 {
		return nil, err
	}
	list, e := json.Marshal(page)
	if e != nil {
		return nil, abi.ErrInternal
	}
	return list, 0
}

// page copies the keys of a page, so that they are written with the store unlocked.
func (s *KV) page(prefix, after string, next bool) ([]string, abi.Errno) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, abi.ErrUnavailable
	}
	at, found := slices.BinarySearch(s.keys, max(prefix, after))
	if found && next && after >= prefix {
		at++
	}
	page := []string{}
	size := 0
	for _, key := range s.keys[at:] {
		size += len(key)
		if !strings.HasPrefix(key, prefix) || len(page) == abi.MaxKVPage || size > maxPageBytes {
			break
		}
		page = append(page, key)
	}
	return page, 0
}

// Close throws everything away. Whoever still has the store is told
// [abi.ErrUnavailable].
func (s *KV) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take(-s.used)
	s.keys, s.values, s.closed = nil, nil, true
}

// Used returns the bytes of all keys and values.
func (s *KV) Used() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

func (s *KV) take(bytes int64) {
	s.used += bytes
	s.hold(bytes)
}

// fault says what is wrong with a key, or with asking at all.
func (s *KV) fault(key []byte) abi.Errno {
	switch {
	case s.closed:
		return abi.ErrUnavailable
	case len(key) > abi.MaxKVKey:
		return abi.ErrTooLarge
	case !utf8.Valid(key):
		return abi.ErrInvalid
	}
	return 0
}

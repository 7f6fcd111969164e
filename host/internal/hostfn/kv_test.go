package hostfn

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// keysOf reads all pages of a store.
func keysOf(t interface{ Fatalf(string, ...any) }, s *KV, prefix string) []string {
	all := []string{}
	for request := prefix; ; {
		list, err := s.List([]byte(request))
		var page []string
		if err != 0 || json.Unmarshal(list, &page) != nil || len(page) > abi.MaxKVPage || len(list) > MaxPageJSON {
			t.Fatalf("list %q: %v, %d keys in %d bytes", request, err, len(page), len(list))
		}
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
		request = prefix + string([]byte{abi.KVAfter}) + page[len(page)-1]
	}
}

// A store is a map that refuses what is over its limit, and forgets nothing else.
func TestKV1AStoreIsAMapWithinItsLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(0, 60).Draw(t, "limit")
		held := int64(0)
		s := NewKV(limit, func(n int64) { held += n })
		want := map[string]string{}
		size := func(m map[string]string) (n int64) {
			for k, v := range m {
				n += int64(len(k) + len(v))
			}
			return n
		}
		key := rapid.StringOfN(rapid.SampledFrom([]rune("ab/.\x00é")), 0, 3, -1)
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				k, v := key.Draw(t, "key"), rapid.StringN(0, 20, -1).Draw(t, "value")
				next := maps.Clone(want)
				next[k] = v
				err := s.Set([]byte(k), []byte(v))
				switch fits := size(next) <= limit; {
				case fits && err == 0:
					want = next
				case fits || err != abi.ErrTooLarge:
					t.Fatalf("set %q: %v, with %d of %d", k, err, size(next), limit)
				}
			},
			"delete": func(t *rapid.T) {
				k := key.Draw(t, "key")
				if err := s.Delete([]byte(k)); err != 0 {
					t.Fatalf("delete %q: %v", k, err)
				}
				delete(want, k)
			},
			"": func(t *rapid.T) {
				if s.Used() != size(want) || held != size(want) {
					t.Fatalf("%d bytes are used and %d held, of %d", s.Used(), held, size(want))
				}
				for k, v := range want {
					if got, err := s.Get([]byte(k)); err != 0 || string(got) != v {
						t.Fatalf("get %q: %q %v", k, got, err)
					}
				}
				prefix := key.Draw(t, "prefix")
				with := slices.DeleteFunc(slices.Sorted(maps.Keys(want)), func(k string) bool { return !strings.HasPrefix(k, prefix) })
				if diff := cmp.Diff(append([]string{}, with...), keysOf(t, s, prefix)); diff != "" {
					t.Fatal(diff)
				}
			},
		})
		s.Close()
		if held != 0 || s.Set([]byte("a"), nil) != abi.ErrUnavailable {
			t.Fatalf("%d bytes are held by a store that is closed", held)
		}
	})
}

// At no moment is more taken than the limit, whoever writes and deletes.
func TestKV1ParallelWritersNeverExceed(t *testing.T) {
	const limit = 1000
	var held, most atomic.Int64
	s := NewKV(limit, func(n int64) {
		now := held.Add(n)
		for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
		}
	})
	var wg sync.WaitGroup
	var refused atomic.Int64
	for w := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				key := fmt.Appendf(nil, "%d/%d", w, i%50)
				if i%7 == 0 {
					if err := s.Delete(key); err != 0 {
						t.Error(err)
					}
				} else if s.Set(key, make([]byte, i%40)) == abi.ErrTooLarge {
					refused.Add(1)
				}
				if _, err := s.List(nil); err != 0 {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if most.Load() > limit || refused.Load() == 0 || held.Load() != s.Used() {
		t.Errorf("at most %d of %d, %d refused, %d held of %d", most.Load(), limit, refused.Load(), held.Load(), s.Used())
	}
}

func TestKV1PagesAreBoundedByKeysAndBytes(t *testing.T) {
	for what, width := range map[string]int{"short keys": 6, "long keys": abi.MaxKVKey} {
		s := NewKV(64<<20, nil)
		var want []string
		for i := range 2500 {
			key := fmt.Sprintf("%06d%s", i, strings.Repeat("\x01", width-6))
			if err := s.Set([]byte(key), nil); err != 0 {
				t.Fatal(err)
			}
			want = append(want, key)
		}
		if diff := cmp.Diff(want, keysOf(t, s, "")); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
		if diff := cmp.Diff(want[1000:2000], keysOf(t, s, "001")); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	s := NewKV(64<<20, nil)
	for i := range abi.MaxKVKeys + 1 {
		err := s.Set(fmt.Append(nil, i), nil)
		if want := i == abi.MaxKVKeys; (err == abi.ErrTooMany) != want {
			t.Fatalf("key %d: %v", i, err)
		}
	}
}

// FuzzKV does anything to a store: what it says it has is what it has, and that is
// within its limits.
func FuzzKV(f *testing.F) {
	for _, seed := range []string{
		"", "\x00\x01a\x01b\x01\x01a\x02\x00", "\x00\x03../\x02xy\x01\x03../", "\x00\x02\xff\xfe\x00", "\x02\x03a\xffa", "\x02\x02\xff\xff",
		"\x00\x00\x00\x02\x00", "\x00\x02a\x00\x01x\x00\x01a\x40" + strings.Repeat("y", 64) + "\x00\x01b\x40" + strings.Repeat("z", 64),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		const limit = 100
		held := int64(0)
		s := NewKV(limit, func(n int64) {
			if held += n; held > limit || held < 0 {
				t.Fatalf("%d bytes are taken of %d", held, limit)
			}
		})
		take := func() []byte { // a length and so many bytes
			if len(program) == 0 {
				return nil
			}
			n := min(int(program[0]), len(program)-1)
			b := program[1 : 1+n]
			program = program[1+n:]
			return b
		}
		for len(program) > 0 {
			op := program[0]
			program = program[1:]
			key := take()
			switch op % 3 {
			case 0:
				value := take()
				if s.Set(key, value) == 0 {
					if got, err := s.Get(key); err != 0 || string(got) != string(value) || !utf8.Valid(key) {
						t.Fatalf("%q: set %q, got %q %v", key, value, got, err)
					}
				}
			case 1:
				if s.Delete(key) == 0 {
					if _, err := s.Get(key); err != abi.ErrNotFound {
						t.Fatalf("%q is still there: %v", key, err)
					}
				}
			default:
				if list, err := s.List(key); err == 0 && !json.Valid(list) {
					t.Fatalf("list %q: %q", key, list)
				}
			}
		}
		total := 0
		for _, key := range keysOf(t, s, "") {
			value, err := s.Get([]byte(key))
			if err != 0 {
				t.Fatalf("%q is listed and %v", key, err)
			}
			total += len(key) + len(value)
		}
		if int64(total) != held || s.Used() != held {
			t.Fatalf("%d bytes are there, %d used, %d held", total, s.Used(), held)
		}
	})
}

package selftest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

func storeChecks() []check {
	return []check{
		{"KV-0", "a value that is stored and read back, to show that the attacks would work", "it was there", talking(storedAndRead)},
		{"KV-1a", "storing more bytes than the quota, and again after deleting some", "refused at the quota, and room only for what was deleted", talking(fillsStore, storing(64*policy.KiB))},
		{"KV-1b", "storing 10,001 keys", "the last one was refused", talking(manyKeys)},
		{"KV-1c", "eight calls of a run that fill its store at once", "all of them together stayed within one quota", talking(parallelWriters, storing(64*policy.KiB))},
		{"KV-1d", "a key of more than 1 KiB and a value of more than 1 MiB", "refused", talking(largeEntries, storing(4*policy.MiB))},
		{"KV-2a", "keys such as ../../etc/passwd, with NULs, dots, slashes and escapes", "each is a key of its own, and none a file", talking(strangeKeys)},
		{"KV-2b", "a key of 64 KiB, and keys that are no text", "refused", talking(badKeys)},
	}
}

// storing gives a store so many bytes.
func storing(limit int64) func(*sandbox.Source) {
	return func(s *sandbox.Source) { s.Policy.Limits.KV = limit }
}

// late loads what was not granted its store.
func late(s *sandbox.Source) { s.Policy.Grants.KV, s.Late = false, true }

func storedAndRead(ctx context.Context, t *talk) error {
	p := &program{}
	set := p.set("key", "value")
	get := p.text(callKVGet, "key")
	p.showAt, p.show = p.fetch(get, 5), 5
	h, err := t.do(ctx, p, sandbox.Call{})
	if err == nil && (h.results[set] != 0 || string(h.shown) != "value") {
		err = fmt.Errorf("the results are %v, and the value %q", h.results, h.shown)
	}
	return err
}

// key is the n-th of two bytes.
func key(n int) string { return string([]byte{byte(n & 127), byte(n >> 7 & 127)}) }

func fillsStore(ctx context.Context, t *talk) error {
	const each = 1002
	fit := int(64 * policy.KiB / each)
	p := &program{}
	value := strings.Repeat("x", 1000)
	for i := range fit {
		p.set(key(i), value)
	}
	over := p.set(key(fit), value)
	p.text(callKVDelete, key(0))
	again := p.set(key(fit), value)
	full := p.set(key(0), value)
	h, err := t.do(ctx, p, sandbox.Call{})
	if err != nil {
		return err
	}
	if slices.ContainsFunc(h.results[:fit], func(n int64) bool { return n != 0 }) {
		return errors.New("what fits into the quota was refused")
	}
	return errors.Join(h.refuses(over, abi.ErrTooLarge, "one value more"), h.gave(again, 0, "one in place of another"), h.refuses(full, abi.ErrTooLarge, "one value more, after that"))
}

func manyKeys(ctx context.Context, t *talk) error {
	s := t.engine.NewSession()
	defer s.Close()
	// Two bytes, and behind them the word that they are made of.
	fill := &program{rounds: abi.MaxKVKeys}
	at, _ := fill.put(strings.Repeat("\x00", 6))
	fill.do(callCount, at)
	fill.do(callKVSet, at, lit(2), at, lit(0))
	h, err := t.do(ctx, fill, sandbox.Call{Session: s})
	if err != nil {
		return err
	}
	one := &program{}
	more := one.set("one more", "")
	instead := one.set(key(1), "x")
	h2, err := t.do(ctx, one, sandbox.Call{Session: s})
	if err != nil {
		return err
	}
	return errors.Join(h.gave(1, 0, "the last key that there is room for"), h2.refuses(more, abi.ErrTooMany, "one key more"), h2.gave(instead, 0, "a key that is there"))
}

// parallelWriters adds up what is in the store after calls that filled it at once.
func parallelWriters(ctx context.Context, t *talk) error {
	const calls, rounds, valueBytes, keyBytes = 8, 2000, 97, 3
	s := t.engine.NewSession()
	defer s.Close()
	errs := make(chan error, calls)
	for i := range calls {
		go func() {
			p := &program{rounds: rounds}
			// Three bytes: the word that the first two are made of is behind the third.
			third, _ := p.put(string([]byte{byte('a' + i)}))
			digits, _ := p.put(strings.Repeat("\x00", 6))
			value, n := p.put(strings.Repeat("x", valueBytes))
			p.do(callCount, digits)
			p.do(callKVSet, third, lit(keyBytes), value, n)
			quiet := &talk{&lab{engine: t.engine}, t.m}
			h, err := quiet.do(ctx, p, sandbox.Call{Session: s})
			if err == nil {
				err = h.refuses(1, abi.ErrTooLarge, "the last of two thousand values")
			}
			errs <- err
		}()
	}
	var err error
	for range calls {
		err = errors.Join(err, <-errs)
	}
	if err != nil {
		return err
	}
	keys, err := t.keys(ctx, s)
	if err != nil {
		return err
	}
	if used := len(keys) * (valueBytes + keyBytes); used > int(64*policy.KiB) || used < int(60*policy.KiB) {
		return fmt.Errorf("%d bytes are stored, and %d may be", used, 64*policy.KiB)
	}
	return nil
}

// keys lists the first thousand keys of a session's store.
func (t *talk) keys(ctx context.Context, s *sandbox.Session) (keys []string, err error) {
	const most = 32 << 10
	p := &program{}
	list := p.text(callKVList, "")
	p.showAt, p.show = p.fetch(list, most), most
	h, err := t.do(ctx, p, sandbox.Call{Session: s})
	if err == nil {
		err = json.Unmarshal([]byte(strings.TrimRight(string(h.shown), "\x00")), &keys)
	}
	return keys, err
}

func largeEntries(ctx context.Context, t *talk) error {
	p := &program{}
	long := p.set(strings.Repeat("k", abi.MaxKVKey+1), "")
	at, n := p.put("key")
	p.do(callKVSet, at, n, lit(0), lit(abi.MaxKVValue+1))
	h, err := t.do(ctx, p, sandbox.Call{})
	if err != nil {
		return err
	}
	return errors.Join(h.refuses(long, abi.ErrTooLarge, "the key"), h.refuses(p.last(), abi.ErrTooLarge, "the value"))
}

func strangeKeys(ctx context.Context, t *talk) error {
	file := filepath.Join(t.dir, "stored")
	names := []string{
		file, "../", "../../etc/passwd", "/etc/passwd", `..\x`, "C:", "CON", "a", "a\x00", "a\x00b", "A", "\x00", "", ".", "..", "%2e%2e/", "a/b", "a//b",
		"\u00e9", "e\u0301", "\u202e", "\x1b[31m", "\n", `"`, strings.Repeat("k", abi.MaxKVKey),
	}
	p := &program{}
	for i, name := range names {
		p.set(name, fmt.Sprintf("%02d", i))
	}
	var places []uint32
	for _, name := range names {
		places = append(places, p.fetch(p.text(callKVGet, name), 2))
	}
	p.showAt, p.show = dataAt, uint32(len(p.data))
	h, err := t.do(ctx, p, sandbox.Call{})
	if err != nil {
		return err
	}
	for i, name := range names {
		at := places[i] - dataAt
		if got, want := string(h.shown[at:at+2]), fmt.Sprintf("%02d", i); h.results[i] != 0 || got != want {
			err = errors.Join(err, fmt.Errorf("the key %.20q: stored with result %d, and what is under it is %q and not %q", name, h.results[i], got, want))
		}
	}
	if _, e := os.Lstat(file); e == nil {
		err = errors.Join(err, errors.New("a key became a file"))
	}
	return err
}

func badKeys(ctx context.Context, t *talk) error {
	p := &program{}
	p.set(strings.Repeat("k", 64<<10), "")
	p.set("\xff\xfe", "")
	p.set("a\xc0\xaf", "")
	h, err := t.do(ctx, p, sandbox.Call{})
	if err != nil {
		return err
	}
	return errors.Join(h.refuses(0, abi.ErrTooLarge, "64 KiB"), h.refuses(1, abi.ErrInvalid, "no text"), h.refuses(2, abi.ErrInvalid, "no text"))
}

func deniedStore(ctx context.Context, t *talk) error {
	p := &program{}
	p.set("key", "value")
	for _, f := range []int{callKVGet, callKVDelete, callKVList} {
		p.text(f, "key")
	}
	h, err := t.do(ctx, p, sandbox.Call{})
	for i := range h.results {
		err = errors.Join(err, h.refuses(i, abi.ErrDenied, []string{"kv_set", "kv_get", "kv_delete", "kv_list"}[i]))
	}
	return err
}

func stateKeys(ctx context.Context, t *talk) error {
	p := &program{}
	granted := p.text(callStateGet, stateKey)
	names := []string{"other", "topi", "topic\x00", "TOPIC", "", "top*"}
	for _, name := range names {
		p.text(callStateGet, name)
	}
	state := map[string]json.RawMessage{stateKey: json.RawMessage(`"go"`)}
	for _, name := range names {
		state[name] = json.RawMessage(`"` + canary + `"`)
	}
	p.showAt, p.show = p.fetch(granted, 4), 4
	h, err := t.do(ctx, p, sandbox.Call{State: state})
	if err != nil {
		return err
	}
	if string(h.shown) != `"go"` {
		err = fmt.Errorf("the key that was granted is %q", h.shown)
	}
	for i, name := range names {
		err = errors.Join(err, h.refuses(granted+1+i, abi.ErrDenied, fmt.Sprintf("the key %q", name)))
	}
	return err
}

func otherTools(ctx context.Context, t *talk) error {
	s := t.engine.NewSession()
	defer s.Close()
	if err := t.stores(ctx, s); err != nil {
		return err
	}
	return t.talking(ctx, func(ctx context.Context, twin *talk) error { return twin.finds(ctx, s, int64(abi.ErrNotFound)) })
}

func otherRuns(ctx context.Context, t *talk) error {
	one, other := t.engine.NewSession(), t.engine.NewSession()
	defer one.Close()
	defer other.Close()
	if err := t.stores(ctx, one); err != nil {
		return err
	}
	return errors.Join(t.finds(ctx, other, int64(abi.ErrNotFound)), t.finds(ctx, nil, int64(abi.ErrNotFound)))
}

// stores puts a value there, and sees that the same tool finds it in the same run.
func (t *talk) stores(ctx context.Context, s *sandbox.Session) error {
	p := &program{}
	set := p.set("key", canary)
	h, err := t.do(ctx, p, sandbox.Call{Session: s})
	if err == nil {
		err = h.gave(set, 0, "storing")
	}
	return errors.Join(err, t.finds(ctx, s, int64(len(canary))))
}

// finds looks for the value: its length, or why it is not there.
func (t *talk) finds(ctx context.Context, s *sandbox.Session, want int64) error {
	p := &program{}
	get := p.text(callKVGet, "key")
	h, err := t.do(ctx, p, sandbox.Call{Session: s})
	if err != nil {
		return err
	}
	got := h.results[get]
	if got > 0 {
		got &= 0xffffffff
	}
	if got != want {
		err = fmt.Errorf("looking for a value gave %s and not %s", given(got), given(want))
	}
	return err
}

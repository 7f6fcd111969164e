package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// The functions that a storing tool imports, by their numbers.
const (
	callKVGet = iota
	callKVSet
	callKVDelete
	callKVList
	callRead
)

// storing is a tool that does things to its store. It has 2 MiB of memory, whose
// second half is zero, and four locals from 2 on.
func storing(code string, data ...string) parts {
	return parts{
		types: []string{"\x60\x02\x7f\x7f\x01\x7e", "\x60\x02\x7f\x7f\x01\x7f", "\x60\x04\x7f\x7f\x7f\x7f\x01\x7f", "\x60\x03\x7f\x7f\x7f\x01\x7f"},
		imports: []string{
			imported(abi.Module, abi.ImportKVGet, typeOwn), imported(abi.Module, abi.ImportKVSet, typeOwn+2),
			imported(abi.Module, abi.ImportKVDelete, typeOwn+1), imported(abi.Module, abi.ImportKVList, typeOwn),
			imported(abi.Module, abi.ImportRead, typeOwn+3),
		},
		memory: "\x00\x20", locals: testkit.Vec("\x04\x7f"), data: data, call: code + answers(),
	}
}

// storingSource is a storing tool that was granted a store for limit bytes.
func storingSource(limit int64, code string, data ...string) Source {
	src := storing(code, data...).source("stores")
	src.Policy.Grants.KV = true
	src.Policy.Limits.KV = limit
	return src
}

// onStore calls a function of the store with two or four numbers.
func onStore(function int, args ...int) string {
	var code strings.Builder
	for _, a := range args {
		fmt.Fprintf(&code, "i32.const %d ", a)
	}
	fmt.Fprintf(&code, "call %d ", function)
	return code.String()
}

// unless64 is unless, of 64 bits.
func unless64(n int64) string { return fmt.Sprintf("i64.const %d i64.ne if unreachable end ", n) }

const (
	keyAt   = 8192
	otherAt = 8448 // zeros, for what reads
	valueAt = 1 << 20
)

// filling sets keys of two letters of seven bits, local 2, from 0 on until that is
// refused: local 3 is why.
func filling(keyLength, valueLength int) string {
	letter := func(at int, of string) string {
		return fmt.Sprintf("i32.const %d local.get 2 %s i32.const 127 i32.and i32.store8 ", keyAt+at, of)
	}
	return "i32.const 0 local.set 2 loop " + letter(0, "") + letter(1, "i32.const 7 i32.shr_u") +
		onStore(callKVSet, keyAt, keyLength, valueAt, valueLength) +
		"local.tee 3 i32.eqz if local.get 2 i32.const 1 i32.add local.set 2 br 1 end end "
}

// gives breaks off unless a function of the host gave e.
func gives(e abi.Errno) string { return unless(int64(e)) }

func TestKV1AStoreStaysWithinItsQuotas(t *testing.T) {
	l := newLab(t)
	const room = 64 * policy.KiB
	const each = 2 + 1000
	full := filling(2, 1000) + "local.get 3 " + gives(abi.ErrTooLarge) + "local.get 2 " + unless(room/each)
	rest := int(room - room/each*each)
	first := fmt.Sprintf("i32.const %d i32.const 0 i32.store ", keyAt)
	missing := func(e abi.Errno) string { return unless64(int64(e)) }
	// Room for one more is there only after one is deleted, and for a value that grows
	// only as far as it goes.
	refill := full + first + onStore(callKVDelete, keyAt, 2) + gives(0) + onStore(callKVDelete, keyAt, 2) + gives(0) +
		onStore(callKVGet, keyAt, 2) + missing(abi.ErrNotFound) +
		onStore(callKVSet, keyAt, 2, valueAt, 1000+rest+1) + gives(abi.ErrTooLarge) + onStore(callKVGet, keyAt, 2) + missing(abi.ErrNotFound) +
		onStore(callKVSet, keyAt, 2, valueAt, 1000) + gives(0) +
		onStore(callKVSet, keyAt, 2, valueAt, 1000+rest) + gives(0) + onStore(callKVSet, keyAt, 2, valueAt, 1000+rest+1) + gives(abi.ErrTooLarge) +
		onStore(callKVSet, keyAt, 2, valueAt, 0) + gives(0) + onStore(callKVSet, keyAt, 2, valueAt, 1000) + gives(0)
	many := filling(2, 0) + "local.get 3 " + gives(abi.ErrTooMany) + "local.get 2 " + unless(abi.MaxKVKeys) +
		first + onStore(callKVSet, keyAt, 2, valueAt, 1) + gives(0) + onStore(callKVDelete, keyAt, 2) + gives(0) + onStore(callKVSet, keyAt, 2, valueAt, 0) + gives(0) +
		// A page is no list of everything.
		onStore(callKVList, keyAt, 0) + "i32.wrap_i64 local.tee 2 i32.const 10000 i32.gt_u i32.eqz if local.get 2 i32.eqz if unreachable end end " +
		"local.get 2 i32.const 12000 i32.gt_u if unreachable end "
	sizes := onStore(callKVSet, valueAt, abi.MaxKVKey, keyAt, 0) + gives(0) + onStore(callKVSet, valueAt, abi.MaxKVKey+1, keyAt, 0) + gives(abi.ErrTooLarge) +
		onStore(callKVSet, keyAt, 2, 0, abi.MaxKVValue+1) + gives(abi.ErrTooLarge) + onStore(callKVSet, keyAt, 2, valueAt, int(room)+1) + gives(abi.ErrTooLarge) +
		onStore(callKVGet, valueAt, abi.MaxKVKey+1) + missing(abi.ErrTooLarge) + onStore(callKVDelete, valueAt, abi.MaxKVKey+1) + gives(abi.ErrTooLarge) +
		onStore(callKVList, valueAt, abi.MaxKVKey+1) + missing(abi.ErrTooLarge) + onStore(callKVList, valueAt, 2*abi.MaxKVKey+2) + missing(abi.ErrTooLarge) +
		onStore(callKVSet, keyAt, 2, 1<<21-10, 11) + gives(abi.ErrInvalid) + onStore(callKVSet, -1, 2, keyAt, 2) + gives(abi.ErrInvalid) +
		onStore(callKVSet, keyAt, -1, keyAt, 2) + gives(abi.ErrInvalid) + onStore(callKVGet, -1, -1) + missing(abi.ErrInvalid)
	// What waits to be read is bounded, be it read to the last byte but one.
	unread := "loop " + onStore(callKVSet, keyAt, 2, valueAt, 60_000) + gives(0) + onStore(callKVGet, keyAt, 2) +
		"i64.const 0 i64.lt_s if else br 1 end end " + onStore(callKVGet, keyAt, 2) + missing(abi.ErrTooLarge)
	nearly := "i32.const 0 local.set 2 loop " + onStore(callKVSet, keyAt, 2, valueAt, 60_000) + gives(0) +
		"local.get 2 i32.const 1 i32.add local.set 2 " + onStore(callKVGet, keyAt, 2) + "i64.const 0 i64.lt_s if else " +
		fmt.Sprintf("local.get 2 i32.const %d i32.const 59999 call %d ", 64<<10, callRead) + unless(59_999) + "br 1 end end " +
		onStore(callKVGet, keyAt, 2) + missing(abi.ErrTooLarge)
	// What was read to its end does not count.
	all := "i32.const 0 local.set 2 loop local.get 2 i32.const 1 i32.add local.set 2 " + onStore(callKVSet, keyAt, 2, valueAt, 60_000) + gives(0) +
		onStore(callKVGet, keyAt, 2) + "i64.const 0 i64.lt_s if unreachable end " +
		fmt.Sprintf("local.get 2 i32.const %d i32.const 60001 call %d ", 64<<10, callRead) + unless(60_000) + "local.get 2 i32.const 2000 i32.lt_u br_if 0 end "
	for what, code := range map[string]string{
		"filled, and refilled": refill, "ten thousand keys": many, "sizes": sizes,
		"answers that nobody reads": unread, "answers that are nearly read": nearly, "answers that are read": all,
	} {
		limit := room
		if what == "ten thousand keys" {
			limit = policy.MiB
		}
		l.suffers(t, attack{what: what, src: storingSource(limit, code), want: well, says: "done"})
	}
	l.suffers(t, attack{
		what: "no end of questions", src: storingSource(room, "loop "+onStore(callKVGet, keyAt, 2)+"drop br 0 end "),
		want: []Fault{FaultHostCalls}, says: "called the host",
	})
	if taken := l.engine.queue.taken; taken != 0 {
		t.Errorf("%d bytes are taken after all calls", taken)
	}
}

// Calls of a run that write at the same time do not exceed together what one may,
// and what they have is counted as memory of the host until the run ends.
func TestKV1ParallelWritersShareOneQuota(t *testing.T) {
	l := newLab(t)
	const room = 64 * policy.KiB
	// The third letter is the first of the call's id.
	id := fmt.Sprintf("i32.const %d local.get 0 i32.const 13 i32.add i32.load8_u i32.store8 ", keyAt+2)
	m := load(t, l.engine, storingSource(room, id+filling(3, 97)+"local.get 3 "+gives(abi.ErrTooLarge)))
	s := begun(t, l.engine)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if out := m.Call(t.Context(), Call{ID: string(rune('a' + i)), Session: s}); said(out) != "done" {
				t.Errorf("%q %q %s", out.Fault, said(out), out.Detail)
			}
		})
	}
	wg.Wait()
	if used := s.shares[m].kv.Used(); used != room/100*100 || l.engine.queue.taken != used {
		t.Errorf("%d bytes are used of %d, and %d are counted", used, room, l.engine.queue.taken)
	}
	s.Close()
	if taken := l.engine.queue.taken; taken != 0 {
		t.Errorf("%d bytes are taken after the run", taken)
	}
	l.works(t)
}

// A key is bytes: nothing in it leads anywhere, and none is taken for another.
func TestKV2KeysAreOpaque(t *testing.T) {
	l := newLab(t)
	dir := t.TempDir()
	t.Chdir(dir)
	keys := []string{
		"../", "../../etc/passwd", "/etc/passwd", `..\x`, "C:", "CON", "a", "a\x00", "a\x00b", "A", "\x00", "", ".", "..", "%2e%2e/", "a/b", "a//b",
		"\u00e9", "e\u0301", "\u202e", "\x1b[31m", "\n", `"`, strings.Repeat("k", abi.MaxKVKey),
	}
	var set, get strings.Builder
	var data []string
	for i, key := range keys {
		at := 16384 + 2048*i
		data = append(data, dataAt(at, key))
		// The value is the key's number.
		fmt.Fprintf(&set, "i32.const %d i32.const %d i32.store8 ", keyAt, 100+i)
		set.WriteString(onStore(callKVGet, at, len(key)) + unless64(int64(abi.ErrNotFound)))
		set.WriteString(onStore(callKVSet, at, len(key), keyAt, 1) + gives(0))
		get.WriteString(onStore(callKVGet, at, len(key)) + unless64(int64(i+1)<<32|1))
		fmt.Fprintf(&get, "i32.const %d i32.const %d i32.const 1 call %d ", i+1, otherAt, callRead)
		get.WriteString(unless(1) + fmt.Sprintf("i32.const %d i32.load8_u ", otherAt) + unless(int64(100+i)))
	}
	// What is no text is no key, and 64 KiB are too many.
	bad := 16384 + 2048*len(keys)
	data = append(data, dataAt(bad, "\xff\xfe"), dataAt(bad+16, "a\xc0\xaf"))
	get.WriteString(onStore(callKVSet, bad, 2, keyAt, 1) + gives(abi.ErrInvalid) + onStore(callKVSet, bad+16, 3, keyAt, 1) + gives(abi.ErrInvalid) +
		onStore(callKVGet, bad, 2) + unless64(int64(abi.ErrInvalid)) + onStore(callKVDelete, bad, 2) + gives(abi.ErrInvalid) +
		onStore(callKVSet, valueAt, 64<<10, keyAt, 1) + gives(abi.ErrTooLarge))
	l.suffers(t, attack{what: "keys", src: storingSource(policy.MiB, set.String()+get.String(), data...), want: well, says: "done"})
	if n := entries(t, dir); n != 0 {
		t.Errorf("%d files were made", n)
	}
	if _, err := os.Stat("/etc/passwd/1"); err == nil {
		t.Error("a key became a file")
	}
}

// keepsOnce is a tool that breaks off when it finds what a call before it has
// stored.
func keepsOnce() Source {
	return storingSource(policy.MiB, onStore(callKVGet, keyAt, 6)+unless64(int64(abi.ErrNotFound))+
		onStore(callKVList, keyAt, 0)+"i32.wrap_i64 "+unless(2)+ // []
		onStore(callKVSet, keyAt, 6, keyAt, 6)+gives(0), dataAt(keyAt, "secret"))
}

func TestISO2StoresAreOfOneToolInOneRun(t *testing.T) {
	l := newLab(t)
	a, twin := load(t, l.engine, keepsOnce()), load(t, l.engine, keepsOnce())
	one, two := begun(t, l.engine), begun(t, l.engine)
	call := func(m *Module, s *Session) Outcome {
		return m.Call(t.Context(), Call{Session: s, Run: abi.RunRef{ID: "same"}})
	}
	for what, out := range map[string]Outcome{
		"the first":                 call(a, one),
		"the same code once more":   call(twin, one),
		"another run":               call(a, two),
		"a call without a run":      call(a, nil),
		"another without a run":     call(a, nil),
		"the twin in the other run": call(twin, two),
	} {
		if said(out) != "done" {
			t.Errorf("%s: %q %q %s", what, out.Fault, said(out), out.Detail)
		}
	}
	for _, m := range []*Module{a, twin} {
		if out := call(m, one); out.Fault != FaultTrap {
			t.Errorf("what the call before has stored is not there: %q %q", out.Fault, said(out))
		}
	}
	// A run that has ended has no store, and neither has a module that is closed.
	one.Close()
	if out := call(a, one); out.Fault != FaultTrap {
		t.Errorf("a store after the run: %q %q", out.Fault, said(out))
	}
	closed(t, twin)
	if n := len(two.shares); n != 1 {
		t.Errorf("%d stores are left of a run with one open module", n)
	}
	two.Close()
	if taken := l.engine.queue.taken; taken != 0 {
		t.Errorf("%d bytes are taken", taken)
	}
	l.works(t)
}

// Without its grant a store is refused before the run, with the line to add, and
// whatever of it a module imports. Where a module is only looked at it is told so.
func TestKVWithoutAGrantIsRefused(t *testing.T) {
	l := newLab(t)
	none := storing("").source("stores")
	l.refuses(t, none, LoadGrant, "and was not granted one; add to its tool: allow: {kv: true}")
	for _, name := range []string{"kv_set", "kv_delete", "kv_list"} {
		p := storing("")
		for i, im := range p.imports {
			if strings.Contains(im, name) {
				p.imports = p.imports[i : i+1]
				break
			}
		}
		p.call = answers()
		l.refuses(t, p.source("stores"), LoadGrant, "uses a store ("+name+")")
	}
	denied := storing(onStore(callKVGet, keyAt, 2) + unless64(-1) + onStore(callKVSet, keyAt, 2, keyAt, 2) + gives(abi.ErrDenied) +
		onStore(callKVDelete, keyAt, 2) + gives(abi.ErrDenied) + onStore(callKVList, keyAt, 2) + unless64(-1)).source("stores")
	denied.Inspect = true
	l.suffers(t, attack{what: "denied", src: denied, want: well, says: "done"})
}

func TestStateIsReadByGrantAndKey(t *testing.T) {
	l := newLab(t)
	get := func(at, n int) string { return onStore(0, at, n) }
	p := parts{
		types:   []string{"\x60\x02\x7f\x7f\x01\x7e", "\x60\x03\x7f\x7f\x7f\x01\x7f"},
		imports: []string{imported(abi.Module, abi.ImportStateGet, typeOwn), imported(abi.Module, abi.ImportRead, typeOwn+1)},
		data:    []string{dataAt(keyAt, "topicotherabsent")},
		call: get(keyAt, 5) + unless64(1<<32|4) + fmt.Sprintf("i32.const 1 i32.const %d i32.const 8 call 1 ", otherAt) + unless(4) +
			fmt.Sprintf("i32.const %d i32.load ", otherAt) + unless('"'|'g'<<8|'o'<<16|'"'<<24) +
			get(keyAt+5, 5) + unless64(int64(abi.ErrDenied)) + get(keyAt, 4) + unless64(int64(abi.ErrDenied)) +
			get(keyAt+10, 6) + unless64(int64(abi.ErrNotFound)) + get(keyAt, -1) + unless64(int64(abi.ErrInvalid)) +
			get(0, 1025) + unless64(int64(abi.ErrTooLarge)) + answers(),
	}
	l.refuses(t, p.source("state"), LoadGrant, "state_get")
	granted := p.source("state")
	granted.Policy.Grants.State = []string{"topic", "absent"}
	state := map[string]json.RawMessage{"topic": json.RawMessage(`"go"`), "other": json.RawMessage(`"hidden"`)}
	l.suffers(t, attack{what: "state", src: granted, call: Call{State: state}, want: well, says: "done"})
}

// However a tool reports, and in however many calls, a person sees ten short lines
// a second of it.
func TestThreat11ProgressIsSlowAndShort(t *testing.T) {
	l := newLab(t)
	line := "\x1b]0;owned\x07\r\n\u202e" + strings.Repeat("x", 2000) + "\xff"
	p := parts{
		types: []string{"\x60\x03\x7f\x7f\x7f\x00"}, imports: []string{imported(abi.Module, abi.ImportProgress, typeOwn)},
		locals: testkit.Vec("\x01\x7f"), data: []string{dataAt(keyAt, line)},
	}
	p.call = "i32.const 0 local.set 2 loop " +
		fmt.Sprintf("local.get 2 i32.const 7919 i32.mul i32.const -9999 i32.add i32.const %d i32.const %d call 0 ", keyAt, len(line)) +
		fmt.Sprintf("i32.const -1 i32.const %d i32.const -1 call 0 i32.const 1 i32.const -1 i32.const 9 call 0 ", keyAt) +
		"local.get 2 i32.const 1 i32.add local.tee 2 i32.const 3000 i32.lt_u br_if 0 end " + answers()
	l.suffers(t, attack{what: "a flood", src: p.source("reports"), want: well, says: "done", on: func(m *Module) Outcome {
		s := begun(t, l.engine)
		var mu sync.Mutex
		shown := 0
		start := time.Now()
		one := func() Outcome {
			return m.Call(t.Context(), Call{Session: s, Progress: func(permille int, text string) {
				mu.Lock()
				defer mu.Unlock()
				shown++
				if permille < 0 || permille > 1000 || len(text) > maxProgress || !utf8.ValidString(text) || strings.ContainsAny(text, "\x1b\x07\r\n\u202e") {
					t.Errorf("%d %q", permille, text)
				}
			}})
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 5 {
					one()
				}
			})
		}
		wg.Wait()
		out := one()
		if most := 1 + int(time.Since(start)/(time.Second/10)); shown == 0 || shown > most {
			t.Errorf("%d lines in %v", shown, time.Since(start))
		}
		return out
	}})
}

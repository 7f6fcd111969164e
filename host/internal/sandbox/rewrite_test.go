package sandbox

import (
	"encoding/binary"
	"runtime"
	"strings"
	"testing"

	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/policy"
)

// module puts sections together: an id and a body each.
func module(sections ...any) []byte {
	b := []byte("\x00asm\x01\x00\x00\x00")
	for i := 0; i < len(sections); i += 2 {
		body := sections[i+1].(string)
		b = append(append(b, byte(sections[i].(int))), binary.AppendUvarint(nil, uint64(len(body)))...)
		b = append(b, body...)
	}
	return b
}

// A count that lies costs the engine up to a hundred GiB: here it costs nothing.
func TestCountsThatLieAreRefusedBeforeRoomIsMade(t *testing.T) {
	const many = "\xff\xff\xff\xff\x0f" // 2^32-1
	e := newEngine(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for name, wasm := range map[string][]byte{
		"types":             module(1, many),
		"parameters":        module(1, "\x01\x60"+many),
		"results":           module(1, "\x01\x60\x00"+many),
		"imports":           module(2, many),
		"import name":       module(2, "\x01"+many),
		"functions":         module(3, many),
		"tables":            module(4, many),
		"memories":          module(5, many),
		"globals":           module(6, many),
		"exports":           module(7, many),
		"export name":       module(7, "\x01"+many),
		"element segments":  module(9, many),
		"elements":          module(9, "\x01\x00\x41\x00\x0b"+many),
		"element exprs":     module(9, "\x01\x05\x70"+many),
		"bodies":            module(10, many),
		"body":              module(10, "\x01"+many),
		"locals":            module(10, "\x01\x09\x01"+many+"\x7f\x0b\x0b"),
		"data segments":     module(11, many),
		"data":              module(11, "\x01\x01"+many),
		"unknown section":   module(14, ""),
		"section cut short": append(module(), 1, 0x7f),
	} {
		_, err := e.Load(t.Context(), Source{Name: name, Wasm: wasm, Policy: policy.Default()})
		if err == nil || !strings.Contains(err.Error(), "not a valid core module") {
			t.Errorf("%s: %v", name, err)
		}
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
		t.Errorf("%d bytes were allocated", used)
	}
}

// A section of names that lies has no meaning for the module, and is dropped. A
// custom section without a name is no section.
func TestLyingNameSectionIsDropped(t *testing.T) {
	whole := testkit.Wasm(t, "done")
	want, refused := rewrite(Source{Wasm: whole, Policy: policy.Default()}, newMemoryEntry())
	if refused != nil {
		t.Fatal(refused)
	}
	for name, c := range map[string]struct {
		custom string
		taken  bool
	}{
		"function names": {"\x04name\x01\x05\xff\xff\xff\xff\x0f", true},
		"local names":    {"\x04name\x02\x05\xff\xff\xff\xff\x0f", true},
		"subsection":     {"\x04name\x01\xff\xff\xff\xff\x0f", true},
		"section name":   {"\xff\xff\xff\xff\x0f", false},
		"empty":          {"", false},
	} {
		wasm := append(whole[:len(whole):len(whole)], module(0, c.custom)[8:]...)
		got, refused := rewrite(Source{Wasm: wasm, Policy: policy.Default()}, newMemoryEntry())
		switch {
		case c.taken != (refused == nil):
			t.Errorf("%s: %v", name, refused)
		case c.taken && string(got.out.Wasm) != string(want.out.Wasm):
			t.Errorf("%s: %d bytes are left of %d", name, len(got.out.Wasm), len(want.out.Wasm))
		}
	}
}

func TestFunctionNamesStayForTheTrap(t *testing.T) {
	src := source(t, "trap")
	src.Wasm = append(src.Wasm, module(0, "\x04name\x00\x02\x01m\x01\x08\x01\x04\x05break\x02\x01\x00")[8:]...)
	m := load(t, newEngine(t), src)
	if out := m.Call(t.Context(), Call{}); !strings.Contains(out.Detail, "break(i32,i32) i64") {
		t.Error(out.Detail)
	}
	if got := m.Info().Digest; got != digest(src.Wasm) {
		t.Errorf("the digest is of other bytes: %s", got)
	}
}

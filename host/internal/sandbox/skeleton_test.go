package sandbox

import (
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
		b = append(append(b, byte(sections[i].(int))), encodeUint(len(body))...)
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
		"shared memory":     module(5, "\x01\x03\x01\x01"),
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

func TestLyingNameSectionIsDropped(t *testing.T) {
	whole := testkit.Wasm(t, "done")
	for name, custom := range map[string]string{
		"function names": "\x04name\x01\x05\xff\xff\xff\xff\x0f",
		"local names":    "\x04name\x02\x05\xff\xff\xff\xff\x0f",
		"subsection":     "\x04name\x01\xff\xff\xff\xff\x0f",
		"section name":   "\xff\xff\xff\xff\x0f",
		"empty":          "",
	} {
		wasm := append(whole[:len(whole):len(whole)], module(0, custom)[8:]...)
		s, err := readSkeleton(wasm)
		if err != nil || string(s.code) != string(whole) {
			t.Errorf("%s: %v, %d bytes are left of %d", name, err, len(s.code), len(whole))
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

func TestEveryFixtureAndGoGuestPassesTheSkeleton(t *testing.T) {
	for _, wasm := range [][]byte{builds.Tool(t, "testdata/guest"), builds.Command(t, "testdata/program"), testkit.Wasm(t, "extism-v2")} {
		if _, err := readSkeleton(wasm); err != nil {
			t.Error(err)
		}
	}
}

func FuzzSkeletonNeverPanics(f *testing.F) {
	f.Add(testkit.Wasm(f, "bigtable"))
	f.Add(module(9, "\x01\x00\x41\x00\x0b\x01\x00", 0, "\x04name\x01\x04\x01\x00\x01f"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) < 8 {
			return
		}
		if s, err := readSkeleton(b); err == nil && len(s.code) > len(b) {
			t.Errorf("%d bytes became %d", len(b), len(s.code))
		}
	})
}

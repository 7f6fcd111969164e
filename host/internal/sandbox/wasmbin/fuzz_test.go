package wasmbin_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
	"github.com/wagent-dev/wagent/host/internal/testkit"
)

// small are limits by which no mutant costs much.
func small() wasmbin.Limits {
	l := wasmbin.DefaultLimits()
	l.TableEntries, l.Tables, l.Locals, l.Nesting = 1000, 4, 1000, 100
	l.AllLocals = 10_000
	return l
}

// Two readers that disagree are a hole. What is taken here the engine must take,
// before and after; what is refused here in a function body as malformed or
// invalid the engine must refuse.
func FuzzRewrite(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(testkit.Root(f), "testdata", "wasm", "*.wasm"))
	if err != nil || len(files) < 30 {
		f.Fatal(files, err)
	}
	for _, name := range files {
		wasm, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wasm)
	}
	ctx := context.Background()
	config := wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2)
	takes := func(wasm []byte) error {
		r := wazero.NewRuntimeWithConfig(ctx, config)
		_, err := r.CompileModule(ctx, wasm)
		return errors.Join(err, r.Close(ctx))
	}
	f.Fuzz(func(t *testing.T, wasm []byte) {
		m, err := wasmbin.Decode(wasm, small())
		if err != nil {
			checkError(t, err, len(wasm))
			return
		}
		for _, o := range []wasmbin.Options{{}, {Fuel: true, Gap: 20, Slice: 10, Bare: true}} {
			out, err := m.Rewrite(o)
			if err != nil {
				e := checkError(t, err, len(wasm))
				if (e.Kind == wasmbin.Malformed || e.Kind == wasmbin.Invalid) && !longer(e) && takes(wasm) == nil {
					t.Fatalf("the engine takes what is refused: %v", err)
				}
				return
			}
			// A name section that is not well formed is dropped here.
			if err := takes(wasm); err != nil && !strings.Contains(err.Error(), "custom section") {
				t.Fatalf("the engine refuses what is taken: %v", err)
			}
			if err := takes(out.Wasm); err != nil {
				t.Fatalf("the engine refuses what was made of it: %v", err)
			}
			if len(out.Wasm) > 64*len(wasm)+4096 {
				t.Fatalf("%d bytes became %d", len(wasm), len(out.Wasm))
			}
			if shell, err := wasmbin.Shell(out.Wasm); err != nil || takes(shell) != nil {
				t.Fatalf("what is left without its code is no module: %v, %v", err, takes(shell))
			}
			// What was written is read again, but for the names of the host.
			if _, err := wasmbin.Decode(out.Wasm, small()); err != nil && !strings.Contains(err.Error(), "reserved") {
				t.Fatalf("what was made of it is refused: %v", err)
			}
		}
	})
}

// longer says that an instruction or a number was refused for its form alone. The
// engine takes signed numbers whose last byte has bits that are none of the
// number's and not its sign, which the specification forbids (5.2.2).
func longer(e *wasmbin.Error) bool {
	return strings.Contains(e.Problem, "instruction fc 0x8") || strings.Contains(e.Problem, "longer form") || strings.Contains(e.Problem, "number is longer than")
}

func checkError(t *testing.T, err error, size int) *wasmbin.Error {
	t.Helper()
	e, ok := errors.AsType[*wasmbin.Error](err)
	if !ok || e.Offset < 0 || e.Offset > size || e.Problem == "" || len(e.Error()) > 4096 {
		t.Fatalf("error is %T %v", err, err)
	}
	return e
}

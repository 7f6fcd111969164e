package wasmbin_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
	"github.com/wagent-dev/wagent/host/internal/testkit"
)

// A shell has what the module has but for its code, and every module has its own.
func TestShellIsTheModuleWithoutItsCode(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testkit.Root(t), "testdata", "wasm", "*.wasm"))
	if err != nil || len(files) < 30 {
		t.Fatal(files, err)
	}
	seen := make(map[string]string)
	for _, name := range files {
		wasm, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := wasmbin.Decode(wasm, wasmbin.DefaultLimits())
		if err != nil {
			continue // it is one that is refused
		}
		for _, fuel := range []bool{false, true} {
			out, err := m.Rewrite(wasmbin.Options{Bare: true, Fuel: fuel})
			if err != nil {
				continue
			}
			shell, err := wasmbin.Shell(out.Wasm)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if other, ok := seen[string(shell)]; ok {
				t.Errorf("%s and %s have one shell", name, other)
			}
			seen[string(shell)] = name
			sameOutside(t, name, out.Wasm, shell)
		}
	}
	if len(seen) < 60 {
		t.Errorf("%d shells were looked at", len(seen))
	}
}

// sameOutside compares what the engine says of two modules.
func sameOutside(t *testing.T, name string, module, shell []byte) {
	t.Helper()
	r := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(api.CoreFeaturesV2))
	defer r.Close(t.Context())
	whole, err := r.CompileModule(t.Context(), module)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	empty, err := r.CompileModule(t.Context(), shell)
	if err != nil {
		t.Fatalf("%s: the shell: %v", name, err)
	}
	if a, b := len(whole.ImportedFunctions()), len(empty.ImportedFunctions()); a != b {
		t.Errorf("%s: %d imports, the shell has %d", name, a, b)
	}
	for export, f := range whole.ExportedFunctions() {
		g := empty.ExportedFunctions()[export]
		if g == nil || g.Index() != f.Index() || !bytes.Equal(g.ParamTypes(), f.ParamTypes()) || !bytes.Equal(g.ResultTypes(), f.ResultTypes()) || g.Name() != f.Name() {
			t.Errorf("%s: %s is another function", name, export)
		}
	}
	for export, mem := range whole.ExportedMemories() {
		if g := empty.ExportedMemories()[export]; g == nil || g.Min() != mem.Min() {
			t.Errorf("%s: %s is another memory", name, export)
		}
	}
}

func TestShellOfWhatIsNoModule(t *testing.T) {
	for _, wasm := range []string{
		"", "\x00asm", "\x00asm\x02\x00\x00\x00", "\x00asm\x01\x00\x00\x00\x0a", "\x00asm\x01\x00\x00\x00\x0a\x05\x01",
		"\x00asm\x01\x00\x00\x00\x0a\x05\xff\xff\xff\xff\x0f", "\x00asm\x01\x00\x00\x00\x0a\xff\xff\xff\xff\xff\xff",
	} {
		if shell, err := wasmbin.Shell([]byte(wasm)); err == nil {
			t.Errorf("%q: %q", wasm, shell)
		}
	}
}

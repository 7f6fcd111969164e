package sandbox

import (
	"fmt"
	"testing"

	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// countingVariables are tools of the three ABIs that break off when the system
// tells of another number of variables, or of bytes of them.
func countingVariables(variables, bytes int64) []Source {
	const at, ask = keyAt, "i32.const 8192 i32.const 8196 call 0 if unreachable end "
	code := ask + fmt.Sprintf("i32.const %d i32.load ", at) + unless(variables) + fmt.Sprintf("i32.const %d i32.load ", at+4) + unless(bytes)
	p := parts{types: []string{"\x60\x02\x7f\x7f\x01\x7f"}, imports: []string{imported(wasiModule, "environ_sizes_get", typeOwn)}, call: code + answers()}
	bare := func(name, export, result, code string) Source {
		return Source{Name: name, Policy: policy.Default(), Wasm: testkit.Module(
			testkit.Section(1, testkit.Vec("\x60\x00"+result, "\x60\x02\x7f\x7f\x01\x7f")),
			testkit.Section(2, testkit.Vec(imported(wasiModule, "environ_sizes_get", 1))),
			testkit.Section(3, testkit.Vec("\x00")),
			testkit.Section(5, testkit.Vec("\x00\x01")),
			testkit.Section(7, testkit.Vec(testkit.Sized("memory")+"\x02\x00", exported(export, 1))),
			testkit.Section(10, testkit.Vec(testkit.Sized(testkit.Vec()+testkit.Code(code)+"\x0b"))),
		)}
	}
	plugin := bare("plugin.wasm", "run", "\x01\x7f", code+"i32.const 0")
	plugin.ABI, plugin.Export, plugin.Tool = Extism, "run", &abi.Tool{Name: "run"}
	return []Source{p.source("tool"), bare("program.wasm", "_start", "\x00", code), plugin}
}

// However much the host's own environment holds, a guest has what it was granted.
func TestISO4VariablesOfTheHostAreNotSeen(t *testing.T) {
	for i := range 20 {
		t.Setenv(fmt.Sprintf("WAGENT_TEST_KEY_%d", i), "sk-canary")
	}
	l := newLab(t)
	for _, c := range []struct {
		granted          map[string]string
		variables, bytes int64
		trap             bool
	}{
		{nil, 0, 0, false},
		{nil, 1, 0, true}, // or the test would show nothing
		{map[string]string{"A": "b"}, 1, 4, false},
		{map[string]string{"A": "b"}, 0, 0, true},
	} {
		for _, src := range countingVariables(c.variables, c.bytes) {
			src.Policy.Grants.Env = c.granted
			m := load(t, l.engine, src)
			if out := m.Call(t.Context(), Call{}); (out.Fault == FaultTrap) != c.trap {
				t.Errorf("%s, %v granted and %d expected: %q %s", src.Name, c.granted, c.variables, out.Fault, out.Detail)
			}
			closed(t, m)
		}
	}
	l.works(t)
}

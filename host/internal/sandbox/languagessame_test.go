//go:build !race

// The race detector does not see what this is about, the engine's code, and makes
// compiling it ten times slower: modules of Go, the largest, are left out there.

package sandbox

import (
	"fmt"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
	"github.com/wagent-dev/wagent/testdata/languages/counting"
)

// languages are those whose compilers made testdata/languages. Go is there as
// source.
var languages = []string{"c", "rust", "assemblyscript", "zig", "go"}

// What a module computes does not depend on whether it was rewritten, nor on
// how often it is interrupted, nor on the engine.
func TestModulesOfEveryLanguageComputeTheSameWhenRewritten(t *testing.T) {
	ways := map[string]*wasmbin.Options{
		"plain":                nil,
		"slices":               {},
		"a look at every turn": {Slice: 3, Gap: 5, Piece: 16},
		"fuel":                 {Fuel: true},
	}
	engines := map[string]wazero.RuntimeConfig{
		"compiler":    wazero.NewRuntimeConfigCompiler(),
		"interpreter": wazero.NewRuntimeConfigInterpreter(),
	}
	for _, language := range languages {
		if language == "go" {
			continue // package wasmbin has guests in Go
		}
		wasm := languageWasm(t, language)
		want := make(map[string]string) // by request
		for engine, config := range engines {
			for way, options := range ways {
				ctx, mod := bareInstance(t, config, wasm, options)
				for i, text := range texts() {
					if len(text) > 1000 && (way == "a look at every turn" || engine == "interpreter") {
						continue // that would take a second each
					}
					got := bareCall(t, ctx, mod, requestFor(t, "word_count", counting.Args{Text: text}))
					if counted(t, got).Distinct != counting.Count(text).Distinct {
						t.Errorf("%s, %s, %s: %s", language, engine, way, got)
					}
					key := fmt.Sprint(i)
					if first, ok := want[key]; ok && got != first {
						t.Errorf("%s, %s, %s: %.60q: got %s, want %s", language, engine, way, text, got, first)
					}
					want[key] = got
				}
				// The state that a call leaves is the same, too.
				for i := 1; i <= 3; i++ {
					if got := bareCall(t, ctx, mod, requestFor(t, "counter", struct{}{})); got != fmt.Sprint(i) {
						t.Errorf("%s, %s, %s: counted %s, want %d", language, engine, way, got, i)
					}
				}
			}
		}
	}
}

//go:build wabt

package wasmbin_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
	"github.com/wagent-dev/wagent/host/internal/testkit"
)

// Threat 1: the reader of another project finds the same instructions at the
// same places, in every module that is taken, and takes it too. The modules are
// the fixtures and what came of them when some of their bytes were changed.
func TestWabtReadsTheSameInstructions(t *testing.T) {
	for _, tool := range []string{"wasm-validate", "wasm-objdump"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%v: it comes with wabt (apt-get install wabt)", err)
		}
	}
	files, err := filepath.Glob(filepath.Join(testkit.Root(t), "testdata", "*", "*.wasm"))
	if err != nil || len(files) < 40 {
		t.Fatal(files, err)
	}
	const mutants = 60
	taken, total := 0, 0
	for _, name := range files {
		original, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(original) > 100<<10 {
			continue // most of what is changed in them is data
		}
		random := rand.New(rand.NewPCG(1, uint64(len(original))))
		for i := range mutants {
			wasm := original
			if i > 0 {
				wasm = mutate(random, original)
			}
			total++
			if agree(t, filepath.Base(name), i, wasm) {
				taken++
			}
		}
	}
	if taken < total/10 {
		t.Errorf("%d of %d mutants were taken: they say little", taken, total)
	}
	t.Logf("%d modules, %d taken", total, taken)
}

// mutate changes a byte or a few, more often in code than in data, since most of
// a small module is code.
func mutate(random *rand.Rand, wasm []byte) []byte {
	out := bytes.Clone(wasm)
	for range 1 + random.IntN(3) {
		at := 8 + random.IntN(len(out)-8)
		switch random.IntN(4) {
		case 0:
			out[at] ^= 1 << random.IntN(8)
		case 1:
			out[at]++
		case 2:
			out[at] = out[8+random.IntN(len(out)-8)]
		default:
			out[at] = byte(random.Uint32())
		}
	}
	return out
}

var instruction = regexp.MustCompile(`(?m)^ ([0-9a-f]{6}): [0-9a-f ]*\| +(\S.*)$`)

// agree compares one module and says whether it was taken.
func agree(t *testing.T, name string, mutant int, wasm []byte) bool {
	t.Helper()
	m, err := wasmbin.Decode(wasm, small())
	var ours []int
	if err == nil {
		ours, err = m.Boundaries()
	}
	if err != nil {
		return false
	}
	file := filepath.Join(t.TempDir(), "m.wasm")
	if err := os.WriteFile(file, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	// Names are checked by nobody here, and dropped where they are not well formed.
	if out, err := exec.CommandContext(t.Context(), "wasm-validate", "--no-debug-names", "--ignore-custom-section-errors", file).CombinedOutput(); err != nil {
		t.Errorf("%s, mutant %d: taken here, and not by wabt: %s", name, mutant, out)
	}
	out, err := exec.CommandContext(t.Context(), "wasm-objdump", "-d", file).Output()
	if err != nil {
		t.Errorf("%s, mutant %d: %v", name, mutant, err)
	}
	var theirs []int
	for _, line := range instruction.FindAllSubmatch(out, -1) {
		at, err := strconv.ParseInt(string(line[1]), 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(line[2], []byte("local[")) { // a declaration
			theirs = append(theirs, int(at))
		}
	}
	if !slices.Equal(ours, theirs) {
		i := 0
		for i < min(len(ours), len(theirs)) && ours[i] == theirs[i] {
			i++
		}
		t.Errorf("%s, mutant %d: from instruction %d on: at %x here, at %x in wabt", name, mutant, i, ours[i:min(i+4, len(ours))], theirs[i:min(i+4, len(theirs))])
	}
	return true
}

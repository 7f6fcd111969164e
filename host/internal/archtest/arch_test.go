// Package archtest fails when an import turns against the direction that the
// architecture gives it.
package archtest

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const root = "github.com/wagent-dev/wagent/"

// rule says what the packages under a path may import of this module. The first
// rule that fits a package holds. Packages below a permitted one are permitted;
// a path that ends in "$" means that package alone.
type rule struct {
	of    string
	allow []string
}

var rules = []rule{
	{"cmd/wagent", []string{"host$", "host/selftest", "host/manifest", "host/model", "host/policy", "host/run", "host/visible", "sdk/abi"}},
	{"host/internal/agent", []string{"host/internal/planner", "host/internal/schema", "host/internal/toolsearch", "host/run", "host/model", "host/visible"}},
	{"host/internal/planner", []string{"host/run", "host/model"}},
	{"host/internal/schema", []string{"host/internal/spelling"}},
	{"host/internal/spelling", nil},
	{"host/internal/toolsearch", nil},
	{"host/internal/redact", nil},
	{"host/internal/sandbox/wasmbin", nil},
	{"host/internal/sandbox/linear", nil},
	{"host/internal/confine", nil},
	{"host/internal/sandbox", []string{"host/internal/sandbox", "host/internal/confine", "host/internal/hostfn", "host/internal/redact", "host/policy", "host/visible", "sdk/abi"}},
	{"host/internal/hostfn", []string{"host/internal/redact", "host/policy", "host/visible", "sdk/abi"}},
	{"host/internal/testkit", []string{"sdk/abi"}},
	{"host/internal/archtest", nil},
	{"host/internal/conformance", nil}, // tests alone
	{"host/selftest", []string{"host/internal/redact", "host/internal/sandbox", "host/manifest", "host/policy", "host/visible", "sdk/abi", "testdata/wasm"}},
	{"host/visible", nil},
	{"host/manifest", []string{"host/policy", "host/visible", "host/internal/spelling"}},
	{"host/policy", nil},
	{"host/model", []string{"host/internal/redact", "host/model", "host/visible"}},
	{"host/run", []string{"host/run", "host/model"}},
	{"host$", []string{"host/internal", "host/manifest", "host/model", "host/run", "host/policy", "host/visible", "sdk/abi"}},
	{"sdk/abi", nil},
	{"sdk", []string{"sdk"}},
	{"examples/wasm-tools", []string{"sdk", "examples/wasm-tools"}},
}

// engines are what only the sandbox may know.
var engines = []string{"github.com/tetratelabs/wazero", "github.com/extism"}

// noNetwork lists packages that must not reach net/http themselves.
var noNetwork = []string{"host/internal/agent", "host/internal/planner", "host/internal/schema", "host/run", "host/policy", "sdk/abi"}

type pkg struct {
	ImportPath string
	Imports    []string
}

func TestImportsPointDown(t *testing.T) {
	for _, p := range packages(t) {
		at := strings.TrimPrefix(p.ImportPath, root)
		i := slices.IndexFunc(rules, func(r rule) bool { return under(at, r.of) })
		if i < 0 {
			t.Errorf("%s has no rule here: say what it may import", at)
			continue
		}
		for _, im := range p.Imports {
			to, ours := strings.CutPrefix(im, root)
			if ours && !slices.ContainsFunc(rules[i].allow, func(a string) bool { return under(to, a) }) {
				t.Errorf("%s imports %s", at, to)
			}
		}
	}
}

func TestOnlyTheSandboxKnowsAnEngine(t *testing.T) {
	for _, p := range packages(t) {
		at := strings.TrimPrefix(p.ImportPath, root)
		if under(at, "host/internal/sandbox") {
			continue
		}
		for _, im := range p.Imports {
			if slices.ContainsFunc(engines, func(e string) bool { return strings.HasPrefix(im, e) }) {
				t.Errorf("%s imports %s", at, im)
			}
		}
	}
}

// notOurs lists what of the engine the sandbox does itself: there guests keep
// state that outlives their call, and links lead out of folders.
var notOurs = []string{
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1",
	"github.com/tetratelabs/wazero/experimental/sysfs",
}

func TestTheSystemInterfaceIsOurs(t *testing.T) {
	for _, p := range packages(t) {
		for _, im := range p.Imports {
			if slices.Contains(notOurs, im) {
				t.Errorf("%s imports %s", strings.TrimPrefix(p.ImportPath, root), im)
			}
		}
	}
}

func TestTheLoopHasNoNetwork(t *testing.T) {
	for _, p := range packages(t) {
		at := strings.TrimPrefix(p.ImportPath, root)
		if slices.Contains(noNetwork, at) && slices.Contains(p.Imports, "net/http") {
			t.Errorf("%s imports net/http", at)
		}
	}
}

func TestTheGuestContractNeedsTheStandardLibraryOnly(t *testing.T) {
	for _, p := range packages(t) {
		at := strings.TrimPrefix(p.ImportPath, root)
		if !under(at, "sdk") {
			continue
		}
		for _, im := range p.Imports {
			if strings.Contains(im, ".") && !strings.HasPrefix(im, root+"sdk") {
				t.Errorf("%s imports %s", at, im)
			}
		}
	}
}

func under(path, dir string) bool {
	if exact, ok := strings.CutSuffix(dir, "$"); ok {
		return path == exact
	}
	return path == dir || strings.HasPrefix(path, dir+"/")
}

func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", root+"...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var p pkg
		if err := dec.Decode(&p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 10 {
		t.Fatalf("go list found %d packages", len(all))
	}
	return all
}

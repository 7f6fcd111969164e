package sandbox

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wagent-dev/wagent/host/internal/testkit"
	"github.com/wagent-dev/wagent/host/policy"
	"github.com/wagent-dev/wagent/sdk/abi"
)

func TestModulesThatCannotRunAreRefusedWithTheReason(t *testing.T) {
	e := newEngine(t)
	for _, tc := range []struct {
		name   string
		change func(*Source)
		kind   LoadKind
		says   string
	}{
		{name: "needhttp", kind: LoadGrant, says: "allow: {http: [{host: HOST, methods: [GET]}]}"},
		{name: "needkv", kind: LoadGrant, says: "needkv.wasm: the module uses a store (kv_get) and was not granted one; add to its tool: allow: {kv: true}"},
		{name: "done", change: func(s *Source) { s.Policy.Limits.Memory = 0 }, kind: LoadMemory},
		{name: "done", change: func(s *Source) { s.ABI = "wit" }, kind: LoadUnsupported},
		{name: "cat", change: func(s *Source) { s.ABI = Wagent }, kind: LoadExport, says: "a command (it exports _start)"},
		{name: "initloop", change: func(s *Source) { s.ABI = WASI }, kind: LoadExport, says: "a reactor"},
		{name: "cat", change: func(s *Source) { s.ABI = Extism }, kind: LoadExport, says: "where a reactor was meant"},
		{name: "extism-plain", kind: LoadExport, says: "export: echo | exits | fails"},
		{name: "extism-plain", change: func(s *Source) { s.Export = "echo" }, kind: LoadUnsupported, says: "name, description and parameters"},
		{name: "extism-plain", change: plainTool("nosuch"), kind: LoadExport, says: "nosuch"},
		{name: "extism-v1", change: func(s *Source) { s.Policy.Limits.Memory = policy.MiB }, kind: LoadMemory, says: "2MiB"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			src := source(t, tc.name)
			if tc.change != nil {
				tc.change(&src)
			}
			_, err := e.Load(t.Context(), src)
			var got *LoadError
			if !errors.As(err, &got) {
				t.Fatalf("got %v", err)
			}
			if got.Kind != tc.kind || !strings.Contains(err.Error(), tc.says) || !strings.HasPrefix(err.Error(), src.Name+": ") {
				t.Errorf("got %s %q, want %s %q", got.Kind, err, tc.kind, tc.says)
			}
		})
	}
}

func TestABIIsDecidedAndTheReasonSaid(t *testing.T) {
	e := newEngine(t)
	for name, want := range map[string][2]string{
		"done":      {"wagent", "it exports wagent_abi"},
		"cat":       {"wasi", "it exports _start"},
		"extism-v1": {"extism", "it imports extism:host/env"},
	} {
		info := load(t, e, source(t, name)).Info()
		if diff := cmp.Diff(want, [2]string{string(info.ABI), info.Why}); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestInfoShowsWhatAModuleWantsAndOffers(t *testing.T) {
	wasm := testkit.Wasm(t, "logflood")
	sum := sha256.Sum256(wasm)
	got := load(t, newEngine(t), source(t, "logflood")).Info()
	want := Info{
		Digest: "sha256:" + hex.EncodeToString(sum[:]), ABI: Wagent, Why: "it exports wagent_abi", Bytes: int64(len(wasm)),
		Imports: []Import{{"wagent", "log", "(i32, i32, i32)", "wagent"}},
		Exports: []Export{
			{"memory", "memory", ""},
			{"wagent_abi", "func", "() -> i32"},
			{"wagent_alloc", "func", "(i32) -> i32"},
			{"wagent_call", "func", "(i32, i32) -> i64"},
			{"wagent_describe", "func", "() -> i64"},
		},
		Memory: MemoryInfo{Min: 2 * pageSize},
	}
	got.Rewritten = Rewritten{} // is for those that inspect
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestInspectLoadsWhatHasNoGrant(t *testing.T) {
	m := load(t, newEngine(t), source(t, "needhttp"), func(s *Source) { s.Inspect = true })
	d, err := m.Describe(t.Context())
	if err != nil || d.Tools[0].Name != "needhttp" {
		t.Errorf("%+v %v", d, err)
	}
}

func TestDeclaredToolIsReturnedWithoutRunningAnything(t *testing.T) {
	tool := &abi.Tool{Name: "mine"}
	m := load(t, newEngine(t), source(t, "startloop"), func(s *Source) { s.Tool = tool })
	d, err := m.Describe(t.Context())
	if diff := cmp.Diff(abi.Description{Tools: []abi.Tool{*tool}}, d); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func FuzzLoadNeverPanics(f *testing.F) {
	for _, name := range []string{"done", "extism-v1", "cat", "bigtable", "startloop"} {
		f.Add(testkit.Wasm(f, name))
	}
	e, err := New(Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, wasm []byte) {
		p := policy.Default()
		p.Limits.Memory = 4 * policy.MiB
		m, err := e.Load(t.Context(), Source{Name: "fuzz", Wasm: wasm, Policy: p, Inspect: true})
		if err != nil {
			return
		}
		if err := m.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestFixturesMatchTheirDigests(t *testing.T) {
	for _, folder := range []string{"wasm", "bench", "languages"} {
		dir := filepath.Join(testkit.Root(t), "testdata", folder)
		list, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.wasm"))
		if err != nil {
			t.Fatal(err)
		}
		for s := bufio.NewScanner(bytes.NewReader(list)); s.Scan(); files = files[1:] {
			want, name, _ := strings.Cut(s.Text(), "  ")
			wasm, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if sum := sha256.Sum256(wasm); hex.EncodeToString(sum[:]) != want {
				t.Errorf("%s/%s is not what SHA256SUMS says", folder, name)
			}
		}
		if len(files) != 0 {
			t.Errorf("not listed: %v", files)
		}
	}
}

// A module that lacks several grants is told all of them.
func TestAllGrantsThatAreLackingAreTold(t *testing.T) {
	_, err := newEngine(t).Load(t.Context(), source(t, "calls"))
	for _, want := range []string{"HTTP requests", "allow: {http:", "a store", "allow: {kv: true}", "state_get"} {
		if err == nil || strings.Count(err.Error(), want) != 1 {
			t.Errorf("got %v, want one %s", err, want)
		}
	}
}

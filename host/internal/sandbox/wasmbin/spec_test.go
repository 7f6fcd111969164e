//go:build !race

// The race detector does not see what the suite is about, the engine's code, and
// makes compiling it ten times slower.

package wasmbin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
)

// The engine carries the specification's own tests as data. Each module runs
// twice, as it is and rewritten, and both must give the same results and traps,
// bit for bit; what is not valid must be refused.

// script is one file of the suite.
type script struct {
	Commands []command
}

type command struct {
	Type       string
	Line       int
	Name       string
	Filename   string
	As         string
	Action     action
	Text       string
	ModuleType string `json:"module_type"`
}

type action struct {
	Type   string
	Field  string
	Module string
	Args   []value
}

type value struct {
	Type     string
	LaneType string `json:"lane_type"`
	Value    any
}

func suite(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Fatalf("go list: %v; the suite is in the engine's module, which go mod download brings", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "internal", "integration_test", "spectest")
}

// anything is limits that the suite does not meet.
func anything() wasmbin.Limits {
	l := wasmbin.DefaultLimits()
	l.TableEntries = 1<<32 - 1
	l.BranchLocals, l.Tables = 1<<40, 100
	return l
}

func TestTheSpecificationsSuiteRunsAlike(t *testing.T) {
	dir := suite(t)
	spectest, err := os.ReadFile(filepath.Join(dir, "testdata", "spectest.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	// Without the tag e2e: the compiler by slices, the interpreter by fuel.
	engines := map[string]wazero.RuntimeConfig{
		"compiler":    wazero.NewRuntimeConfigCompiler(),
		"interpreter": wazero.NewRuntimeConfigInterpreter(),
	}
	options := map[string]wasmbin.Options{
		"a look at every turn": {Slice: 3, Gap: 5, Piece: 16},
		"exact fuel":           {Fuel: true, Slice: 50, Gap: 100, Piece: 64},
	}
	if everyWay {
		options["slices"] = wasmbin.Options{Slice: 10_000}
	}
	files, err := filepath.Glob(filepath.Join(dir, "v[12]", "testdata", "*.json"))
	if err != nil || len(files) < 150 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for engine, config := range engines {
		for name, opts := range options {
			if !everyWay && (engine == "compiler") == opts.Fuel {
				continue
			}
			t.Run(engine+" with "+name, func(t *testing.T) {
				t.Parallel()
				total := 0
				for _, f := range files {
					p := &player{t: t, dir: filepath.Dir(f), opts: opts, name: filepath.Base(f), first: strings.Contains(f, "v1")}
					for i := range p.sides {
						p.sides[i].r = wazero.NewRuntimeWithConfig(t.Context(), config.WithCoreFeatures(api.CoreFeaturesV2))
						p.sides[i].mods = map[string]api.Module{}
						if _, err := p.sides[i].r.Instantiate(t.Context(), spectest); err != nil {
							t.Fatal(err)
						}
						servePauses(t, p.sides[i].r, opts.Slice, nil)
					}
					p.play(f)
					for i := range p.sides {
						if err := p.sides[i].r.Close(t.Context()); err != nil {
							t.Error(err)
						}
					}
					total += p.checks
				}
				if total < 40_000 {
					t.Errorf("%d checks, want 40,000", total)
				}
			})
		}
	}
}

// player plays one script on both sides: plain and rewritten.
type player struct {
	t      *testing.T
	dir    string
	name   string
	first  bool // the file is of version 1, some of which version 2 has changed
	opts   wasmbin.Options
	sides  [2]side
	checks int
}

type side struct {
	r    wazero.Runtime
	mods map[string]api.Module
	last api.Module
}

func (p *player) errorf(c *command, format string, args ...any) {
	p.t.Helper()
	p.t.Errorf("%s:%d %s: %s", p.name, c.Line, c.Type, fmt.Sprintf(format, args...))
}

func (p *player) play(file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	var s script
	if err := json.Unmarshal(data, &s); err != nil {
		p.t.Fatal(err)
	}
	for i := range s.Commands {
		c := &s.Commands[i]
		switch c.Type {
		case "module":
			as := ""
			if i+1 < len(s.Commands) && s.Commands[i+1].Type == "register" {
				as = s.Commands[i+1].As
			}
			p.module(c, as)
		case "assert_invalid", "assert_malformed":
			if c.ModuleType == "binary" {
				p.refused(c)
			}
		case "assert_unlinkable", "assert_uninstantiable":
			p.fails(c)
		case "action", "assert_return", "assert_trap", "assert_exhaustion":
			p.act(c)
		}
	}
}

func (p *player) read(c *command) []byte {
	wasm, err := os.ReadFile(filepath.Join(p.dir, c.Filename))
	if err != nil {
		p.t.Fatal(err)
	}
	return wasm
}

// instantiate makes an instance on both sides.
func (p *player) instantiate(c *command, as string) (mods [2]api.Module, errs [2]error) {
	wasm := p.read(c)
	config := wazero.NewModuleConfig().WithName(as)
	ctx := p.t.Context()
	mods[0], errs[0] = p.sides[0].r.InstantiateWithConfig(ctx, wasm, config)
	out, err := rewrite(wasm, anything(), p.opts)
	if err != nil {
		errs[1] = err
		return mods, errs
	}
	mods[1], errs[1] = p.sides[1].r.InstantiateWithConfig(ctx, out.Wasm, config)
	if errs[1] != nil {
		return mods, errs
	}
	refuel(mods[1])
	if f := mods[1].ExportedFunction(wasmbin.StartExport); f != nil {
		_, errs[1] = f.Call(ctx)
	}
	return mods, errs
}

func (p *player) module(c *command, as string) {
	mods, errs := p.instantiate(c, as)
	if errs[0] == nil && p.name == "binary-leb128.json" && errs[1] != nil && strings.Contains(errs[1].Error(), "instruction fc 0x80") {
		return // an opcode in a longer form than needed is refused on purpose
	}
	if errs[0] != nil || errs[1] != nil {
		p.errorf(c, "plain: %v, rewritten: %v", errs[0], errs[1])
		return
	}
	for i := range p.sides {
		p.sides[i].last = mods[i]
		p.sides[i].mods[c.Name] = mods[i]
	}
	p.checks++
}

func (p *player) refused(c *command) {
	p.checks++
	if _, err := rewrite(p.read(c), anything(), p.opts); err == nil {
		// The files of version 1 call invalid what version 2 allows.
		if _, err := p.sides[0].r.CompileModule(p.t.Context(), p.read(c)); err != nil && !(p.first && c.Text == "multiple tables") {
			p.errorf(c, "%s was taken, want %q: %v", c.Filename, c.Text, err)
		}
	} else if _, ok := errors.AsType[*wasmbin.Error](err); !ok {
		p.errorf(c, "error is %T", err)
	}
}

func (p *player) fails(c *command) {
	p.checks++
	if _, errs := p.instantiate(c, ""); (errs[0] == nil) != (errs[1] == nil) {
		p.errorf(c, "plain: %v, rewritten: %v", errs[0], errs[1])
	}
}

func (p *player) act(c *command) {
	p.checks++
	var got [2][]uint64
	var errs [2]error
	for i := range p.sides {
		s := &p.sides[i]
		mod := s.last
		if c.Action.Module != "" {
			mod = s.mods[c.Action.Module]
		}
		switch c.Action.Type {
		case "invoke":
			if i == 1 {
				refuel(mod)
			}
			got[i], errs[i] = mod.ExportedFunction(c.Action.Field).Call(context.Background(), p.args(c)...)
		case "get":
			got[i] = []uint64{mod.ExportedGlobal(c.Action.Field).Get()}
		default:
			p.errorf(c, "action %q", c.Action.Type)
		}
	}
	if !slices.Equal(got[0], got[1]) || trap(errs[0]) != trap(errs[1]) {
		p.errorf(c, "%s: plain %x %q, rewritten %x %q", c.Action.Field, got[0], trap(errs[0]), got[1], trap(errs[1]))
	}
	if failed := strings.HasPrefix(c.Type, "assert_") && c.Type != "assert_return"; failed != (errs[0] != nil) && !p.first {
		p.errorf(c, "%s: %v", c.Action.Field, errs[0])
	}
}

// trap is the first line of an error: the rest is a stack.
func trap(err error) string {
	if err == nil {
		return ""
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func (p *player) args(c *command) []uint64 {
	var out []uint64
	for _, a := range c.Action.Args {
		lanes, ok := a.Value.([]any)
		if !ok {
			out = append(out, p.number(c, a.Type, a.Value))
			continue
		}
		bits, err := strconv.Atoi(strings.TrimLeft(a.LaneType, "if"))
		if err != nil {
			p.errorf(c, "lanes of %s", a.LaneType)
		}
		var v [2]uint64
		for i, l := range lanes {
			n := p.number(c, a.LaneType, l)
			if bits < 64 {
				n &= 1<<bits - 1
			}
			v[i*bits/64] |= n << (i * bits % 64)
		}
		out = append(out, v[0], v[1])
	}
	return out
}

// number reads an argument. The suite writes floats as their bits.
func (p *player) number(c *command, typ string, v any) uint64 {
	s, _ := v.(string)
	switch {
	case v == nil || s == "null":
		return 0
	case strings.HasPrefix(s, "nan:"):
		if strings.Contains(typ, "32") {
			return 0x7fc00000
		}
		return 0x7ff8000000000000
	}
	if n, err := strconv.ParseUint(s, 10, 64); err == nil {
		if typ == "externref" {
			n++ // the engine takes 0 for null
		}
		return n
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		p.errorf(c, "argument %v of type %s", v, typ)
	}
	if strings.Contains(typ, "32") {
		return uint64(uint32(n))
	}
	return uint64(n)
}

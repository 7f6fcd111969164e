package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
	"github.com/wagent-dev/wagent/host/internal/schema"
	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/sdk/abi"
)

// maxModule is the most bytes that a module may have.
const maxModule = 64 << 20

// maxCompiling bounds the modules that are compiled at once.
const maxCompiling = 4

// load compiles the modules of the manifest and binds their tools, and agents, in its
// order.
// All faults are reported, not only the first; entries that have one of known are
// left alone.
func (h *Host) load(ctx context.Context, known error) error {
	m := h.manifest
	h.said, h.loaded = make([][]string, len(m.Tools)), make([]string, len(m.Tools))
	entries := make([][]*binding, len(m.Tools))
	faults := make([]error, len(m.Tools))
	var g errgroup.Group
	g.SetLimit(min(maxCompiling, runtime.GOMAXPROCS(0))) // more would only take longer until the first is done
	for i := range m.Tools {
		if faulty(known, fmt.Sprintf("tools[%d]", i)) {
			continue
		}
		if m.Tools[i].Agent != "" {
			entries[i] = []*binding{h.agentTool(i)}
			continue
		}
		g.Go(func() error {
			defer h.progress.begin(filepath.Base(m.Tools[i].Module))()
			entries[i], faults[i] = h.bind(ctx, i)
			if faults[i] != nil {
				faults[i] = m.Tools[i].Fault(faults[i])
			}
			return nil
		})
	}
	_ = g.Wait() // the faults are in their places
	for i, bs := range entries {
		for _, b := range bs {
			if h.box[b.info.Name] != nil {
				faults[i] = errors.Join(faults[i], m.Tools[i].Fault(h.box[b.info.Name].taken(b)))
				continue
			}
			h.box[b.info.Name] = b
			h.order = append(h.order, b)
		}
	}
	return errors.Join(faults...)
}

// taken says that another tool has the name of t.
func (t *binding) taken(other *binding) error {
	what, use := "a tool of "+t.info.Source, "rename"
	if t.agent != nil {
		what = "the agent " + t.info.Agent.Manifest
	}
	if other.agent != nil {
		use = "name"
	}
	return fmt.Errorf("tool %q is already the name of %s: use %s", other.info.Name, what, use)
}

// faulty reports whether err, which may be several joined, has a fault of field or
// of something in it.
func faulty(err error, field string) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return slices.ContainsFunc(joined.Unwrap(), func(one error) bool { return faulty(one, field) })
	}
	fault, ok := errors.AsType[*manifest.Error](err)
	if !ok {
		return false
	}
	rest, ok := strings.CutPrefix(fault.Field, field)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// maxSaid bounds the warnings of one module that are kept.
const maxSaid = 20

// bind loads the module of an entry and returns the tools of it that the model may
// see. The module belongs to the engine, also when there is an error.
func (h *Host) bind(ctx context.Context, i int) ([]*binding, error) {
	t := &h.manifest.Tools[i]
	if h.cache != "" {
		if err := t.Covers("the host's compiled code", h.cache); err != nil {
			return nil, err
		}
	}
	src, err := h.source(t)
	if err != nil {
		return nil, err
	}
	src.Secrets, src.Redact = h.secrets[i], h.redact
	src.Log = func(level abi.Level, message string) {
		if level < abi.LevelWarn || len(h.said[i]) >= maxSaid {
			return
		}
		h.said[i] = append(h.said[i], message)
		h.log.Warn("a module warns while it describes itself", "module", src.Name, "level", levelName(level), "message", message)
	}
	mod, err := h.engine.Load(ctx, *src)
	if err != nil {
		return nil, unnamed(err)
	}
	h.took(i, mod)
	desc, err := mod.Describe(ctx)
	if err != nil {
		return nil, err
	}
	bs, err := choose(t, src, mod, desc.Tools, h.said[i])
	if err != nil {
		return nil, err
	}
	return bs, errors.Join(unread(t, src, mod, bs), unwritten(t, bs))
}

// unnamed takes the module's name off a refusal, which is told at its entry.
func unnamed(err error) error {
	if refused, ok := errors.AsType[*sandbox.LoadError](err); ok {
		bare := *refused
		bare.Module = ""
		return &bare
	}
	return err
}

// isolationProcess is what a manifest calls a process of the module's own. That auto
// is none is for modules that are files of this machine, as all are.
const isolationProcess = "process"

// source reads a module and says on which terms it runs.
func (h *Host) source(t *manifest.Tool) (*sandbox.Source, error) {
	wasm, err := readModule(t.Module)
	if err != nil {
		return nil, err
	}
	if t.SHA256 != "" {
		if sum := sha256.Sum256(wasm); !strings.EqualFold(hex.EncodeToString(sum[:]), strings.TrimPrefix(t.SHA256, "sha256:")) {
			return nil, fmt.Errorf("module %s is sha256:%x, and the manifest wants sha256:%s", filepath.Base(t.Module), sum, t.SHA256)
		}
	}
	pol, err := t.Policy()
	if err != nil {
		return nil, err
	}
	if pol, err = h.underCeiling(pol); err != nil {
		return nil, err
	}
	src := &sandbox.Source{
		Name: filepath.Base(t.Module), Wasm: wasm, ABI: sandbox.ABI(t.ABI),
		Export: t.Export, Text: t.Input == "text", Policy: pol, Meter: h.manifest.Receipts.Fuel,
		Session: t.Instances == "session", Late: h.late,
		Isolated: t.Isolation == isolationProcess,
	}
	if len(t.Config) > 0 {
		if src.Config, err = json.Marshal(t.Config); err != nil {
			return nil, fmt.Errorf("config: %w", err)
		}
	}
	if t.Name != "" {
		src.Tool = &abi.Tool{Name: t.Name, Description: t.Description, InputSchema: t.ParametersJSON()}
	}
	return src, nil
}

func readModule(path string) ([]byte, error) {
	tooLarge := fmt.Errorf("module %s is larger than %d MiB", filepath.Base(path), maxModule>>20)
	// Before it is opened: opening a FIFO would wait for somebody to write.
	switch info, err := os.Stat(path); {
	case err != nil: // which opening it says better
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("module %s is not a file", filepath.Base(path))
	case info.Size() > maxModule:
		return nil, tooLarge
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	wasm, err := io.ReadAll(io.LimitReader(f, maxModule+1))
	switch {
	case err != nil:
		return nil, err
	case len(wasm) > maxModule: // it has grown, or its size is not told
		return nil, tooLarge
	}
	return wasm, nil
}

// choose picks, renames and describes the tools of a module as its entry says.
func choose(t *manifest.Tool, src *sandbox.Source, mod *sandbox.Module, tools []abi.Tool, said []string) ([]*binding, error) {
	switch {
	case len(tools) == 0 && len(said) > 0:
		return nil, fmt.Errorf("the module declares no tools; it says: %s", strings.Join(said, "; "))
	case len(tools) == 0:
		return nil, errors.New("the module declares no tools: give the entry a name, and parameters if it takes any")
	}
	if err := known(t, tools, said); err != nil {
		return nil, err
	}
	var out []*binding
	for _, tool := range tools {
		if len(t.Tools) > 0 && !slices.Contains(t.Tools, tool.Name) {
			continue
		}
		b, err := newBinding(t, src, mod, tool)
		if err != nil {
			return nil, fmt.Errorf("tool %q: %w", tool.Name, err)
		}
		out = append(out, b)
	}
	return out, nil
}

// known checks that the names which the entry uses are tools of the module.
func known(t *manifest.Tool, tools []abi.Tool, said []string) error {
	names := make([]string, len(tools))
	for i, tool := range tools {
		if !toolName.MatchString(tool.Name) {
			return fmt.Errorf("the module declares a tool with the name %.64q, which is not a tool's name", tool.Name)
		}
		if slices.Contains(names[:i], tool.Name) {
			return fmt.Errorf("the module declares tool %q twice", tool.Name)
		}
		names[i] = tool.Name
	}
	var missing []string
	for _, n := range t.Tools {
		if !slices.Contains(names, n) {
			missing = append(missing, n)
		}
	}
	for n := range t.Rename {
		if !slices.Contains(names, n) {
			missing = append(missing, n)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		var why string
		for _, n := range missing {
			why += reason(n, said)
		}
		return fmt.Errorf("the module has no tool named %s; it has: %s%s", strings.Join(missing, ", "), strings.Join(names, ", "), why)
	}
	return nil
}

// reason is the end of an error about a tool that is not there: what its module
// said of it, if it did. A module that leaves a tool out says why.
func reason(tool string, said []string) string {
	for _, line := range said {
		if strings.Contains(line, strconv.Quote(tool)) {
			return "; the module says: " + line
		}
	}
	return ""
}

// toolName is what a module may call its tools: MCP's characters. Where a
// provider takes fewer, the name is mapped on the wire.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_./:-]{0,127}$`)

func newBinding(t *manifest.Tool, src *sandbox.Source, mod *sandbox.Module, tool abi.Tool) (*binding, error) {
	b := &binding{module: mod, returnDirect: t.ReturnDirect, entry: t, info: ToolInfo{
		Name: tool.Name, Description: tool.Description, Parameters: tool.InputSchema,
		Source: t.Module, Digest: mod.Info().Digest, ModuleTool: tool.Name, ABI: string(mod.Info().ABI),
		Annotations: tool.Annotations, Policy: src.Policy,
	}}
	if src.Session {
		b.info.Instances = t.Instances
	}
	if src.Isolated {
		b.info.Isolation = t.Isolation
	}
	if tool.Meta != nil {
		b.info.Requests = tool.Meta.Requests
	}
	if n := t.Rename[tool.Name]; n != "" {
		b.info.Name = n
	}
	if t.Description != "" {
		b.info.Description = t.Description
	}
	if p := t.ParametersJSON(); p != nil {
		b.info.Parameters = p
	}
	var err error
	if b.schema, err = schema.Compile(b.info.Parameters); err != nil {
		return nil, err
	}
	return b, b.bindState(t, src, &tool)
}

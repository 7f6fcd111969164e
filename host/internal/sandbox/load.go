package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wagent-dev/wagent/host/internal/hostfn"
	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
)

// Load checks and compiles a module; none of its code runs. The error is a
// *LoadError when the module is to blame. The module must be closed.
func (e *Engine) Load(ctx context.Context, src Source) (*Module, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("loading %s: %w", src.Name, err)
	}
	m, err := e.load(ctx, src)
	if err == nil {
		if err = e.adopt(m); err != nil {
			err = errors.Join(err, m.Close(context.WithoutCancel(ctx)))
		}
	}
	if err == nil {
		return m, nil
	}
	var refused *LoadError
	if errors.As(err, &refused) {
		refused.Module = src.Name
		return nil, refused
	}
	return nil, fmt.Errorf("loading %s: %w", src.Name, err)
}

func (e *Engine) load(ctx context.Context, src Source) (*Module, error) {
	if err := checkHeader(src.Wasm); err != nil {
		return nil, err
	}
	if err := checkABI(src.ABI); err != nil {
		return nil, err
	}
	if err := e.cache.outside(src.Policy.Grants); err != nil {
		return nil, err
	}
	src.Isolated = src.Isolated || e.isolated
	if src.Isolated && e.workers == nil {
		return nil, errNoProcess()
	}
	entry := e.cache.open(digest(src.Wasm), src.Name)
	code, refused := rewrite(src, entry)
	if refused != nil {
		return nil, errors.Join(refused, entry.close(context.WithoutCancel(ctx)))
	}
	p, err := e.compile(ctx, entry, src.Wasm, code)
	if err != nil {
		return nil, errors.Join(err, code.close(), entry.tidy())
	}
	p.base = code.start()
	m := &Module{src: src, engine: e, gate: newGate(), tables: code.module.TableBytes()}
	m.src.Wasm = nil // compiled; the caller may want the memory back
	if err := p.check(src); err != nil {
		return nil, errors.Join(err, p.close(context.WithoutCancel(ctx)))
	}
	m.info = p.info
	if m.speaks, err = p.speaker(ctx, src, e.idle); err != nil {
		return nil, errors.Join(err, p.close(context.WithoutCancel(ctx)))
	}
	if err := p.entry.seal(); err != nil {
		e.log.Warn("keeping compiled code", "module", src.Name, "error", err)
	}
	if src.Isolated {
		if err := e.moveOut(ctx, m, p, code); err != nil {
			return nil, err
		}
	}
	if len(src.Policy.Grants.HTTP) > 0 {
		m.http = hostfn.NewHTTP(src.Policy.Grants.HTTP, httpOptions(&src))
	}
	return m, nil
}

func httpOptions(src *Source) hostfn.HTTPOptions {
	p := src.Policy
	return hostfn.HTTPOptions{
		Private:     p.Grants.PrivateNetworks,
		MaxRequests: p.Limits.HTTPRequests,
		MaxResponse: p.Limits.HTTPResponse,
		MaxBody:     maxHTTPBody,
		Secrets:     src.secrets(),
		Redact:      src.Redact,
	}
}

func checkABI(a ABI) *LoadError {
	switch a {
	case "", Auto, Wagent, Extism, WASI:
		return nil
	default:
		return refuse(LoadUnsupported, fmt.Sprintf("abi %q is not known", a), "use auto, wagent, extism or wasi")
	}
}

// part is a module on its way to being loaded.
type part struct {
	compiled
	wasi signatures
	info Info
}

// compileOrRetry compiles with the code cache, and without it when that goes
// wrong: a full disk or an entry that does not load must not keep a module from
// running.
func compileOrRetry(ctx context.Context, entry *cacheEntry, wasm []byte, code *guestCode, how compiling) (*part, error) {
	p, err := compileIn(ctx, entry, wasm, code, how)
	if err == nil || !entry.onDisk() || ctx.Err() != nil {
		return p, err
	}
	p, again := compileIn(ctx, entry.inMemory(), wasm, code, how)
	if again != nil {
		return nil, again
	}
	entry.discard(err)
	return p, nil
}

// compileIn compiles code, which was made of wasm, in a new runtime. It owns the
// entry from then on.
func compileIn(ctx context.Context, entry *cacheEntry, wasm []byte, code *guestCode, how compiling) (p *part, err error) {
	p = &part{compiled: compiled{entry: entry}}
	defer func() {
		if v := recover(); v != nil {
			err = refuse(LoadMalformed, "the engine could not compile the module", "")
		}
		if err != nil {
			err = errors.Join(err, p.close(context.WithoutCancel(ctx)))
			p = nil
		}
	}()
	if err = p.compile(ctx, code.out, how); err != nil {
		return p, err
	}
	p.fromGo = code.module.WrittenIn("Go")
	p.info = inspect(wasm, code.module)
	p.info.Rewritten = rewritten(code)
	return p, nil
}

// compile makes native code of what was rewritten, in a new runtime.
func (p *part) compile(ctx context.Context, out *wasmbin.Output, how compiling) (err error) {
	p.runtime = wazero.NewRuntimeWithConfig(ctx, runtimeConfig(p.entry.cache))
	if p.wasi, err = linkWASI(ctx, p.runtime); err != nil {
		return err
	}
	if err = errors.Join(linkWagent(ctx, p.runtime), linkPause(ctx, p.runtime)); err != nil {
		return err
	}
	p.mutable = out.Mutable
	p.exact = out.Exact
	if how == fromCache && p.compileShell(ctx, out) {
		return nil
	}
	if p.code, err = p.runtime.CompileModule(how.context(ctx), out.Wasm); err != nil {
		return how.failed(ctx, err)
	}
	p.funcs = p.code.ExportedFunctions()
	return nil
}

// runtimeConfig is how every module runs. How much memory it gets is decided
// by its arena, which sees what is refused; see there.
func runtimeConfig(cache wazero.CompilationCache) wazero.RuntimeConfig {
	return wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2).
		WithDebugInfoEnabled(false).
		WithCustomSections(false).
		WithCompilationCache(cache)
}

// check decides the ABI and compares the module with what it may want.
func (p *part) check(src Source) error {
	p.info.ABI, p.info.Why = decide(src, &p.info)
	for _, err := range []*LoadError{
		checkExports(src, &p.info),
		checkImports(src, &p.info, p.wasi),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// speaker makes the module ready for its ABI, and takes over what was compiled.
func (p *part) speaker(ctx context.Context, src Source, idle *idlers) (speaker, error) {
	switch p.info.ABI {
	case Extism:
		return newExtism(ctx, src, p, idle)
	case WASI:
		return newCommand(src.Name, &p.compiled, idle), nil
	default:
		return newReactor(&p.compiled, src, idle), nil
	}
}

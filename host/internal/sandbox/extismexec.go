package sandbox

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// exec calls one function of a plugin. Only return code 0 without an error of
// the plugin is success.
func (p *extismPlugin) exec(g *guest, name string, input []byte) ([]byte, error) {
	if f := p.code.funcs[name]; f == nil || !takesNothing(f) {
		return nil, fault(FaultInvalidResult, "the plugin has no such function (%s)", oneLine(name, maxToolName))
	}
	s, err := newExtismState(g, p)
	if err != nil {
		return nil, err
	}
	defer s.end(p)
	s.given = input
	l, err := p.lease(g, name)
	if err != nil {
		return nil, s.ended(err)
	}
	well := false
	defer func() { l.end(well) }()
	if err := s.begin(); err != nil {
		return nil, err
	}
	rc, err := l.runExtism(name)
	if err != nil {
		return nil, s.ended(err)
	}
	well = true
	return s.answer(rc)
}

// lease gives a call a plugin whose language has started, unless that is what
// the function does.
func (p *extismPlugin) lease(g *guest, name string) (lease, error) {
	if !startsItself(name) {
		return p.guests.get(g)
	}
	in, err := p.bare.get(g, g.config(noInput(), g.log()))
	if err != nil {
		return lease{}, err
	}
	if err := in.start(); err != nil {
		in.close()
		return lease{}, err
	}
	return lease{instance: in, pool: p.bare}, nil
}

// startsItself says that a function starts the language of its plugin.
func startsItself(name string) bool { return name == abi.ExportStart || name == abi.ExportInitialize }

// runExtism calls a function.
func (in *instance) runExtism(name string) (uint32, error) {
	res, err := in.call(name)
	var exit *sys.ExitError
	switch {
	case name == abi.ExportStart && errors.As(err, &exit) && exit.ExitCode() == 0:
		return 0, nil // how a command ends
	case err != nil || len(res) == 0:
		return 0, err
	}
	return uint32(res[0]), nil
}

// takesNothing says that a function has no parameters and at most one result.
func takesNothing(f api.FunctionDefinition) bool {
	return len(f.ParamTypes()) == 0 && len(f.ResultTypes()) <= 1
}

const (
	exportHaskell      = "hs_init"
	exportConstructors = "__wasm_call_ctors"
)

// beginExtism starts a plugin and its language. For all calls it does so with as
// much memory as each leaves it, and without a log: a plugin that writes one has
// to do it in each call.
func (in *instance) beginExtism() error {
	g := in.guest
	if g.shared && !g.arena.fits(extismKernel) {
		return g.arena.tooMuch()
	}
	if err := in.start(); err != nil {
		return err
	}
	if !g.shared {
		if err := g.plugin.begin(); err != nil {
			return err
		}
	}
	if err := in.initExtism(); err != nil {
		return fmt.Errorf(whileInitialising+"%w", err)
	}
	if g.shared && g.sink.Tail() != "" {
		return errNotTheSame
	}
	return nil
}

// initExtism starts the language of a plugin as Extism does: Haskell's runtime
// needs its own call after that of WASI, whose error it survives.
func (in *instance) initExtism() error {
	if hs := in.function(exportHaskell); hs != nil && slices.Equal(hs.ParamTypes(), []api.ValueType{i32, i32}) {
		if in.has(abi.ExportInitialize) {
			if _, err := in.call(abi.ExportInitialize); err != nil {
				in.guest.sink.Line(abi.LevelError, "_initialize: "+err.Error())
			}
		}
		_, err := in.call(exportHaskell, 0, 0)
		return err
	}
	for _, name := range []string{abi.ExportInitialize, exportConstructors} {
		if f := in.function(name); f != nil && len(f.ParamTypes()) == 0 {
			_, err := in.call(name)
			return err
		}
	}
	return nil
}

// ended explains what a host function ended the plugin with, and leaves the
// rest to the caller.
func (s *extismState) ended(err error) error {
	var trap hostTrap
	var known *FaultError
	switch {
	case errors.As(err, &trap):
		known = fault(FaultTrap, "the tool crashed (%s)%s", trap, s.guest.lastWords())
	case !errors.As(err, &known):
		return err
	}
	if known.Detail == "" && !known.Fault.byHost() {
		known.Detail = cleanLines(err.Error(), maxDetail)
	}
	return known
}

// answer is what the plugin left as its error or output.
func (s *extismState) answer(rc uint32) ([]byte, error) {
	limit := s.guest.limits.Output
	failed := region{s.failure, s.length(s.failure)}
	switch {
	case failed.len > uint64(limit):
		return nil, tooMuchOutput(limit)
	case failed.len > 0:
		text, err := s.take(failed)
		if err != nil {
			return nil, err
		}
		return nil, &pluginError{string(text)}
	case rc != 0:
		return nil, &pluginError{fmt.Sprintf("the tool failed with code %d and gave no reason%s", rc, s.guest.lastWords())}
	case s.lost:
		return nil, fault(FaultInvalidResult, "the tool's answer lies outside of its memory")
	case s.output.len > uint64(limit):
		return nil, tooMuchOutput(limit)
	}
	return s.take(s.output)
}

package sandbox

import (
	"context"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wagent-dev/wagent/sdk/abi"
)

// Attack: a plugin calls the host in any order and with any numbers, or so
// often, or with so much, that the host does its work for ever.
//
// A function that the plugin cannot use so ends the plugin: there is no error
// that Extism's functions could return. What happens is in the panic, which the
// engine hands to the caller as an error.

// extismFunc is a function that plugins import.
type extismFunc struct {
	name    string
	params  []api.ValueType
	results []api.ValueType
	// A plugin that goes through its input byte by byte calls these once for
	// each byte. They cost little and are not counted.
	uncounted bool
	// do finds the arguments in v, and puts the result there.
	do func(s *extismState, v []uint64) error
}

// Call lets the plugin in. It implements the engine's function interface. What a
// function answers is part of a call, so there is nothing for all calls that a
// plugin could begin with.
func (f *extismFunc) Call(ctx context.Context, v []uint64) {
	s := guestOf(ctx).plugin
	if s == nil {
		panic(errNotTheSame)
	}
	if !f.uncounted {
		if s.guest.count() != 0 {
			panic(context.Cause(s.guest.ctx))
		}
		defer s.guest.pace.exclude(time.Now())
	}
	if err := s.guest.trace.extism(f, s, v); err != nil {
		panic(err)
	}
}

// extismFuncs are the functions of extism:host/env: those of Extism's kernel,
// and those of the host.
func extismFuncs() []*extismFunc {
	none, one, two := []api.ValueType(nil), []api.ValueType{i64}, []api.ValueType{i64, i64}
	small := []api.ValueType{i32}
	all := []*extismFunc{
		{"alloc", one, one, true, func(s *extismState, v []uint64) error { v[0] = s.allocate(v[0]); return nil }},
		{"free", one, none, true, func(s *extismState, v []uint64) error { s.release(v[0]); return nil }},
		{"length", one, one, true, extismLength},
		{"length_unsafe", one, one, true, extismLength},
		{"reset", none, none, false, func(s *extismState, _ []uint64) error { return s.reset(s.guest.ctx) }},
		{"memory_bytes", none, one, true, extismNumber(func(s *extismState) uint64 { return s.room })},

		{"load_u8", one, small, true, func(s *extismState, v []uint64) error {
			b, err := s.load(v[0])
			v[0] = uint64(b)
			return err
		}},
		{"store_u8", []api.ValueType{i64, i32}, none, true, func(s *extismState, v []uint64) error { return s.store(v[0], byte(v[1])) }},
		{"load_u64", one, one, true, func(s *extismState, v []uint64) (err error) { v[0], err = s.loadWord(v[0]); return err }},
		{"store_u64", two, none, true, func(s *extismState, v []uint64) error { return s.storeWord(v[0], v[1]) }},

		{"input_set", two, none, true, func(s *extismState, v []uint64) error { s.setInput(region{v[0], v[1]}); return nil }},
		{"input_length", none, one, true, extismNumber(func(s *extismState) uint64 { return s.input.len })},
		{"input_offset", none, one, true, extismNumber(func(s *extismState) uint64 { return s.input.at })},
		{"input_load_u8", one, small, true, extismInputByte},
		{"input_load_u64", one, one, true, func(s *extismState, v []uint64) (err error) { v[0], err = s.loadWord(s.first + v[0]); return err }},

		{"output_set", two, none, true, func(s *extismState, v []uint64) error { s.setOutput(region{v[0], v[1]}); return nil }},
		{"output_length", none, one, true, extismNumber(func(s *extismState) uint64 { return s.output.len })},
		{"output_offset", none, one, true, extismNumber(func(s *extismState) uint64 { return s.output.at })},
		{"error_set", one, none, true, func(s *extismState, v []uint64) error { s.setFailure(v[0]); return nil }},
		{"error_get", none, one, true, extismNumber(func(s *extismState) uint64 { return s.failure })},

		{"config_get", one, one, false, extismConfigGet},
		{"var_get", one, one, false, extismVarGet},
		{"var_set", two, none, false, extismVarSet},

		{"http_request", two, one, false, extismHTTP},
		{"http_status_code", none, small, true, extismNumber(func(s *extismState) uint64 { return uint64(uint32(s.status)) })},
		{"http_headers", none, one, false, extismHTTPHeaders},

		{"get_log_level", none, small, true, extismNumber(func(*extismState) uint64 { return extismDebug })},
		// Traces are below what a call's log has; the kit asks for the level first.
		{"log_trace", one, none, false, func(s *extismState, v []uint64) error { s.release(v[0]); return nil }},
	}
	for name, level := range map[string]abi.Level{
		"log_debug": abi.LevelDebug, "log_info": abi.LevelInfo, "log_warn": abi.LevelWarn, "log_error": abi.LevelError,
	} {
		all = append(all, &extismFunc{name, one, none, false, func(s *extismState, v []uint64) error { return s.log(level, v[0]) }})
	}
	return all
}

// extismDebug is the level "debug" as plugins are told it.
const extismDebug = 1

func extismNumber(get func(*extismState) uint64) func(*extismState, []uint64) error {
	return func(s *extismState, v []uint64) error {
		v[0] = get(s)
		return nil
	}
}

func extismLength(s *extismState, v []uint64) error {
	v[0] = s.length(v[0])
	return nil
}

func extismInputByte(s *extismState, v []uint64) (err error) {
	var b byte
	if v[0] < s.input.len {
		b, err = s.load(s.input.at + v[0])
	}
	v[0] = uint64(b)
	return err
}

// log takes a line out of a block, and frees it. What limits.logs would cut is
// not copied.
func (s *extismState) log(level abi.Level, at uint64) error {
	line, err := s.bytes(at)
	if err != nil {
		return err
	}
	most := max(s.guest.limits.Logs, 0) + 1
	s.guest.sink.Line(level, string(line[:min(int64(len(line)), most)]))
	s.release(at)
	return nil
}

// extismUserFuncs are the host functions that plugins of the v2 form import.
// None can be served; each answers with nothing, which their kit reads as an
// error.
func extismUserFuncs() []*extismFunc {
	one := []api.ValueType{i64}
	var all []*extismFunc
	for _, of := range []struct {
		params, results []api.ValueType
		names           []string
	}{
		{one, one, []string{"create_elicitation", "create_message", "get_access_token", "get_keyring_secret"}},
		{nil, one, []string{"list_roots"}},
		{one, nil, []string{"notify_logging_message", "notify_progress", "notify_resource_updated", "notify_url_elicitation_completed"}},
		{nil, nil, []string{"notify_prompt_list_changed", "notify_resource_list_changed", "notify_tool_list_changed"}},
	} {
		for _, name := range of.names {
			all = append(all, &extismFunc{name, of.params, of.results, false, func(_ *extismState, v []uint64) error {
				clear(v)
				return nil
			}})
		}
	}
	return all
}

// extismModules are the import modules of plugins.
func extismModules() map[string][]*extismFunc {
	user := extismUserFuncs()
	return map[string][]*extismFunc{extismEnv: extismFuncs(), extismUser: user, extismUserMisspelt: user}
}

// linkExtism puts the modules that a plugin imports into a runtime.
func linkExtism(ctx context.Context, r wazero.Runtime, info *Info) error {
	for module, funcs := range extismModules() {
		if !info.importsFrom(module) {
			continue
		}
		b := r.NewHostModuleBuilder(module)
		for _, f := range funcs {
			b.NewFunctionBuilder().WithGoFunction(f, f.params, f.results).Export(f.name)
		}
		if _, err := b.Instantiate(ctx); err != nil {
			return err
		}
	}
	return nil
}

func extismSignatures(funcs []*extismFunc) signatures {
	s := make(signatures)
	for _, f := range funcs {
		s[f.name] = engineSignature(f.params, f.results)
	}
	return s
}

// extismFunctions are the functions of extism:host/env.
func extismFunctions() signatures { return extismSignatures(extismFuncs()) }

// extismUserFunctions are those of extism:host/user.
func extismUserFunctions() signatures { return extismSignatures(extismUserFuncs()) }

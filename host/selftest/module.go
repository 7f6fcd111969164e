package selftest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
)

// What held off modules.
const (
	whenLoaded        = "refused when it was loaded"
	unsupportedModule = "refused as not supported"
)

func moduleChecks() []check {
	unsupported := func(what string, sections ...string) func(context.Context, *lab) error {
		return refused(built(sections...), sandbox.LoadUnsupported, what)
	}
	one := []string{section(1, vector(typeNothing)), section(3, vector("\x00"))}
	code := func(body string) string { return section(10, vector(sized(vector()+body+codeEnd))) }
	exit := func(digit string, ways ...sandbox.Fault) func(context.Context, *lab) error {
		return ends("exit", sandbox.Call{ID: digit}, ways)
	}
	return []check{
		{"MOD-1a", "a text file in place of a module", whenLoaded, refused(file("#!/bin/sh\nexit 0\n"), sandbox.LoadNotWasm, "")},
		{"MOD-1b", "a WebAssembly component, which is another format", whenLoaded, refused(file("\x00asm\x0d\x00\x01\x00"), sandbox.LoadComponent, "component")},
		{"MOD-1c", "a module cut off after each of its bytes", "each was refused when it was loaded", cutOff},
		{"MOD-1d", "a module with each of its bytes changed in turn", "each was refused, or ran within its limits", damaged},
		{"MOD-2a", "a module that imports a function which no host has", whenLoaded, refused(embedded("badimport"), sandbox.LoadImport, "")},
		{"MOD-2b", "a module that imports a function of the host with another signature", whenLoaded, refused(embedded("wrongimport"), sandbox.LoadImport, "")},
		{"MOD-4a", "a tool without the function that is called", whenLoaded, refused(embedded("nocall"), sandbox.LoadExport, "")},
		{"MOD-4b", "a tool whose function takes one parameter and not two", whenLoaded, refused(embedded("wrongcall"), sandbox.LoadExport, "")},
		{"MOD-4c", "a module that exports nothing", whenLoaded, refused(embedded("nothing"), sandbox.LoadExport, "")},
		{"MOD-4d", "a tool that speaks another version of the interface", "the call refused", ends("version2", sandbox.Call{}, []sandbox.Fault{sandbox.FaultInvalidResult})},
		{"MOD-6a", "a module with a memory of 64-bit addresses", unsupportedModule, unsupported("memory64", section(5, vector("\x04\x01")))},
		{"MOD-6b", "a module with a memory shared by threads", unsupportedModule, unsupported("threads", section(5, vector("\x03\x01\x01")))},
		{"MOD-6c", "a module with two memories", unsupportedModule, unsupported("multi-memory", section(5, vector("\x00\x01", "\x00\x01")))},
		{"MOD-6d", "a module with exceptions", unsupportedModule, unsupported("exceptions", one[0], one[1], section(13, vector("\x00\x00")), code(""))},
		{"MOD-6e", "a module with a tail call", unsupportedModule, unsupported("tail calls", one[0], one[1], code("\x12\x00"))},
		{"MOD-6f", "a module with relaxed vector instructions", unsupportedModule, unsupported("relaxed SIMD", one[0], one[1], code("\xfd\x80\x02"))},
		{"MOD-6g", "a module with garbage collection", unsupportedModule, unsupported("garbage collection", section(1, vector("\x5f\x00")))},
		{"MOD-7a", "a tool that ends itself with status 0 and gives no answer", "told as a failure", exit("0", sandbox.FaultExited)},
		{"MOD-7b", "a tool that ends itself with status 1", "told as a failure", exit("1", sandbox.FaultExited)},
		{"MOD-7c", "a tool that crashes", "told as a failure", ends("trap", sandbox.Call{}, []sandbox.Fault{sandbox.FaultTrap})},
		{"MOD-7d", "pointers that lead nowhere, to functions of the host", "each call refused", ends("badpointers", sandbox.Call{}, []sandbox.Fault{""}, func(s *sandbox.Source) { s.Inspect = true })},
		{"MOD-7e", "accepting a connection with the socket function of the system", "refused", ends("sockets", sandbox.Call{}, []sandbox.Fault{""})},
	}
}

// cutOff loads the beginnings of a module.
func cutOff(ctx context.Context, l *lab) error {
	src, err := guest("shapes")
	if err != nil {
		return err
	}
	whole := src.Wasm
	for n := range whole {
		src.Wasm = whole[:n]
		m, err := l.engine.Load(ctx, src)
		var why *sandbox.LoadError
		if err == nil {
			return errors.Join(fmt.Errorf("its first %d bytes were loaded", n), m.Close(ctx))
		}
		if !errors.As(err, &why) {
			return err
		}
	}
	return nil
}

// damaged loads a module with one byte changed. Whatever it is then, it may do no
// harm.
func damaged(ctx context.Context, l *lab) error {
	src, err := guest("counter", within(short))
	if err != nil {
		return err
	}
	whole := src.Wasm
	for i := range whole {
		src.Wasm = []byte(strings.Clone(string(whole)))
		src.Wasm[i] ^= 0xff
		m, err := l.engine.Load(ctx, src)
		var why *sandbox.LoadError
		switch {
		case errors.As(err, &why):
			continue
		case err != nil:
			return err
		}
		out := l.ask(ctx, m, sandbox.Call{})
		if err := errors.Join(m.Close(ctx), inMemory(&out, src.Policy.Limits.Memory)); err != nil {
			return err
		}
		if out.Fault == sandbox.FaultInternal {
			return fmt.Errorf("with byte %d changed: %s", i, out.Detail)
		}
	}
	return nil
}

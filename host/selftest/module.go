package selftest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
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
		{"MOD-1a", "a text file", refused(file("#!/bin/sh\nexit 0\n"), sandbox.LoadNotWasm, "")},
		{"MOD-1b", "a component", refused(file("\x00asm\x0d\x00\x01\x00"), sandbox.LoadComponent, "component")},
		{"MOD-1c", "a module cut off after each of its bytes", cutOff},
		{"MOD-1d", "a module with each of its bytes turned over", damaged},
		{"MOD-2a", "an import that nobody has", refused(embedded("badimport"), sandbox.LoadImport, "")},
		{"MOD-2b", "an import with another signature", refused(embedded("wrongimport"), sandbox.LoadImport, "")},
		{"MOD-4a", "a tool without its call", refused(embedded("nocall"), sandbox.LoadExport, "")},
		{"MOD-4b", "a call with one parameter", refused(embedded("wrongcall"), sandbox.LoadExport, "")},
		{"MOD-4c", "nothing that could be called", refused(embedded("nothing"), sandbox.LoadExport, "")},
		{"MOD-4d", "another version of the ABI", ends("version2", sandbox.Call{}, []sandbox.Fault{sandbox.FaultInvalidResult})},
		{"MOD-6a", "a memory of 64-bit addresses", unsupported("memory64", section(5, vector("\x04\x01")))},
		{"MOD-6b", "a shared memory", unsupported("threads", section(5, vector("\x03\x01\x01")))},
		{"MOD-6c", "two memories", unsupported("multi-memory", section(5, vector("\x00\x01", "\x00\x01")))},
		{"MOD-6d", "exceptions", unsupported("exceptions", one[0], one[1], section(13, vector("\x00\x00")), code(""))},
		{"MOD-6e", "a tail call", unsupported("tail calls", one[0], one[1], code("\x12\x00"))},
		{"MOD-6f", "relaxed vectors", unsupported("relaxed SIMD", one[0], one[1], code("\xfd\x80\x02"))},
		{"MOD-6g", "garbage collection", unsupported("garbage collection", section(1, vector("\x5f\x00")))},
		{"MOD-7a", "a guest that ends itself with code 0", exit("0", sandbox.FaultExited)},
		{"MOD-7b", "a guest that ends itself with code 1", exit("1", sandbox.FaultExited)},
		{"MOD-7c", "a trap", ends("trap", sandbox.Call{}, []sandbox.Fault{sandbox.FaultTrap})},
		{"MOD-7d", "pointers that lead nowhere, to every host function", ends("badpointers", sandbox.Call{}, []sandbox.Fault{""}, func(s *sandbox.Source) { s.Inspect = true })},
		{"MOD-7e", "every socket function", ends("sockets", sandbox.Call{}, []sandbox.Fault{""})},
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

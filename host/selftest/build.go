package selftest

import (
	"encoding/binary"
	"strings"

	"github.com/wagent-dev/wagent/host/internal/sandbox"
	"github.com/wagent-dev/wagent/host/policy"
)

// Modules that are put together here because nothing would make them: of
// proposals that are refused, too large, or damaged. The numbers are those of the
// specification's binary format (5.5).

func number(n int) string { return string(binary.AppendUvarint(nil, uint64(n))) }

func sized(s string) string { return number(len(s)) + s }

func vector(items ...string) string { return number(len(items)) + strings.Join(items, "") }

func section(id byte, body string) string { return string([]byte{id}) + sized(body) }

// built is a module of sections.
func built(sections ...string) func() (sandbox.Source, error) {
	return func() (sandbox.Source, error) {
		b := []byte("\x00asm\x01\x00\x00\x00" + strings.Join(sections, ""))
		return sandbox.Source{Name: "built", Wasm: b, Policy: policy.Default()}, nil
	}
}

const (
	typeNothing = "\x60\x00\x00"
	codeEnd     = "\x0b"
)

// function is a module with one function that takes and gives nothing.
func function(body string, more ...string) func() (sandbox.Source, error) {
	sections := []string{section(1, vector(typeNothing)), section(3, vector("\x00"))}
	return built(append(append(sections, more...), section(10, vector(sized(vector()+body+codeEnd))))...)
}

// file is what is no module of ours.
func file(s string) func() (sandbox.Source, error) {
	return func() (sandbox.Source, error) {
		return sandbox.Source{Name: "file", Wasm: []byte(s), Policy: policy.Default()}, nil
	}
}

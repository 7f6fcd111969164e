package sandbox

import "strings"

// LoadKind says what is wrong with a module that cannot be loaded.
type LoadKind string

// The kinds of load errors.
const (
	LoadNotWasm     LoadKind = "not_wasm"    // not WebAssembly at all
	LoadComponent   LoadKind = "component"   // a component; only core modules run
	LoadMalformed   LoadKind = "malformed"   // not a valid core module
	LoadTooLarge    LoadKind = "too_large"   // the file, or something in it
	LoadMemory      LoadKind = "memory"      // it starts with more memory than it may have
	LoadImport      LoadKind = "import"      // it imports what no host function answers
	LoadGrant       LoadKind = "grant"       // it imports what it was not granted
	LoadExport      LoadKind = "export"      // an export is missing or has another type
	LoadUnsupported LoadKind = "unsupported" // this host cannot do it yet
)

// LoadError is a module that was refused before any of its code ran.
type LoadError struct {
	Module  string // Source.Name
	Kind    LoadKind
	Problem string // what is wrong
	Fix     string // what to do; "" when there is nothing to say
}

// Error names the module, what is wrong and what to do, in one line.
func (e *LoadError) Error() string {
	var b strings.Builder
	if e.Module != "" {
		b.WriteString(e.Module)
		b.WriteString(": ")
	}
	b.WriteString(e.Problem)
	if e.Fix != "" {
		b.WriteString("; ")
		b.WriteString(e.Fix)
	}
	return b.String()
}

// maxProblem is the most bytes of a problem: a module chooses names and types.
const maxProblem = 2 * maxMessage

func refuse(kind LoadKind, problem, fix string) *LoadError {
	return &LoadError{Kind: kind, Problem: oneLine(problem, maxProblem), Fix: fix}
}

const (
	buildReactor = "for Go: GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o tool.wasm ."
	buildCommand = "for Go: GOOS=wasip1 GOARCH=wasm go build -o tool.wasm ."
)

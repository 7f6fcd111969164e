package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/wagent-dev/wagent/host/internal/sandbox/wasmbin"
)

// The engine finds the native code of a module by a digest of the module, and before
// it looks it reads and validates all of the module: 100 ms for a tool in Go, whenever
// a program or a process of guests starts. So the code of a large module is kept for
// its shell, which has everything but the functions' bodies, and the module's digest.
// The code is that of the module, which was validated when it was compiled: the engine
// never compiles a shell in a folder of the cache.

// compileShell takes the code that is kept for the shell.
func (p *part) compileShell(ctx context.Context, out *wasmbin.Output) bool {
	shell, err := wasmbin.Shell(out.Wasm)
	if err != nil {
		return false
	}
	if p.code, err = p.runtime.CompileModule(fromCache.context(ctx), shell); err != nil {
		p.code = nil
		return false
	}
	p.funcs = p.code.ExportedFunctions()
	return true
}

// shelter renames the code in dir, which is that of wasm alone, to what the engine
// looks for when it is given the shell. It is of use only: without it the code is found
// as well.
func shelter(dir string, wasm []byte, workers int) error {
	shell, err := wasmbin.Shell(wasm)
	if err != nil {
		return err
	}
	kept, err := onlyFile(dir)
	if err != nil {
		return err
	}
	apart, err := os.MkdirTemp(dir, "shell-")
	if err != nil {
		return err
	}
	compileInto(apart, shell, workers) // the engine has told the name if there is a file
	name, err := onlyFile(apart)
	if err = errors.Join(err, os.RemoveAll(apart)); err != nil {
		return err
	}
	return os.Rename(filepath.Join(dir, kept), filepath.Join(dir, name))
}

// onlyFile is the one file in dir, named from there.
func onlyFile(dir string) (string, error) {
	e := cacheEntry{dir: dir}
	files, err := e.files()
	if err == nil && len(files) != 1 {
		err = errors.New("the engine keeps a module in another number of files than one")
	}
	if err != nil {
		return "", err
	}
	return files[0].name, nil
}

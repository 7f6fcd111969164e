// Package wasm holds the small modules of its folder, most of them hostile, for
// tests and for what a build is attacked with on the machine of its user.
package wasm

import "embed"

// Files are the modules, by their names: spin.wasm.
//
//go:embed *.wasm
var Files embed.FS

// Package wasmbin reads, checks and rewrites core WebAssembly modules, so that
// a guest can be stopped anywhere, be metered, and not take more of the host
// than its limits.
//
//	m, err := wasmbin.Decode(wasm, wasmbin.DefaultLimits())
//	out, err := m.Rewrite(wasmbin.Options{})
//
// It reads WebAssembly Core 2.0 and nothing more: binary format and validation
// follow https://www.w3.org/TR/wasm-core-2/, whose section numbers the comments
// give. Every instruction is decoded, type-checked and written anew; no byte of
// a function body is copied. What the engine compiles is therefore what was
// checked here, whatever two decoders may think of the original.
//
// The package knows nothing of the engine.
package wasmbin

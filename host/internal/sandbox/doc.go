// Package sandbox runs a WebAssembly module under limits and grants. It is the
// only package that knows the engines.
//
//	eng, err := sandbox.New(sandbox.Options{CacheDir: dir, Logger: log})
//	defer eng.Close(ctx)
//	mod, err := eng.Load(ctx, sandbox.Source{Name: "wordcount.wasm", Wasm: code, Policy: policy.Default()})
//	out := mod.Call(ctx, sandbox.Call{Tool: "word_count", Arguments: args})
//
// Loading checks and compiles; it runs nothing. Every call gets a fresh guest:
// its own memory, descriptors, response handles and random source, all of which
// end with it, so nothing passes from one call to the next. A call always
// returns an Outcome. What stopped it is taken from the host's own record of
// why, never from what the guest left behind.
package sandbox

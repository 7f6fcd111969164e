;; An Extism plugin that takes random bytes when it is initialised, and answers with them.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u64" (func $store (param i64 i64)))
  (import "extism:host/env" "output_set" (func $output (param i64 i64)))
  (import "wasi_snapshot_preview1" "random_get" (func $random (param i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "__wasm_call_ctors") (drop (call $random (i32.const 8) (i32.const 8))))
  (func (export "random") (result i32)
    (local $at i64)
    (local.set $at (call $alloc (i64.const 8)))
    (call $store (local.get $at) (i64.load (i32.const 8)))
    (call $output (local.get $at) (i64.const 8))
    (i32.const 0)))

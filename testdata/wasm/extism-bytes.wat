;; Copies its input to its output byte by byte, as kits for languages without memory of eight bytes do.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store (param i64 i32)))
  (import "extism:host/env" "output_set" (func $output (param i64 i64)))
  (import "extism:host/env" "input_length" (func $length (result i64)))
  (import "extism:host/env" "input_load_u8" (func $load (param i64) (result i32)))
  (memory (export "memory") 1)
  (func (export "copy") (result i32)
    (local $to i64) (local $i i64) (local $n i64)
    (local.set $n (call $length))
    (local.set $to (call $alloc (local.get $n)))
    (block $done (loop $next
      (br_if $done (i64.ge_u (local.get $i) (local.get $n)))
      (call $store (i64.add (local.get $to) (local.get $i)) (call $load (local.get $i)))
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br $next)))
    (call $output (local.get $to) (local.get $n))
    (i32.const 0)))

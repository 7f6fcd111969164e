;; A plugin with the role parse_error, which is a function of that name.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store (param i64 i32)))
  (import "extism:host/env" "output_set" (func $output (param i64 i64)))
  (memory (export "memory") 1)
  (data (i32.const 0) "{\"text\":\"As I said.\"}")
  (func (export "parse_error") (result i32)
    (local $to i64) (local $i i32)
    (local.set $to (call $alloc (i64.const 21)))
    (loop $l
      (call $store (i64.add (local.get $to) (i64.extend_i32_u (local.get $i))) (i32.load8_u (local.get $i)))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 21))))
    (call $output (local.get $to) (i64.const 21))
    (i32.const 0)))

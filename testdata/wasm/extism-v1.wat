;; An Extism plugin of the first form: describe and call.
(module
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store (param i64 i32)))
  (import "extism:host/env" "output_set" (func $output (param i64 i64)))
  (import "extism:host/env" "input_length" (func $length (result i64)))
  (import "extism:host/env" "input_offset" (func $input (result i64)))
  (memory (export "memory") 1)
  (data (i32.const 0) "{\"tools\":[{\"name\":\"v1\",\"description\":\"Answers.\",\"inputSchema\":{\"type\":\"object\"}}]}")
  (data (i32.const 512) "{\"content\":[{\"type\":\"text\",\"text\":\"v1 answers\"}],\"isError\":null}")
  (func $put (param $p i32) (param $n i32) (result i64)
    (local $to i64) (local $i i32)
    (local.set $to (call $alloc (i64.extend_i32_u (local.get $n))))
    (loop $l
      (call $store (i64.add (local.get $to) (i64.extend_i32_u (local.get $i))) (i32.load8_u (i32.add (local.get $p) (local.get $i))))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (local.get $to))
  (func (export "describe") (result i32) (call $output (call $put (i32.const 0) (i32.const 82)) (i64.const 82)) (i32.const 0))
  (func (export "call") (result i32) (call $output (call $put (i32.const 512) (i32.const 64)) (i64.const 64)) (i32.const 0)))

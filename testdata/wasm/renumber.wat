;; Asks for the largest descriptor number there is, and answers if it is refused.
(module
  (import "wasi_snapshot_preview1" "fd_renumber" (func $renumber (param i32 i32) (result i32)))
  (memory (export "memory") 2)
  (data (i32.const 1024) "{\"v\":1,\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}")
  (func (export "wagent_abi") (result i32) (i32.const 1))
  (func (export "wagent_alloc") (param i32) (result i32) (i32.const 4096))
  (func (export "wagent_describe") (result i64) (i64.const 0))
  (func (export "wagent_call") (param i32 i32) (result i64)
    (if (i32.eqz (call $renumber (i32.const 1) (i32.const 2147483647))) (then unreachable))
    (i64.const 4398046511153))) ;; 1024 << 32 | length

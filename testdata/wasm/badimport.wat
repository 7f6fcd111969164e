;; Imports what nobody has.
(module
  (import "env" "system" (func $system (param i32) (result i32)))
  (memory (export "memory") 2)
  (data (i32.const 64) "{\"tools\":[{\"name\":\"badimport\",\"description\":\"Imports what nobody has.\"}]}")
  (data (i32.const 1024) "{\"v\":1,\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}")
  (func (export "wagent_abi") (result i32) (i32.const 1))
  (func (export "wagent_alloc") (param i32) (result i32) (i32.const 4096))
  (func (export "wagent_describe") (result i64) (i64.const 274877907017)) ;; 64 << 32 | length
  (func (export "wagent_call") (param $ptr i32) (param $len i32) (result i64)
    (i64.const 4398046511153))) ;; 1024 << 32 | length

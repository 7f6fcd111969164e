;; Says why on standard error and breaks off.
(module
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 2)
  (data (i32.const 64) "{\"tools\":[{\"name\":\"trap\",\"description\":\"Says why on standard error and breaks off.\"}]}")
  (data (i32.const 1024) "{\"v\":1,\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}")
  (data (i32.const 2048) "\08\08\00\00\1a\00\00\00panic: out of \1b[31mcheese\n")
  (func (export "wagent_abi") (result i32) (i32.const 1))
  (func (export "wagent_alloc") (param i32) (result i32) (i32.const 4096))
  (func (export "wagent_describe") (result i64) (i64.const 274877907030)) ;; 64 << 32 | length
  (func (export "wagent_call") (param $ptr i32) (param $len i32) (result i64)
    (drop (call $write (i32.const 2) (i32.const 2048) (i32.const 1) (i32.const 2200)))
    unreachable
    (i64.const 4398046511153))) ;; 1024 << 32 | length

;; Ends itself with the code of the digit that its request id begins with.
(module
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 2)
  (data (i32.const 64) "{\"tools\":[{\"name\":\"exit\",\"description\":\"Ends itself with the code of the digit that its request id begins with.\"}]}")
  (data (i32.const 1024) "{\"v\":1,\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}")
  (func (export "wagent_abi") (result i32) (i32.const 1))
  (func (export "wagent_alloc") (param i32) (result i32) (i32.const 4096))
  (func (export "wagent_describe") (result i64) (i64.const 274877907059)) ;; 64 << 32 | length
  (func (export "wagent_call") (param $ptr i32) (param $len i32) (result i64)
    (call $exit (i32.sub (i32.load8_u (i32.add (local.get $ptr) (i32.const 13))) (i32.const 48)))
    (i64.const 4398046511153))) ;; 1024 << 32 | length

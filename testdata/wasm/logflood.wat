;; Logs two MB.
(module
  (import "wagent" "log" (func $log (param i32 i32 i32)))
  (memory (export "memory") 2)
  (data (i32.const 64) "{\"tools\":[{\"name\":\"logflood\",\"description\":\"Logs two MB.\"}]}")
  (data (i32.const 1024) "{\"v\":1,\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}")
  (func (export "wagent_abi") (result i32) (i32.const 1))
  (func (export "wagent_alloc") (param i32) (result i32) (i32.const 4096))
  (func (export "wagent_describe") (result i64) (i64.const 274877907004)) ;; 64 << 32 | length
  (func (export "wagent_call") (param $ptr i32) (param $len i32) (result i64)
    (local $i i32)
    (memory.fill (i32.const 8192) (i32.const 120) (i32.const 1000))
    (loop $l
      (call $log (i32.const 1) (i32.const 8192) (i32.const 1000))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 2000))))
    (i64.const 4398046511153))) ;; 1024 << 32 | length

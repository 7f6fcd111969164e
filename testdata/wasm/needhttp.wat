;; Imports http.
(module
  (import "wagent" "http" (func $http (param i32 i32) (result i64)))
  (memory (export "memory") 2)
  (data (i32.const 64) "{\"tools\":[{\"name\":\"needhttp\",\"description\":\"Imports http.\"}]}")
  (data (i32.const 1024) "{\"v\":1,\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}")
  (func (export "wagent_abi") (result i32) (i32.const 1))
  (func (export "wagent_alloc") (param i32) (result i32) (i32.const 4096))
  (func (export "wagent_describe") (result i64) (i64.const 274877907005)) ;; 64 << 32 | length
  (func (export "wagent_call") (param $ptr i32) (param $len i32) (result i64)
    (if (i64.ne (call $http (i32.const 0) (i32.const 2)) (i64.const -1)) (then unreachable))
    (i64.const 4398046511153))) ;; 1024 << 32 | length

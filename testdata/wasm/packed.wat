;; Returns as pointer and length the 16 hex digits that its request id holds.
(module
  (memory (export "memory") 2)
  (data (i32.const 1024) "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}")
  (func (export "wagent_abi") (result i32) (i32.const 1))
  (func (export "wagent_alloc") (param i32) (result i32) (i32.const 4096))
  (func (export "wagent_describe") (result i64) (i64.const -1))
  (func (export "wagent_call") (param $ptr i32) (param $len i32) (result i64)
    (local $i i32) (local $c i32) (local $v i64)
    (loop $l
      (local.set $c (i32.load8_u (i32.add (i32.add (local.get $ptr) (i32.const 13)) (local.get $i))))
      (local.set $v (i64.or (i64.shl (local.get $v) (i64.const 4))
        (i64.extend_i32_u (select
          (i32.sub (local.get $c) (i32.const 87))
          (i32.sub (local.get $c) (i32.const 48))
          (i32.gt_u (local.get $c) (i32.const 57))))))
      (br_if $l (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 16))))
    (local.get $v)))

;; Holds the processor with the memory that it starts with, 50 MB, in the way that
;; the first letter of the call's id names:
;;   g  pointers that lead through all the memory
;;   n  one page after the other, written for the first time
;;   q  the same, after as many cheap steps as make slices long
;;   r  growing by a page and writing it
(module
  (memory (export "memory") 802)
  (data (i32.const 64) "{\"tools\":[{\"name\":\"spin\",\"description\":\"Holds the processor, in a way that the id of the call names.\"}]}")
  (func (export "wagent_abi") (result i32) (i32.const 1))
  (func (export "wagent_alloc") (param i32) (result i32) (i32.const 4096))
  (func (export "wagent_describe") (result i64) (i64.const 274877907048)) ;; 64 << 32 | length
  (func $cheap (param $n i32) (loop $l (local.set $n (i32.sub (local.get $n) (i32.const 1))) (br_if $l (local.get $n))))
  (func $chain (local $p i32)
    (local.set $p (i32.const 65536))
    (loop $l
      (i32.store (local.get $p) (i32.add (local.get $p) (i32.const 4160)))
      (local.set $p (i32.add (local.get $p) (i32.const 4160)))
      (br_if $l (i32.lt_u (local.get $p) (i32.const 50000000))))
    (i32.store (local.get $p) (i32.const 65536)))
  (func $pages (param $p i32)
    (loop $l
      (i32.store8 (local.get $p) (i32.const 1))
      (br_if $l (i32.lt_u (local.tee $p (i32.add (local.get $p) (i32.const 4096))) (i32.const 52500000)))))
  (func (export "wagent_call") (param $ptr i32) (param $len i32) (result i64) (local $p i32) (local $way i32)
    (local.set $way (i32.load8_u offset=13 (local.get $ptr)))
    (if (i32.eq (local.get $way) (i32.const 103)) (then ;; g
      (call $chain)
      (local.set $p (i32.const 65536))
      (loop $l (local.set $p (i32.load (i32.load (i32.load (i32.load (local.get $p)))))) (br $l))))
    (if (i32.eq (local.get $way) (i32.const 110)) (then ;; n
      (loop $l (call $pages (i32.const 131072)) (br $l))))
    (if (i32.eq (local.get $way) (i32.const 113)) (then ;; q
      (call $cheap (i32.const 1000000))
      (loop $l (call $pages (i32.const 131072)) (br $l))))
    (if (i32.eq (local.get $way) (i32.const 114)) (then ;; r
      (loop $l
        (local.set $p (memory.grow (i32.const 1)))
        (if (i32.ne (local.get $p) (i32.const -1)) (then
          (i32.store8 (i32.mul (local.get $p) (i32.const 65536)) (i32.const 1))))
        (br $l))))
    (unreachable))
)

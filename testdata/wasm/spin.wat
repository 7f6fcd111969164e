;; Holds the processor in the way that the first letter of the call's id names:
;;   a  calls without a loop, twice at each level
;;   b  the same through a table
;;   c  recursion without end
;;   d  recursion without end, with many values that live across the call
;;   e  fills of all the memory
;;   f  copies of all the memory over itself
;;   g  pointers that lead through all the memory
;;   h  fills and copies of a table
;;   i  growing by nothing and by too much
;;   j  divisions and roots
;;   k  vectors
;;   l  data from a segment
;;   m  fills of two bytes
;;   n  one page after the other, written for the first time
;;   o  a loop that branches through a table
(module
  (memory (export "memory") 2)
  (table $t 100000 100000 funcref)
  (type $v (func (param i32)))
  (elem (table $t) (i32.const 0) func $twice)
  (data (i32.const 64) "{\"tools\":[{\"name\":\"spin\",\"description\":\"Holds the processor, in a way that the id of the call names.\"}]}")
  (data (i32.const 1024) "{\"v\":1,\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}")
  (data $seg "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")
  (func (export "wagent_abi") (result i32) (i32.const 1))
  (func (export "wagent_alloc") (param i32) (result i32) (i32.const 4096))
  (func (export "wagent_describe") (result i64) (i64.const 274877907048)) ;; 64 << 32 | length
  (func $fib (param i32) (result i32)
    (if (result i32) (i32.lt_s (local.get 0) (i32.const 2)) (then (local.get 0))
      (else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1))) (call $fib (i32.sub (local.get 0) (i32.const 2)))))))
  (func $twice (type $v)
    (if (local.get 0) (then
      (call_indirect $t (type $v) (i32.sub (local.get 0) (i32.const 1)) (i32.const 0))
      (call_indirect $t (type $v) (i32.sub (local.get 0) (i32.const 1)) (i32.const 0)))))
  (func $deep (param i32) (result i32) (i32.add (call $deep (i32.add (local.get 0) (i32.const 1))) (i32.const 1)))
  (func $wide (param i64 i64 i64 i64 i64 i64 i64 i64) (result i64)
    (i64.add (call $wide (local.get 1) (local.get 2) (local.get 3) (local.get 4) (local.get 5) (local.get 6) (local.get 7) (i64.add (local.get 0) (i64.const 1)))
      (i64.add (i64.add (i64.add (local.get 0) (local.get 1)) (i64.add (local.get 2) (local.get 3))) (i64.add (i64.add (local.get 4) (local.get 5)) (i64.add (local.get 6) (local.get 7))))))
  (func $room (drop (memory.grow (i32.const 800))))
  ;; Each pointer leads 4,160 bytes on, so that no line and no page is met twice soon.
  (func $chain (local $p i32)
    (local.set $p (i32.const 65536))
    (loop $l
      (i32.store (local.get $p) (i32.add (local.get $p) (i32.const 4160)))
      (local.set $p (i32.add (local.get $p) (i32.const 4160)))
      (br_if $l (i32.lt_u (local.get $p) (i32.const 50000000))))
    (i32.store (local.get $p) (i32.const 65536)))
  (func (export "wagent_call") (param $ptr i32) (param $len i32) (result i64) (local $p i32) (local $d f64)
    (block $o
    (block $n
    (block $m
    (block $l
    (block $k
    (block $j
    (block $i
    (block $h
    (block $g
    (block $f
    (block $e
    (block $d
    (block $c
    (block $b
    (block $a
      (br_table $a $b $c $d $e $f $g $h $i $j $k $l $m $n $o $o (i32.sub (i32.load8_u offset=13 (local.get $ptr)) (i32.const 97)))
    ) ;; a
    (drop (call $fib (i32.const 60)))
    (return (i64.const 4398046511153))
    ) ;; b
    (call $twice (i32.const 60))
    (return (i64.const 4398046511153))
    ) ;; c
    (drop (call $deep (i32.const 0)))
    (return (i64.const 4398046511153))
    ) ;; d
    (drop (call $wide (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4) (i64.const 5) (i64.const 6) (i64.const 7) (i64.const 8)))
    (return (i64.const 4398046511153))
    ) ;; e
    (call $room) (loop $l (memory.fill (i32.const 65536) (i32.const 7) (i32.const 50000000)) (br $l))
    (return (i64.const 4398046511153))
    ) ;; f
    (call $room) (loop $l (memory.copy (i32.const 65537) (i32.const 65536) (i32.const 50000000)) (br $l))
    (return (i64.const 4398046511153))
    ) ;; g
    (call $room) (call $chain) (local.set $p (i32.const 65536)) (loop $l (local.set $p (i32.load (i32.load (i32.load (i32.load (local.get $p)))))) (br $l))
    (return (i64.const 4398046511153))
    ) ;; h
    (loop $l (table.fill $t (i32.const 16) (ref.null func) (i32.const 90000)) (table.copy $t $t (i32.const 17) (i32.const 16) (i32.const 90000)) (br $l))
    (return (i64.const 4398046511153))
    ) ;; i
    (loop $l (drop (memory.grow (i32.const 0))) (drop (memory.grow (i32.const 65535))) (br $l))
    (return (i64.const 4398046511153))
    ) ;; j
    (local.set $d (f64.const 1e300)) (loop $l (local.set $d (f64.div (f64.sqrt (local.get $d)) (f64.const 1.0000001))) (br $l))
    (return (i64.const 4398046511153))
    ) ;; k
    (loop $l (v128.store (i32.const 65536) (i8x16.swizzle (v128.load (i32.const 65536)) (i64x2.mul (v128.load (i32.const 65552)) (v128.load (i32.const 65568))))) (br $l))
    (return (i64.const 4398046511153))
    ) ;; l
    (loop $l (memory.init $seg (i32.const 8192) (i32.const 0) (i32.const 4096)) (br $l))
    (return (i64.const 4398046511153))
    ) ;; m
    (loop $l (memory.fill (i32.const 8192) (i32.const 0) (i32.const 2)) (br $l))
    (return (i64.const 4398046511153))
    ) ;; n
    (call $room) (local.set $p (i32.const 131072)) (loop $l (i32.store8 (local.get $p) (i32.const 1)) (local.set $p (i32.add (local.get $p) (i32.const 4096))) (if (i32.gt_u (local.get $p) (i32.const 50000000)) (then (local.set $p (i32.const 131072)))) (br $l))
    (return (i64.const 4398046511153))
    ) ;; o
    (loop $l (block $x (block $y (br_table $x $y $l (i32.const 2))) (br $l)) (br $l))
    (return (i64.const 4398046511153))
    (unreachable))
)

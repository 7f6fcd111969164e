;; Does what its arguments say: calls functions of the host with any arguments.
;;
;; The first text named hex in its request is memory from 65536 on, in hexadecimal.
;; It begins with four words of 32 bits: the number of steps, the address and the
;; length of what the answer shows, and how often all steps are done. Then come the
;; steps of 80 bytes: the function, by its place in the imports below, a mask of
;; the arguments that are addresses of words to be read instead, and nine
;; arguments of 64 bits. Three more functions are its own: search counts where in
;; all its memory the bytes at an address are, eight of them at least, each xored
;; with 0x55, so that what is looked for is not found in what was asked; count adds
;; one to the word behind two bytes, which get its lower digits of seven bits; and
;; answer makes the bytes at an address all of the answer. Otherwise that is a text:
;; the last result of each step in sixteen digits, a blank, and the bytes that were
;; asked for. The result of step n lies at 8192 + 8n, and is 0 where a function
;; gives none. The input lies at 2097152.
(module
  (import "wagent" "http" (func $http (param i32 i32) (result i64)))
  (import "wagent" "read" (func $read (param i32 i32 i32) (result i32)))
  (import "wagent" "kv_get" (func $kv_get (param i32 i32) (result i64)))
  (import "wagent" "kv_set" (func $kv_set (param i32 i32 i32 i32) (result i32)))
  (import "wagent" "kv_delete" (func $kv_delete (param i32 i32) (result i32)))
  (import "wagent" "kv_list" (func $kv_list (param i32 i32) (result i64)))
  (import "wagent" "state_get" (func $state_get (param i32 i32) (result i64)))
  (import "wagent" "secret_exists" (func $secret_exists (param i32 i32) (result i32)))
  (import "wagent" "log" (func $log (param i32 i32 i32)))
  (import "wagent" "progress" (func $progress (param i32 i32 i32)))
  (memory (export "memory") 64)
  (global $step (mut i32) (i32.const 0))
  (global $out (mut i32) (i32.const 0))
  (global $said (mut i64) (i64.const 0))
  (data (i32.const 64) "{\"tools\":[{\"name\":\"calls\",\"description\":\"Calls functions of the host with any arguments.\"}]}")
  (data (i32.const 1024) "{\"v\":1,\"content\":[{\"type\":\"text\",\"text\":\"")
  (data (i32.const 1280) "\"}]}")
  (data (i32.const 1296) "0123456789abcdef")
  (func (export "wagent_abi") (result i32) (i32.const 1))
  (func (export "wagent_alloc") (param i32) (result i32)
    (select (i32.const 2097152) (i32.const 0) (i32.le_u (local.get 0) (i32.const 2097152))))
  (func (export "wagent_describe") (result i64) (i64.const 274877907036)) ;; 64 << 32 | length
  ;; The value of a digit.
  (func $digit (param i32) (result i32)
    (i32.add (i32.and (local.get 0) (i32.const 15)) (i32.mul (i32.shr_u (local.get 0) (i32.const 6)) (i32.const 9))))
  ;; Writes a byte of the answer.
  (func $put (param i32)
    (i32.store8 (global.get $out) (local.get 0))
    (global.set $out (i32.add (global.get $out) (i32.const 1))))
  (func $hex (param i32)
    (call $put (i32.load8_u (i32.add (i32.const 1296) (i32.and (i32.shr_u (local.get 0) (i32.const 4)) (i32.const 15)))))
    (call $put (i32.load8_u (i32.add (i32.const 1296) (i32.and (local.get 0) (i32.const 15))))))
  ;; The k-th argument of the step.
  (func $long (param $k i32) (result i64) (local $v i64)
    (local.set $v (i64.load (i32.add (i32.add (global.get $step) (i32.const 8)) (i32.mul (local.get $k) (i32.const 8)))))
    (if (i32.and (i32.shr_u (i32.load offset=4 (global.get $step)) (local.get $k)) (i32.const 1))
      (then (local.set $v (i64.load32_u (i32.wrap_i64 (local.get $v))))))
    (local.get $v))
  (func $word (param $k i32) (result i32) (i32.wrap_i64 (call $long (local.get $k))))
  ;; How often the bytes, of which there are eight at least, are in memory.
  (func $search (param $p i32) (param $n i32) (result i64) (local $at i32) (local $k i32) (local $found i64) (local $end i32) (local $first i64)
    (local.set $end (i32.sub (i32.shl (memory.size) (i32.const 16)) (local.get $n)))
    (local.set $first (i64.xor (i64.load (local.get $p)) (i64.const 0x5555555555555555)))
    (loop $next
      (if (i64.eq (i64.load (local.get $at)) (local.get $first)) (then
        (local.set $k (i32.const 8))
        (block $other
          (loop $same
            (if (i32.lt_u (local.get $k) (local.get $n)) (then
              (br_if $other (i32.ne (i32.load8_u (i32.add (local.get $at) (local.get $k)))
                (i32.xor (i32.load8_u (i32.add (local.get $p) (local.get $k))) (i32.const 0x55))))
              (local.set $k (i32.add (local.get $k) (i32.const 1)))
              (br $same))))
          (local.set $found (i64.add (local.get $found) (i64.const 1))))))
      (br_if $next (i32.le_u (local.tee $at (i32.add (local.get $at) (i32.const 1))) (local.get $end))))
    (local.get $found))
  (func $count (param $at i32) (result i64) (local $c i32)
    (local.set $c (i32.add (i32.load offset=2 align=1 (local.get $at)) (i32.const 1)))
    (i32.store offset=2 align=1 (local.get $at) (local.get $c))
    (i32.store8 (local.get $at) (i32.and (local.get $c) (i32.const 127)))
    (i32.store8 offset=1 (local.get $at) (i32.and (i32.shr_u (local.get $c) (i32.const 7)) (i32.const 127)))
    (i64.extend_i32_u (local.get $c)))
  (func $answer (param $p i32) (param $n i32) (result i64)
    (global.set $said (i64.or (i64.shl (i64.extend_i32_u (local.get $p)) (i64.const 32)) (i64.extend_i32_u (local.get $n))))
    (i64.const 0))
  (func $do (result i64)
    (block $none
    (block $answer
    (block $count
    (block $search
    (block $progress
    (block $log
    (block $secret_exists
    (block $state_get
    (block $kv_list
    (block $kv_delete
    (block $kv_set
    (block $kv_get
    (block $read
    (block $http
    (br_table $http $read $kv_get $kv_set $kv_delete $kv_list $state_get $secret_exists $log $progress $search $count $answer $none (i32.load (global.get $step))))
    (return (call $http (call $word (i32.const 0)) (call $word (i32.const 1)))))
    (return (i64.extend_i32_s (call $read (call $word (i32.const 0)) (call $word (i32.const 1)) (call $word (i32.const 2))))))
    (return (call $kv_get (call $word (i32.const 0)) (call $word (i32.const 1)))))
    (return (i64.extend_i32_s (call $kv_set (call $word (i32.const 0)) (call $word (i32.const 1)) (call $word (i32.const 2)) (call $word (i32.const 3))))))
    (return (i64.extend_i32_s (call $kv_delete (call $word (i32.const 0)) (call $word (i32.const 1))))))
    (return (call $kv_list (call $word (i32.const 0)) (call $word (i32.const 1)))))
    (return (call $state_get (call $word (i32.const 0)) (call $word (i32.const 1)))))
    (return (i64.extend_i32_s (call $secret_exists (call $word (i32.const 0)) (call $word (i32.const 1))))))
    (call $log (call $word (i32.const 0)) (call $word (i32.const 1)) (call $word (i32.const 2))) (return (i64.const 0)))
    (call $progress (call $word (i32.const 0)) (call $word (i32.const 1)) (call $word (i32.const 2))) (return (i64.const 0)))
    (return (call $search (call $word (i32.const 0)) (call $word (i32.const 1)))))
    (return (call $count (call $word (i32.const 0)))))
    (return (call $answer (call $word (i32.const 0)) (call $word (i32.const 1)))))
    (i64.const 65535))
  (func (export "wagent_call") (param $ptr i32) (param $len i32) (result i64) (local $at i32) (local $to i32) (local $c i32) (local $n i32) (local $got i64) (local $shift i32)
    ;; Find it.
    (local.set $at (local.get $ptr))
    (loop $find
      (if (i64.ne (i64.and (i64.load (local.get $at)) (i64.const 0xffffffffffffff)) (i64.const 0x223a2278656822)) (then
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br_if $find (i32.lt_u (local.get $at) (i32.add (local.get $ptr) (local.get $len))))
        unreachable)))
    (local.set $at (i32.add (local.get $at) (i32.const 7)))
    (local.set $to (i32.const 65536))
    (block $end (loop $next
      (br_if $end (i32.eq (local.tee $c (i32.load8_u (local.get $at))) (i32.const 34)))
      (i32.store8 (local.get $to) (i32.or (i32.shl (call $digit (local.get $c)) (i32.const 4)) (call $digit (i32.load8_u offset=1 (local.get $at)))))
      (local.set $at (i32.add (local.get $at) (i32.const 2)))
      (local.set $to (i32.add (local.get $to) (i32.const 1)))
      (br $next)))
    ;; Do the steps. Results are kept from 8192 on.
    (loop $again
      (global.set $step (i32.const 65552))
      (local.set $n (i32.const 0))
      (block $done (loop $each
        (br_if $done (i32.ge_u (local.get $n) (i32.load (i32.const 65536))))
        (i64.store (i32.add (i32.const 8192) (i32.shl (local.get $n) (i32.const 3))) (call $do))
        (global.set $step (i32.add (global.get $step) (i32.const 80)))
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (br $each)))
      (i32.store (i32.const 65548) (i32.sub (i32.load (i32.const 65548)) (i32.const 1)))
      (br_if $again (i32.gt_s (i32.load (i32.const 65548)) (i32.const 0))))
    ;; Answer.
    (if (i64.ne (global.get $said) (i64.const 0)) (then (return (global.get $said))))
    (memory.copy (i32.const 1048576) (i32.const 1024) (i32.const 41))
    (global.set $out (i32.const 1048617))
    (local.set $n (i32.const 0))
    (block $done (loop $each
      (br_if $done (i32.ge_u (local.get $n) (i32.load (i32.const 65536))))
      (local.set $got (i64.load (i32.add (i32.const 8192) (i32.shl (local.get $n) (i32.const 3)))))
      (local.set $shift (i32.const 64))
      (loop $digits
        (local.set $shift (i32.sub (local.get $shift) (i32.const 8)))
        (call $hex (i32.wrap_i64 (i64.shr_u (local.get $got) (i64.extend_i32_u (local.get $shift)))))
        (br_if $digits (local.get $shift)))
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (br $each)))
    (call $put (i32.const 32))
    (local.set $n (i32.const 0))
    (block $done (loop $each
      (br_if $done (i32.ge_u (local.get $n) (i32.load (i32.const 65544))))
      (call $hex (i32.load8_u (i32.add (i32.load (i32.const 65540)) (local.get $n))))
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (br $each)))
    (memory.copy (global.get $out) (i32.const 1280) (i32.const 4))
    (i64.or (i64.const 4503599627370496) (i64.extend_i32_u (i32.sub (i32.add (global.get $out) (i32.const 4)) (i32.const 1048576))))))

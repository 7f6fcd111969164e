;; Sends the request that its arguments hold, {"hex":"…"} with its JSON in
;; hexadecimal, and answers the result in 16 digits, a blank, and the response.
(module
  (import "wagent" "http" (func $http (param i32 i32) (result i64)))
  (import "wagent" "read" (func $read (param i32 i32 i32) (result i32)))
  (memory (export "memory") 64)
  (global $out (mut i32) (i32.const 0))
  (data (i32.const 64) "{\"tools\":[{\"name\":\"ask\",\"description\":\"Sends the request that its arguments hold and says what came of it.\"}]}")
  (data (i32.const 1024) "{\"v\":1,\"content\":[{\"type\":\"text\",\"text\":\"")
  (data (i32.const 1280) "\"}]}")
  (data (i32.const 1296) "0123456789abcdef")
  (func (export "wagent_abi") (result i32) (i32.const 1))
  (func (export "wagent_alloc") (param i32) (result i32)
    (select (i32.const 2097152) (i32.const 0) (i32.le_u (local.get 0) (i32.const 2097152))))
  (func (export "wagent_describe") (result i64) (i64.const 274877907054)) ;; 64 << 32 | length
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
  (func (export "wagent_call") (param $ptr i32) (param $len i32) (result i64)
    (local $at i32) (local $to i32) (local $c i32) (local $n i32) (local $got i64)
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
    (local.set $got (call $http (i32.const 65536) (i32.sub (local.get $to) (i32.const 65536))))
    ;; Answer.
    (memory.copy (i32.const 1048576) (i32.const 1024) (i32.const 41))
    (global.set $out (i32.const 1048617))
    (local.set $n (i32.const 64))
    (loop $each
      (local.set $n (i32.sub (local.get $n) (i32.const 8)))
      (call $hex (i32.wrap_i64 (i64.shr_u (local.get $got) (i64.extend_i32_u (local.get $n)))))
      (br_if $each (local.get $n)))
    (call $put (i32.const 32))
    (if (i64.ge_s (local.get $got) (i64.const 0)) (then
      (local.set $c (call $read (i32.wrap_i64 (i64.shr_u (local.get $got) (i64.const 32))) (i32.const 2097152) (i32.wrap_i64 (local.get $got))))
      (local.set $n (i32.const 0))
      (block $done (loop $more
        (br_if $done (i32.ge_s (local.get $n) (local.get $c)))
        (call $hex (i32.load8_u (i32.add (i32.const 2097152) (local.get $n))))
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (br $more)))))
    (memory.copy (global.get $out) (i32.const 1280) (i32.const 4))
    (i64.or (i64.const 4503599627370496) (i64.extend_i32_u (i32.sub (i32.add (global.get $out) (i32.const 4)) (i32.const 1048576))))))

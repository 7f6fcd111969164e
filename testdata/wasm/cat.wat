;; Copies standard input to standard output.
(module
  (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 2)
  (func (export "_start")
    (block $end
      (loop $l
        (i32.store (i32.const 0) (i32.const 65536))
        (i32.store (i32.const 4) (i32.const 65536))
        (br_if $end (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))
        (br_if $end (i32.eqz (i32.load (i32.const 8))))
        (i32.store (i32.const 4) (i32.load (i32.const 8)))
        (br_if $end (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 12)))
        (br $l)))))

;; Does what its arguments say: calls functions of the system with any arguments.
;;
;; The first text named hex in its request is memory from 65536 on, in hexadecimal.
;; It begins with four words of 32 bits: the number of steps, the address and the
;; length of what the answer shows, and how often all steps are done. Then come the
;; steps of 80 bytes: the function, by its place in the imports below, a mask of
;; the arguments that are addresses of words to be read instead, and nine
;; arguments of 64 bits. The answer is a text: the last result of each step in four
;; digits, a blank, and the bytes that were asked for. Its input lies at 2097152.
(module
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $args_sizes_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_sizes_get" (func $environ_sizes_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "environ_get" (func $environ_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_res_get" (func $clock_res_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "clock_time_get" (func $clock_time_get (param i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_allocate" (func $fd_allocate (param i32 i64 i64) (result i32)))
  (import "wasi_snapshot_preview1" "fd_close" (func $fd_close (param i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_fdstat_set_flags" (func $fd_fdstat_set_flags (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_filestat_get" (func $fd_filestat_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_filestat_set_size" (func $fd_filestat_set_size (param i32 i64) (result i32)))
  (import "wasi_snapshot_preview1" "fd_prestat_get" (func $fd_prestat_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_prestat_dir_name" (func $fd_prestat_dir_name (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_readdir" (func $fd_readdir (param i32 i32 i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_renumber" (func $fd_renumber (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_seek" (func $fd_seek (param i32 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_create_directory" (func $path_create_directory (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_filestat_get" (func $path_filestat_get (param i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_link" (func $path_link (param i32 i32 i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_open" (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_readlink" (func $path_readlink (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_remove_directory" (func $path_remove_directory (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_rename" (func $path_rename (param i32 i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_symlink" (func $path_symlink (param i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_unlink_file" (func $path_unlink_file (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll_oneoff (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random_get (param i32 i32) (result i32)))
  (memory (export "memory") 64)
  (global $step (mut i32) (i32.const 0))
  (global $out (mut i32) (i32.const 0))
  (data (i32.const 64) "{\"tools\":[{\"name\":\"steps\",\"description\":\"Calls functions of the system with any arguments.\"}]}")
  (data (i32.const 1024) "{\"v\":1,\"content\":[{\"type\":\"text\",\"text\":\"")
  (data (i32.const 1280) "\"}]}")
  (data (i32.const 1296) "0123456789abcdef")
  (func (export "wagent_abi") (result i32) (i32.const 1))
  (func (export "wagent_alloc") (param i32) (result i32)
    (select (i32.const 2097152) (i32.const 0) (i32.le_u (local.get 0) (i32.const 2097152))))
  (func (export "wagent_describe") (result i64) (i64.const 274877907038)) ;; 64 << 32 | length
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
  (func $do (result i32)
    (block $none
    (block $random_get
    (block $poll_oneoff
    (block $path_unlink_file
    (block $path_symlink
    (block $path_rename
    (block $path_remove_directory
    (block $path_readlink
    (block $path_open
    (block $path_link
    (block $path_filestat_get
    (block $path_create_directory
    (block $fd_write
    (block $fd_seek
    (block $fd_renumber
    (block $fd_readdir
    (block $fd_read
    (block $fd_prestat_dir_name
    (block $fd_prestat_get
    (block $fd_filestat_set_size
    (block $fd_filestat_get
    (block $fd_fdstat_set_flags
    (block $fd_close
    (block $fd_allocate
    (block $clock_time_get
    (block $clock_res_get
    (block $environ_get
    (block $environ_sizes_get
    (block $args_sizes_get
    (br_table $args_sizes_get $environ_sizes_get $environ_get $clock_res_get $clock_time_get $fd_allocate $fd_close $fd_fdstat_set_flags $fd_filestat_get $fd_filestat_set_size $fd_prestat_get $fd_prestat_dir_name $fd_read $fd_readdir $fd_renumber $fd_seek $fd_write $path_create_directory $path_filestat_get $path_link $path_open $path_readlink $path_remove_directory $path_rename $path_symlink $path_unlink_file $poll_oneoff $random_get $none (i32.load (global.get $step))))
    (return (call $args_sizes_get (call $word (i32.const 0)) (call $word (i32.const 1)))))
    (return (call $environ_sizes_get (call $word (i32.const 0)) (call $word (i32.const 1)))))
    (return (call $environ_get (call $word (i32.const 0)) (call $word (i32.const 1)))))
    (return (call $clock_res_get (call $word (i32.const 0)) (call $word (i32.const 1)))))
    (return (call $clock_time_get (call $word (i32.const 0)) (call $long (i32.const 1)) (call $word (i32.const 2)))))
    (return (call $fd_allocate (call $word (i32.const 0)) (call $long (i32.const 1)) (call $long (i32.const 2)))))
    (return (call $fd_close (call $word (i32.const 0)))))
    (return (call $fd_fdstat_set_flags (call $word (i32.const 0)) (call $word (i32.const 1)))))
    (return (call $fd_filestat_get (call $word (i32.const 0)) (call $word (i32.const 1)))))
    (return (call $fd_filestat_set_size (call $word (i32.const 0)) (call $long (i32.const 1)))))
    (return (call $fd_prestat_get (call $word (i32.const 0)) (call $word (i32.const 1)))))
    (return (call $fd_prestat_dir_name (call $word (i32.const 0)) (call $word (i32.const 1)) (call $word (i32.const 2)))))
    (return (call $fd_read (call $word (i32.const 0)) (call $word (i32.const 1)) (call $word (i32.const 2)) (call $word (i32.const 3)))))
    (return (call $fd_readdir (call $word (i32.const 0)) (call $word (i32.const 1)) (call $word (i32.const 2)) (call $long (i32.const 3)) (call $word (i32.const 4)))))
    (return (call $fd_renumber (call $word (i32.const 0)) (call $word (i32.const 1)))))
    (return (call $fd_seek (call $word (i32.const 0)) (call $long (i32.const 1)) (call $word (i32.const 2)) (call $word (i32.const 3)))))
    (return (call $fd_write (call $word (i32.const 0)) (call $word (i32.const 1)) (call $word (i32.const 2)) (call $word (i32.const 3)))))
    (return (call $path_create_directory (call $word (i32.const 0)) (call $word (i32.const 1)) (call $word (i32.const 2)))))
    (return (call $path_filestat_get (call $word (i32.const 0)) (call $word (i32.const 1)) (call $word (i32.const 2)) (call $word (i32.const 3)) (call $word (i32.const 4)))))
    (return (call $path_link (call $word (i32.const 0)) (call $word (i32.const 1)) (call $word (i32.const 2)) (call $word (i32.const 3)) (call $word (i32.const 4)) (call $word (i32.const 5)) (call $word (i32.const 6)))))
    (return (call $path_open (call $word (i32.const 0)) (call $word (i32.const 1)) (call $word (i32.const 2)) (call $word (i32.const 3)) (call $word (i32.const 4)) (call $long (i32.const 5)) (call $long (i32.const 6)) (call $word (i32.const 7)) (call $word (i32.const 8)))))
    (return (call $path_readlink (call $word (i32.const 0)) (call $word (i32.const 1)) (call $word (i32.const 2)) (call $word (i32.const 3)) (call $word (i32.const 4)) (call $word (i32.const 5)))))
    (return (call $path_remove_directory (call $word (i32.const 0)) (call $word (i32.const 1)) (call $word (i32.const 2)))))
    (return (call $path_rename (call $word (i32.const 0)) (call $word (i32.const 1)) (call $word (i32.const 2)) (call $word (i32.const 3)) (call $word (i32.const 4)) (call $word (i32.const 5)))))
    (return (call $path_symlink (call $word (i32.const 0)) (call $word (i32.const 1)) (call $word (i32.const 2)) (call $word (i32.const 3)) (call $word (i32.const 4)))))
    (return (call $path_unlink_file (call $word (i32.const 0)) (call $word (i32.const 1)) (call $word (i32.const 2)))))
    (return (call $poll_oneoff (call $word (i32.const 0)) (call $word (i32.const 1)) (call $word (i32.const 2)) (call $word (i32.const 3)))))
    (return (call $random_get (call $word (i32.const 0)) (call $word (i32.const 1)))))
    (i32.const 65535))
  (func (export "wagent_call") (param $ptr i32) (param $len i32) (result i64) (local $at i32) (local $to i32) (local $c i32) (local $n i32)
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
        (i32.store (i32.add (i32.const 8192) (i32.shl (local.get $n) (i32.const 2))) (call $do))
        (global.set $step (i32.add (global.get $step) (i32.const 80)))
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (br $each)))
      (i32.store (i32.const 65548) (i32.sub (i32.load (i32.const 65548)) (i32.const 1)))
      (br_if $again (i32.gt_s (i32.load (i32.const 65548)) (i32.const 0))))
    ;; Answer.
    (memory.copy (i32.const 1048576) (i32.const 1024) (i32.const 41))
    (global.set $out (i32.const 1048617))
    (local.set $n (i32.const 0))
    (block $done (loop $each
      (br_if $done (i32.ge_u (local.get $n) (i32.load (i32.const 65536))))
      (local.set $c (i32.load (i32.add (i32.const 8192) (i32.shl (local.get $n) (i32.const 2)))))
      (call $hex (i32.shr_u (local.get $c) (i32.const 8)))
      (call $hex (local.get $c))
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

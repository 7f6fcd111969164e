;; Takes 62 MiB and writes to each of its pages, four times over.
(module
  (memory (export "memory") 2)
  (data (i32.const 64) "{\"tools\":[{\"name\":\"touch\",\"description\":\"Takes 62 MiB.\"}]}")
  (data (i32.const 1024) "{\"v\":1,\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}")
  (func (export "wagent_abi") (result i32) (i32.const 1))
  (func (export "wagent_alloc") (param i32) (result i32) (i32.const 4096))
  (func (export "wagent_describe") (result i64) (i64.const 274877907002)) ;; 64 << 32 | length
  (func (export "wagent_call") (param $ptr i32) (param $len i32) (result i64)
    (local $at i32) (local $round i32)
    (if (i32.eq (memory.grow (i32.const 990)) (i32.const -1)) (then unreachable))
    (loop $rounds
      (local.set $at (i32.const 131072))
      (loop $pages
        (i32.store (local.get $at) (local.get $round))
        (local.set $at (i32.add (local.get $at) (i32.const 4096)))
        (br_if $pages (i32.lt_u (local.get $at) (i32.const 65011712))))
      (local.set $round (i32.add (local.get $round) (i32.const 1)))
      (br_if $rounds (i32.lt_u (local.get $round) (i32.const 4))))
    (i64.const 4398046511153))) ;; 1024 << 32 | length

// Word_count in AssemblyScript as an Extism plugin, by its imports alone.
import { wordCount } from "./count";
import { Text } from "./json";

// @ts-ignore: a decorator
@external("extism:host/env", "input_length")
declare function inputLength(): u64;
// @ts-ignore: a decorator
@external("extism:host/env", "input_load_u64")
declare function inputLoad64(at: u64): u64;
// @ts-ignore: a decorator
@external("extism:host/env", "input_load_u8")
declare function inputLoad8(at: u64): u32;
// @ts-ignore: a decorator
@external("extism:host/env", "alloc")
declare function alloc(size: u64): u64;
// @ts-ignore: a decorator
@external("extism:host/env", "store_u64")
declare function store64(at: u64, value: u64): void;
// @ts-ignore: a decorator
@external("extism:host/env", "store_u8")
declare function store8(at: u64, value: u32): void;
// @ts-ignore: a decorator
@external("extism:host/env", "output_set")
declare function outputSet(at: u64, size: u64): void;
// @ts-ignore: a decorator
@external("extism:host/env", "error_set")
declare function errorSet(at: u64): void;

class Stored {
  at: u64;
  size: u64;

  constructor(s: string) {
    const b = String.UTF8.encode(s);
    const from = changetype<usize>(b), size = <usize>b.byteLength;
    const to = alloc(size);
    let i: usize = 0;
    for (; i + 8 <= size; i += 8) store64(to + i, load<u64>(from + i));
    for (; i < size; i++) store8(to + i, load<u8>(from + i));
    this.at = to;
    this.size = size;
  }
}

export function word_count(): i32 {
  const size = <usize>inputLength();
  const at = heap.alloc(size);
  let i: usize = 0;
  for (; i + 8 <= size; i += 8) store<u64>(at + i, inputLoad64(i));
  for (; i < size; i++) store<u8>(at + i, inputLoad8(i));
  const out = wordCount(new Text(at, size));
  heap.free(at);
  if (out === null) {
    errorSet(new Stored("text is missing").at);
    return 1;
  }
  const stored = new Stored(out);
  outputSet(stored.at, stored.size);
  return 0;
}

// The tools in AssemblyScript, which speak the wagent ABI themselves.
import { wordCount } from "./count";
import { Text, member, text } from "./json";

let calls: u32 = 0;
let last = new ArrayBuffer(0); // the answer that the host reads after the call

class Tool {
  constructor(public name: string, public about: string, public schema: string, public call: (args: Text) => string | null) {}
}

const tools: Tool[] = [
  new Tool("word_count", "Counts the words of a text.", `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`, wordCount),
  new Tool("counter", "Says how often this guest was called.", `{"type":"object"}`, counter),
  new Tool("spin", "Never ends.", `{"type":"object"}`, spin),
  new Tool("dive", "Calls itself without an end.", `{"type":"object"}`, dive),
];

function counter(args: Text): string | null {
  return (++calls).toString();
}

function spin(args: Text): string | null {
  while (true) calls += <u32>args.size;
}

function dive(args: Text): string | null {
  return down(<u32>args.size).toString();
}

function down(n: u32): u32 {
  return calls > 1 << 30 ? n : (down(n + 1) * 31) ^ n;
}

function give(out: string): u64 {
  last = String.UTF8.encode(out);
  return (<u64>changetype<usize>(last) << 32) | last.byteLength;
}

export function wagent_abi(): i32 {
  return 1;
}

export function wagent_alloc(size: i32): usize {
  return heap.alloc(size);
}

export function wagent_describe(): u64 {
  return give(`{"tools":[${tools.map<string>((t) => `{"name":"${t.name}","description":"${t.about}","inputSchema":${t.schema}}`).join(",")}]}`);
}

function answer(request: Text): string {
  const name = member(request, "tool"), args = member(request, "arguments");
  const called = name ? text(name) : null;
  if (!called || !args) return `{"v":1,"error":{"kind":"internal","message":"the request is not whole"}}`;
  for (let i = 0; i < tools.length; i++) {
    if (called.is(tools[i].name)) {
      const out = tools[i].call(args);
      return out ? out : `{"v":1,"error":{"kind":"input","message":"text is missing"}}`;
    }
  }
  return `{"v":1,"error":{"kind":"not_found","message":"no such tool"}}`;
}

export function wagent_call(at: usize, size: i32): u64 {
  const out = answer(new Text(at, size));
  heap.free(at);
  return give(out);
}

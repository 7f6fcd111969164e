import { Text, member, quote, text } from "./json";

class Word {
  count: i32 = 0;
  constructor(public word: string, public at: Text) {}
}

function isSpace(c: u8): bool {
  return c == 32 || (c >= 9 && c <= 13);
}

// spaces counts white space, sixteen bytes at a time.
function spaces(t: Text): i32 {
  let n = 0, p = t.at;
  for (; p + 16 <= t.end; p += 16) {
    const b = v128.load(p);
    const blank = i8x16.eq(b, i8x16.splat(32));
    const control = i8x16.lt_u(i8x16.sub(b, i8x16.splat(9)), i8x16.splat(5));
    n += popcnt(i8x16.bitmask(v128.or(blank, control)));
  }
  for (; p < t.end; p++) n += i32(isSpace(load<u8>(p)));
  return n;
}

function compare(a: Text, b: Text): i32 {
  const order = memory.compare(a.at, b.at, min(a.size, b.size));
  return order != 0 ? order : i32(a.size > b.size) - i32(a.size < b.size);
}

// Answers the arguments of word_count, unless there is no text.
export function wordCount(args: Text): string | null {
  const value = member(args, "text");
  if (!value) return null;
  const t = text(value);
  if (!t) return null;
  const counts = new Map<string, Word>();
  let words = 0;
  for (let p = t.at, end = t.end; p < end; p++) {
    const from = p;
    while (p < end && !isSpace(load<u8>(p))) p++;
    if (p == from) continue;
    const at = new Text(from, p - from), word = at.toString();
    if (!counts.has(word)) counts.set(word, new Word(word, at));
    counts.get(word).count++;
    words++;
  }
  const blank = spaces(t);
  const mean = words == 0 ? 0 : Math.floor((<f64>(<i32>t.size - blank) / words) * 100 + 0.5) / 100;
  const top = counts.values().sort((a, b) => a.count != b.count ? b.count - a.count : compare(a.at, b.at));
  const list = new Array<string>();
  for (let i = 0; i < min(3, top.length); i++) {
    list.push(`{"word":${quote(top[i].word)},"count":${top[i].count}}`);
  }
  return `{"words":${words},"distinct":${top.length},"spaces":${blank},"mean":${mean},"top":[${list.join(",")}]}`;
}

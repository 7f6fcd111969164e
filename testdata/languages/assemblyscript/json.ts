// As much of JSON as a tool needs that trusts its host to send it whole. Texts
// stay where they are in memory, as UTF-8.

export class Text {
  constructor(public at: usize, public size: usize) {}

  get end(): usize {
    return this.at + this.size;
  }

  is(s: string): bool {
    const b = String.UTF8.encode(s);
    return <usize>b.byteLength == this.size && memory.compare(changetype<usize>(b), this.at, this.size) == 0;
  }

  toString(): string {
    return String.UTF8.decodeUnsafe(this.at, this.size);
  }
}

function space(p: usize, end: usize): usize {
  while (p < end && (load<u8>(p) == 32 || load<u8>(p) == 10 || load<u8>(p) == 13 || load<u8>(p) == 9)) p++;
  return p;
}

// skip returns where a value ends, or 0.
function skip(p: usize, end: usize): usize {
  if (p >= end) return 0;
  const first = load<u8>(p);
  if (first == 0x22) {
    for (p++; p < end; p++) {
      const c = load<u8>(p);
      if (c == 0x22) return p + 1;
      if (c == 0x5c) p++;
    }
    return 0;
  }
  if (first == 0x7b || first == 0x5b) {
    const close: u8 = first == 0x7b ? 0x7d : 0x5d;
    p = space(p + 1, end);
    while (p < end && load<u8>(p) != close) {
      p = skip(p, end);
      if (p == 0) return 0;
      p = space(p, end);
      if (p < end && (load<u8>(p) == 0x2c || load<u8>(p) == 0x3a)) p = space(p + 1, end);
    }
    return p < end ? p + 1 : 0;
  }
  const from = p;
  while (p < end && !",:]} \n\r\t".includes(String.fromCharCode(load<u8>(p)))) p++;
  return p > from ? p : 0;
}

// Finds a member of an object. Its value is left as it is written.
export function member(object: Text, name: string): Text | null {
  const end = object.end;
  let p = space(object.at, end);
  if (p == end || load<u8>(p) != 0x7b) return null;
  while (true) {
    const key = space(p + 1, end);
    p = skip(key, end);
    if (p == 0 || p - key < 2) return null;
    const found = new Text(key + 1, p - key - 2).is(name);
    p = space(p, end);
    if (p >= end || load<u8>(p) != 0x3a) return null;
    const from = space(p + 1, end);
    p = skip(from, end);
    if (p == 0) return null;
    if (found) return new Text(from, p - from);
    p = space(p, end);
    if (p >= end || load<u8>(p) != 0x2c) return null;
  }
}

function hex(p: usize): u32 {
  let v: u32 = 0;
  for (let i: usize = 0; i < 4; i++) {
    const c = <u32>load<u8>(p + i);
    v = (v << 4) | (c <= 0x39 ? c - 0x30 : (c | 32) - 0x61 + 10);
  }
  return v;
}

// utf8 writes a character; half of a pair becomes U+FFFD.
function utf8(to: usize, c: u32): usize {
  if (c >= 0xd800 && c < 0xe000) c = 0xfffd;
  if (c < 0x80) {
    store<u8>(to, c);
    return to + 1;
  }
  let more: u32 = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  store<u8>(to++, (more == 1 ? 0xc0 : more == 2 ? 0xe0 : 0xf0) | (c >> (6 * more)));
  while (more-- > 0) store<u8>(to++, 0x80 | ((c >> (6 * more)) & 63));
  return to;
}

function plain(c: u8): u8 {
  switch (c) {
    case 0x62: return 8;
    case 0x66: return 12;
    case 0x6e: return 10;
    case 0x72: return 13;
    case 0x74: return 9;
    default: return c;
  }
}

// Reads a string, in its own place.
export function text(value: Text): Text | null {
  if (value.size < 2 || load<u8>(value.at) != 0x22) return null;
  const from = value.at + 1, end = value.end - 1;
  let p = from, to = from;
  while (p < end) {
    const c = load<u8>(p);
    if (c != 0x5c) {
      store<u8>(to++, c);
      p++;
    } else if (load<u8>(p + 1) != 0x75) {
      store<u8>(to++, plain(load<u8>(p + 1)));
      p += 2;
    } else {
      if (end - p < 6) return null;
      let code = hex(p + 2);
      p += 6;
      if (code >> 10 == 0xd800 >> 10 && end - p >= 6 && load<u16>(p) == 0x755c) {
        const low = hex(p + 2);
        if (low >> 10 == 0xdc00 >> 10) {
          code = 0x10000 + (((code & 0x3ff) << 10) | (low & 0x3ff));
          p += 6;
        }
      }
      to = utf8(to, code);
    }
  }
  return new Text(from, to - from);
}

// Writes a string with its quotes.
export function quote(s: string): string {
  let out = "\"";
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (c < 0x20) {
      out += "\\u00" + (c < 16 ? "0" : "1") + "0123456789abcdef".charAt(c & 15);
    } else {
      if (c == 0x22 || c == 0x5c) out += "\\";
      out += s.charAt(i);
    }
  }
  return out + "\"";
}

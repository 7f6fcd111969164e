//! As much of JSON as a tool needs that trusts its host to send it whole.

use std::borrow::Cow;

fn space(b: &[u8]) -> &[u8] {
    let n = b.iter().take_while(|c| b" \n\r\t".contains(c)).count();
    &b[n..]
}

/// Splits behind the value that b begins with.
fn value(b: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = skip(b)?;
    Some(b.split_at(b.len() - rest.len()))
}

fn skip(b: &[u8]) -> Option<&[u8]> {
    match b.first()? {
        b'"' => {
            let mut at = 1;
            while *b.get(at)? != b'"' {
                at += if b[at] == b'\\' { 2 } else { 1 };
            }
            Some(&b[at + 1..])
        }
        open @ (b'{' | b'[') => {
            let close = if *open == b'{' { b'}' } else { b']' };
            let mut b = space(&b[1..]);
            while *b.first()? != close {
                b = space(skip(b)?);
                if matches!(b.first()?, b',' | b':') {
                    b = space(&b[1..]);
                }
            }
            Some(&b[1..])
        }
        _ => {
            let n = b.iter().take_while(|c| !b",:]} \n\r\t".contains(c)).count();
            (n > 0).then(|| &b[n..])
        }
    }
}

/// Finds a member of an object. Its value is left as it is written.
pub fn member<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut b = space(object).strip_prefix(b"{")?;
    loop {
        let (key, rest) = value(space(b))?;
        let (found, rest) = value(space(space(rest).strip_prefix(b":")?))?;
        if key.strip_prefix(b"\"")?.strip_suffix(b"\"")? == name.as_bytes() {
            return Some(found);
        }
        b = space(rest).strip_prefix(b",")?;
    }
}

/// Reads a string.
pub fn string(value: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(value).ok()?.strip_prefix('"')?.strip_suffix('"')?;
    if !text.contains('\\') {
        return Some(text.into());
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let mut chars = rest.chars();
        let c = chars.next()?;
        rest = chars.as_str();
        match c {
            'b' => out.push('\x08'),
            'f' => out.push('\x0c'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'u' => {
                let mut code = hex(rest)?;
                rest = &rest[4..];
                if let (0xd800..0xdc00, Some(low @ 0xdc00..0xe000)) = (code, rest.strip_prefix("\\u").and_then(hex)) {
                    code = 0x10000 + ((code & 0x3ff) << 10 | low & 0x3ff);
                    rest = &rest[6..];
                }
                out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            other => out.push(other),
        }
    }
    out.push_str(rest);
    Some(out.into())
}

fn hex(s: &str) -> Option<u32> {
    u32::from_str_radix(s.get(..4)?, 16).ok()
}

/// Writes a string with its quotes.
pub fn quote(out: &mut String, s: &str) {
    out.push('"');
    for c in s.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\0'..='\x1f' => out.push_str(&format!("\\u{:04x}", c as u32)),
            _ => out.push(c),
        }
    }
    out.push('"');
}

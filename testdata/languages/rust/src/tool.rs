use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::{count::word_count, json};

static CALLS: AtomicU32 = AtomicU32::new(0);

/// The answer that the host reads after the call.
static mut LAST: String = String::new();

struct Tool {
    name: &'static str,
    about: &'static str,
    schema: &'static str,
    call: fn(&[u8]) -> Option<String>,
}

static TOOLS: [Tool; 4] = [
    Tool {
        name: "word_count",
        about: "Counts the words of a text.",
        schema: r#"{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}"#,
        call: word_count,
    },
    Tool { name: "counter", about: "Says how often this guest was called.", schema: r#"{"type":"object"}"#, call: counter },
    Tool { name: "spin", about: "Never ends.", schema: r#"{"type":"object"}"#, call: spin },
    Tool { name: "dive", about: "Calls itself without an end.", schema: r#"{"type":"object"}"#, call: dive },
];

fn counter(_: &[u8]) -> Option<String> {
    Some((CALLS.fetch_add(1, Relaxed) + 1).to_string())
}

fn spin(_: &[u8]) -> Option<String> {
    loop {
        CALLS.fetch_add(1, Relaxed);
    }
}

fn dive(arguments: &[u8]) -> Option<String> {
    Some(down(arguments.len() as u32).to_string())
}

#[inline(never)]
fn down(n: u32) -> u32 {
    if CALLS.load(Relaxed) > 1 << 30 {
        return n;
    }
    // Written behind the compiler's back, so that it has to look each time.
    CALLS.store(CALLS.load(Relaxed) & 1, Relaxed);
    down(n.wrapping_add(1)).wrapping_mul(31) ^ n
}

fn give(out: String) -> u64 {
    // A guest has one thread.
    unsafe {
        LAST = out;
        let s = &*ptr::addr_of!(LAST);
        (s.as_ptr() as u64) << 32 | s.len() as u64
    }
}

#[no_mangle]
pub extern "C" fn wagent_abi() -> u32 {
    1
}

#[no_mangle]
pub extern "C" fn wagent_alloc(size: u32) -> *mut u8 {
    Box::leak(vec![0; size.max(1) as usize].into_boxed_slice()).as_mut_ptr()
}

#[no_mangle]
pub extern "C" fn wagent_describe() -> u64 {
    let tools: Vec<String> = TOOLS
        .iter()
        .map(|t| format!(r#"{{"name":"{}","description":"{}","inputSchema":{}}}"#, t.name, t.about, t.schema))
        .collect();
    give(format!(r#"{{"tools":[{}]}}"#, tools.join(",")))
}

fn answer(request: &[u8]) -> Option<String> {
    let name = json::string(json::member(request, "tool")?)?;
    let arguments = json::member(request, "arguments")?;
    let (kind, message) = match TOOLS.iter().find(|t| t.name == name) {
        Some(tool) => match (tool.call)(arguments) {
            Some(out) => return Some(out),
            None => ("input", "text is missing"),
        },
        None => ("not_found", "no such tool"),
    };
    Some(format!(r#"{{"v":1,"error":{{"kind":"{kind}","message":"{message}"}}}}"#))
}

/// # Safety
/// The buffer is one of wagent_alloc, of that size.
#[no_mangle]
pub unsafe extern "C" fn wagent_call(at: *mut u8, size: u32) -> u64 {
    let request = Box::from_raw(ptr::slice_from_raw_parts_mut(at, size.max(1) as usize));
    give(answer(&request).unwrap_or_else(|| r#"{"v":1,"error":{"kind":"internal","message":"the request is not whole"}}"#.into()))
}

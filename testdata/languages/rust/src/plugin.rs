use crate::count::word_count;

#[link(wasm_import_module = "extism:host/env")]
extern "C" {
    fn input_length() -> u64;
    fn input_load_u64(at: u64) -> u64;
    fn input_load_u8(at: u64) -> u32;
    fn alloc(size: u64) -> u64;
    fn store_u64(at: u64, value: u64);
    fn store_u8(at: u64, value: u32);
    fn output_set(at: u64, size: u64);
    fn error_set(at: u64);
}

fn input() -> Vec<u8> {
    unsafe {
        let size = input_length();
        let mut all = Vec::with_capacity(size as usize);
        for at in (0..size / 8).map(|i| i * 8) {
            all.extend(input_load_u64(at).to_le_bytes());
        }
        all.extend((size / 8 * 8..size).map(|at| input_load_u8(at) as u8));
        all
    }
}

fn store(s: &str) -> u64 {
    unsafe {
        let to = alloc(s.len() as u64);
        let mut at = to;
        let words = s.as_bytes().chunks_exact(8);
        let rest = words.remainder();
        for w in words {
            store_u64(at, u64::from_le_bytes(w.try_into().unwrap()));
            at += 8;
        }
        for b in rest {
            store_u8(at, *b as u32);
            at += 1;
        }
        to
    }
}

#[export_name = "word_count"]
pub extern "C" fn plugin() -> i32 {
    match word_count(&input()) {
        Some(out) => {
            unsafe { output_set(store(&out), out.len() as u64) };
            0
        }
        None => {
            unsafe { error_set(store("text is missing")) };
            1
        }
    }
}

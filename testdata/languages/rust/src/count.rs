use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt::Write;

use crate::json;

fn is_space(c: &u8) -> bool {
    matches!(c, b' ' | b'\t'..=b'\r')
}

/// Answers the arguments of word_count, unless there is no text.
pub fn word_count(arguments: &[u8]) -> Option<String> {
    let text = json::string(json::member(arguments, "text")?)?;
    let mut counts: HashMap<&str, u32> = HashMap::new();
    let mut words = 0;
    for word in text.split(|c: char| c.is_ascii() && is_space(&(c as u8))).filter(|w| !w.is_empty()) {
        *counts.entry(word).or_default() += 1;
        words += 1;
    }
    let spaces = text.as_bytes().iter().filter(|c| is_space(c)).count(); // the compiler takes vectors for it
    let mean = match words {
        0 => 0.0,
        n => ((text.len() - spaces) as f64 / n as f64 * 100.0 + 0.5).floor() / 100.0,
    };
    let mut top: Vec<_> = counts.iter().collect();
    top.sort_unstable_by_key(|&(word, count)| (Reverse(*count), *word));
    let mut out = String::new();
    write!(out, r#"{{"words":{words},"distinct":{},"spaces":{spaces},"mean":{mean:.2},"top":["#, top.len()).ok()?;
    for (i, (word, count)) in top.iter().take(3).enumerate() {
        out.push_str(if i > 0 { r#",{"word":"# } else { r#"{"word":"# });
        json::quote(&mut out, word);
        write!(out, r#","count":{count}}}"#).ok()?;
    }
    out.push_str("]}");
    Some(out)
}

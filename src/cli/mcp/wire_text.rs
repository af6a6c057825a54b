//! A message as the line that the client reads: JSON with the keys for a model first, in characters
//! that a terminal shows.

use lab_protocol::text::is_visible;
use serde_json::Value;

/// The keys that stand first in every answer, in this order.
const FIRST: [&str; 2] = ["summary", "next"];

/// Any message as JSON in one line without characters that a terminal does not show. An object's
/// `summary` and `next` stand first.
pub fn to_text(value: &Value) -> String {
    let mut text = String::new();
    write(&mut text, value);
    text
}

fn write(out: &mut String, value: &Value) {
    match value {
        Value::Object(values) => {
            let first = FIRST.iter().filter_map(|key| values.get_key_value(*key));
            let rest = values
                .iter()
                .filter(|(key, _)| !FIRST.contains(&key.as_str()));
            out.push('{');
            for (at, (key, value)) in first.chain(rest).enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_string(out, key);
                out.push(':');
                write(out, value);
            }
            out.push('}');
        }
        Value::Array(values) => {
            out.push('[');
            for (at, value) in values.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(out, value);
            }
            out.push(']');
        }
        Value::String(text) => write_string(out, text),
        Value::Null | Value::Bool(_) | Value::Number(_) => *out += &value.to_string(),
    }
}

/// A string in quotes. Each character that a terminal does not show is written as `\uXXXX`, which a
/// program reads as that character.
fn write_string(out: &mut String, text: &str) {
    let quoted = Value::from(text).to_string();
    if quoted.chars().all(is_visible) {
        *out += &quoted;
        return;
    }
    for c in quoted.chars() {
        if is_visible(c) {
            out.push(c);
        } else {
            c.encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|unit| *out += &format!("\\u{unit:04x}"));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    #[test]
    fn a_program_reads_every_character_and_a_terminal_sees_none_that_acts() {
        let odd = json!("\u{1b}\u{e0041}\u{7f}");
        assert!(to_text(&odd).chars().all(is_visible));
        assert_eq!(serde_json::from_str::<Value>(&to_text(&odd)).unwrap(), odd);
    }
}

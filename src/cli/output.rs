//! What the commands print: text for people on stdout, errors on stderr, JSON alone with `--json`.

use lab_core::runner::follow::Batch;
use lab_protocol::Exit;
use lab_protocol::report::parse;
use lab_protocol::text::{escape_invisible, is_visible};
use serde_json::{Value, json};
use std::io::Write;
use std::process::ExitCode;

pub fn code(exit: Exit) -> ExitCode {
    ExitCode::from(exit as u8)
}

/// Prints lines on stdout. File names, branches and messages in them come from outside, so control characters and the like
/// are printed as their numbers, as in run.log. A closed pipe (`lab log | head`) is no error.
pub fn say(text: &str) {
    say_as_it_is(&printable(text));
}

/// Prints text on stdout that `lab` styled itself, or that a program reads.
pub fn say_as_it_is(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}

/// Prints lines on stderr, as [`say`] does.
pub fn complain(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "lab: {}", printable(text));
}

fn printable(text: &str) -> String {
    text.split('\n').map(escape_invisible).collect::<Vec<_>>().join("\n")
}

/// Prints the answer of a `--json` command: nothing else goes to stdout.
pub fn say_json(value: &Value) {
    say_as_it_is(&printable_json(value));
}

/// [`say_json`] of an object with one more key, a list that may be too long for memory.
pub fn say_json_with_list(object: &Value, key: &str, items: impl Iterator<Item = Value>) {
    let whole = printable_json(object);
    // An object in several lines ends with a line that closes it.
    let open = whole.strip_suffix("\n}").unwrap_or("{");
    let mut text = format!("{open}{}\n  {}: [", if open == "{" { "" } else { "," }, json!(key));
    let mut is_first = true;
    for item in items {
        text.push_str(if is_first { "\n    " } else { ",\n    " });
        text.push_str(&printable_json(&item).replace('\n', "\n    "));
        is_first = false;
        if text.len() > 64 * 1024
            && let Some(end) = text.rfind('\n')
        {
            say_as_it_is(&text[..end]);
            text.drain(..=end);
        }
    }
    text.push_str(if is_first { "]\n}" } else { "\n  ]\n}" });
    say_as_it_is(&text);
}

/// The JSON text of a value in several lines. Characters that a terminal does not show stand in it as `\uXXXX`.
fn printable_json(value: &Value) -> String {
    let whole = format!("{value:#}");
    // A short cut: most text is plain ASCII, and there is much of it.
    if whole.bytes().all(|b| matches!(b, b'\n' | b' '..=b'~')) {
        return whole;
    }
    let mut text = String::new();
    for c in whole.chars() {
        if c == '\n' || is_visible(c) {
            text.push(c);
        } else {
            text.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    text
}

/// Reports why a command failed, with `--json` also as JSON, and returns its exit code.
pub fn failed(json: bool, why: &str, exit: Exit) -> ExitCode {
    if json {
        say_json(&json!({ "error": why, "exit_code": exit as u8 }));
    }
    complain(why);
    code(exit)
}

/// Prints the harness's output as it comes. Series and histograms are for drawing: they are in run.log only.
pub fn say_batch(batch: &Batch) {
    if batch.skipped > 0 {
        say(&format!("… {} lines are in run.log alone", batch.skipped));
    }
    let is_drawn = |key: &str| key.ends_with("_series") || key.ends_with("_histogram");
    let drawn = |text: &str| parse(text).is_some_and(|entry| is_drawn(entry.key));
    batch.lines.iter().filter(|line| !drawn(&line.text)).for_each(|line| say(&line.text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_cannot_steer_a_terminal() {
        assert_eq!(printable("one\ttwo\n\x1b[2J\u{202e}x\u{9b}"), "one\ttwo\n\\u{1b}[2J\\u{202e}x\\u{9b}");
    }

    #[test]
    fn json_says_the_same_to_a_program_and_nothing_to_a_terminal() {
        let value = json!({ "name\u{202e}": "\x1b[2J\u{85}\u{e0041}", "漢": ["é\n"] });
        let text = printable_json(&value);
        assert!(text.chars().all(|c| c == '\n' || is_visible(c)), "{text:?}");
        assert_eq!(serde_json::from_str::<Value>(&text).ok(), Some(value));
    }
}

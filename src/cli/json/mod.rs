//! The objects that commands print with `--json`. docs/json.md explains them, docs/json.schema.json
//! is their schema.

pub mod answer;
pub mod bench;
pub mod decision;
pub mod experiment;
pub mod run;
pub mod schema;
pub mod sweep;

use decision::LastDecision;
use lab_protocol::text::is_visible;
use schemars::JsonSchema;
use serde::Serialize;
use std::io::{self, Write};

/// Version of the schema. A new key does not change it; a key that goes, or means something else,
/// does.
const SCHEMA_VERSION: u32 = 1;

/// The keys of every answer.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Envelope")]
struct Answer<'a, T> {
    /// Version of this schema. A new key does not change it; a key that goes, or means something else,
    /// does.
    #[schemars(extend("const" = SCHEMA_VERSION))]
    schema_version: u32,
    /// The command; `None` if the arguments name no command.
    command: Option<&'a str>,
    /// The exit code of the process.
    exit_code: u8,
    /// Why the command failed; `None` if it did what it was asked for.
    error: Option<&'a str>,
    #[serde(flatten)]
    rest: T,
}

/// Writes an answer in several lines. `rest` serializes to an object. Characters that a terminal
/// does not show stand in it as `\uXXXX`.
pub fn write_answer(
    out: impl Write,
    command: Option<&str>,
    exit_code: u8,
    error: Option<&str>,
    rest: impl Serialize,
) -> io::Result<()> {
    write_value(
        out,
        &Answer {
            schema_version: SCHEMA_VERSION,
            command,
            exit_code,
            error,
            rest,
        },
    )
}

/// Writes any value as JSON in several lines, with the same characters escaped.
pub fn write_value(out: impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut out = Printable(out);
    serde_json::to_writer_pretty(&mut out, value)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// A value as JSON in one line, with the same characters escaped.
pub fn to_line(value: &impl Serialize) -> String {
    to_text(|out| Ok(serde_json::to_writer(Printable(out), value)?))
}

/// What `write` writes, as text.
pub fn to_text(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    // Memory takes every byte, and a report has texts and numbers only.
    let _ = write(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Takes JSON and writes characters that a terminal does not show as `\uXXXX`. JSON has them in
/// strings only, but for the line breaks between its values.
struct Printable<W>(W);

impl<W: Write> Write for Printable<W> {
    /// serde_json hands over whole characters.
    fn write(&mut self, json: &[u8]) -> io::Result<usize> {
        let mut rest = std::str::from_utf8(json).map_err(io::Error::other)?;
        let is_hidden = |c| !is_visible(c) && c != '\n' || matches!(c, '\u{fe00}'..='\u{fe0f}');
        while let Some(at) = rest.find(is_hidden) {
            let (shown, hidden) = rest.split_at(at);
            self.0.write_all(shown.as_bytes())?;
            let mut chars = hidden.chars();
            for unit in chars
                .next()
                .into_iter()
                .flat_map(|c| c.encode_utf16(&mut [0; 2]).to_vec())
            {
                write!(self.0, "\\u{unit:04x}")?;
            }
            rest = chars.as_str();
        }
        self.0.write_all(rest.as_bytes())?;
        Ok(json.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A command that only went on with the decision of a lab that was killed.
#[derive(JsonSchema, Serialize)]
pub struct Resumed<'a> {
    /// What was done.
    pub resumed: &'a str,
    /// What the command asked for is done.
    #[schemars(extend("const" = "completed"))]
    state: &'static str,
    /// The last decision about the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_decision: Option<LastDecision>,
}

impl<'a> Resumed<'a> {
    /// What this command asked for is done. `last_decision` is about its kernel.
    pub fn new(resumed: &'a str, last_decision: Option<LastDecision>) -> Self {
        Resumed {
            resumed,
            state: "completed",
            last_decision,
        }
    }
}

/// Any command that failed, also before it did anything: wrong arguments, no repository, a refusal.
#[derive(JsonSchema, Serialize)]
pub struct Nothing {}

#[cfg(test)]
mod tests {
    use super::*;
    use lab_protocol::console::is_clean;
    use serde_json::{Value, json};

    #[test]
    fn json_says_the_same_to_a_program_and_nothing_to_a_terminal() {
        let text = "\x1b[2J\u{85}\u{e0041}\u{202e}\t\"\\\n\u{7f}";
        let value = json!({ "name\u{202e}\x1b": text, "漢": ["é\n", [], {}] });
        let mut out = Vec::new();
        write_answer(&mut out, Some("run"), 3, Some(text), &value).expect("memory takes it");
        let out = String::from_utf8(out).expect("text");
        assert!(is_clean(&out) && !out.contains('\t'), "{out:?}");
        let read: Value = serde_json::from_str(&out).expect("JSON");
        assert_eq!((&read["error"], &read["漢"]), (&json!(text), &value["漢"]));
        assert_eq!(read["name\u{202e}\x1b"], value["name\u{202e}\x1b"]);
        assert!(
            out.starts_with("{\n  \"schema_version\": 1,\n  \"command\": \"run\""),
            "{out}"
        );
    }
}

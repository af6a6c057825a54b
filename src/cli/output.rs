//! What the commands print: text for people on stdout, errors on stderr, JSON alone with `--json`.

use lab_core::runner::follow::Batch;
use lab_protocol::Exit;
use lab_protocol::report::parse;
use serde_json::{Value, json};
use std::io::Write;
use std::process::ExitCode;

pub fn code(exit: Exit) -> ExitCode {
    ExitCode::from(exit as u8)
}

/// Prints one line on stdout. A closed pipe (`lab log | head`) is no error.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}

/// Prints one line on stderr.
pub fn complain(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "lab: {text}");
}

/// Prints the answer of a `--json` command: nothing else goes to stdout.
pub fn say_json(value: &Value) {
    say(&format!("{value:#}"));
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

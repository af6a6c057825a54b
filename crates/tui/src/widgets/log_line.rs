//! A line of run.log with its colours.

use crate::line_layout::{StyledRange, layout_line};
use crate::search_highlight::find_all;
use crate::theme::style::{ACCENT, BAD, GOOD, MATCH, QUIET, TEXT, WARN};
use lab_protocol::report::{first_word, parse};
use lab_text::sanitise::LogLine;
use ratatui::prelude::*;

/// The visible part of a line: the columns from `left` on. The key of a result line is dim, search
/// matches are highlighted.
pub fn paint(line: &LogLine, left: usize, columns: usize, needle: &str) -> Line<'static> {
    let text = &line.text;
    let colon = text.find(':').filter(|_| line.result);
    let parts = colon.map_or_else(Vec::new, |at| {
        vec![(0..at + 1, QUIET), (at + 1..text.len(), value_style(text))]
    });
    let found: Vec<StyledRange> = find_all(text, needle)
        .into_iter()
        .map(|range| (range, MATCH))
        .collect();
    layout_line(text, base(line), &[&parts, &found], left, columns).into()
}

fn base(line: &LogLine) -> Style {
    let text = line.text.as_str();
    if line.result {
        return TEXT;
    }
    if text.contains("error:") || text.contains(": error") {
        BAD
    } else if text.contains("warning:") || text.contains(": warning") {
        WARN
    } else if text.starts_with('|') || text.starts_with('…') {
        QUIET
    } else {
        TEXT
    }
}

fn value_style(text: &str) -> Style {
    match parse(text) {
        Some(entry) if entry.key == "stage" => ACCENT,
        Some(entry) if entry.key == "correctness" && first_word(entry.value) == "pass" => GOOD,
        Some(entry) if entry.key == "correctness" => BAD,
        Some(entry) if entry.key == "caveat" => WARN,
        _ => TEXT,
    }
}

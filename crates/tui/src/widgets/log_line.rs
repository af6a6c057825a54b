//! A line of run.log with its colours.

use crate::search_highlight::find_all;
use crate::text::slice;
use crate::theme::style::{ACCENT, BAD, GOOD, MATCH, Meaning, QUIET, TEXT, WARN};
use lab_protocol::report::{first_word, parse};
use lab_text::sanitise::LogLine;
use ratatui::prelude::*;

/// The visible part of a line: the columns from `left` on. The key of a result line is dim, search
/// matches are highlighted.
pub fn paint<'a>(line: &'a LogLine, left: usize, columns: usize, needle: &str) -> Vec<Span<'a>> {
    let text = &line.text;
    let matches = find_all(text, needle);
    if !matches.is_empty() {
        let mut spans = Vec::new();
        let mut at = 0;
        for range in matches {
            spans.push(Span::styled(&text[at..range.start], base(line)));
            spans.push(Span::styled(&text[range.clone()], MATCH));
            at = range.end;
        }
        spans.push(Span::styled(&text[at..], base(line)));
        return cut(spans, left, columns);
    }
    if line.result
        && left == 0
        && let Some((key, value)) = text.split_once(':')
    {
        let value_style = value_style(text);
        let room = columns.saturating_sub(key.len() + 1);
        return vec![
            slice(key, 0, columns).quiet(),
            ":".quiet(),
            Span::styled(slice(value, 0, room), value_style),
        ];
    }
    vec![Span::styled(slice(text, left, columns), base(line))]
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

/// Columns `left..left + columns` of styled text.
fn cut(spans: Vec<Span<'_>>, mut left: usize, mut columns: usize) -> Vec<Span<'_>> {
    let mut out = Vec::new();
    for span in spans {
        let width = span.width();
        if left >= width {
            left -= width;
            continue;
        }
        let part = slice(&span.content, left, columns).into_owned();
        left = 0;
        columns = columns.saturating_sub(crate::text::width(&part));
        out.push(Span::styled(part, span.style));
        if columns == 0 {
            break;
        }
    }
    out
}

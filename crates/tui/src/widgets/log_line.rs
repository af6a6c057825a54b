//! A line of run.log with its colours.

use crate::search_highlight::find_all;
use crate::text::slice;
use crate::theme::Theme;
use lab_protocol::report::{first_word, parse};
use lab_text::sanitise::LogLine;
use ratatui::prelude::*;

/// The visible part of a line: the columns from `left` on. The key of a result line is dim, search
/// matches are highlighted.
pub fn paint<'a>(
    line: &'a LogLine,
    left: usize,
    columns: usize,
    needle: &str,
    theme: &Theme,
) -> Vec<Span<'a>> {
    let text = &line.text;
    let matches = find_all(text, needle);
    if !matches.is_empty() {
        let mut spans = Vec::new();
        let mut at = 0;
        for range in matches {
            spans.push(Span::styled(&text[at..range.start], base(line, theme)));
            spans.push(Span::styled(&text[range.clone()], theme.search_match()));
            at = range.end;
        }
        spans.push(Span::styled(&text[at..], base(line, theme)));
        return cut(spans, left, columns);
    }
    if line.result
        && left == 0
        && let Some((key, value)) = text.split_once(':')
    {
        let value_style = value_style(text, theme);
        let room = columns.saturating_sub(key.len() + 1);
        return vec![
            Span::styled(slice(key, 0, columns), theme.quiet()),
            Span::styled(":", theme.quiet()),
            Span::styled(slice(value, 0, room), value_style),
        ];
    }
    vec![Span::styled(slice(text, left, columns), base(line, theme))]
}

fn base(line: &LogLine, theme: &Theme) -> Style {
    let text = line.text.as_str();
    if line.result {
        return theme.text();
    }
    if text.contains("error:") || text.contains(": error") {
        theme.bad()
    } else if text.contains("warning:") || text.contains(": warning") {
        theme.warn()
    } else if text.starts_with('|') || text.starts_with('…') {
        theme.quiet()
    } else {
        theme.text()
    }
}

fn value_style(text: &str, theme: &Theme) -> Style {
    match parse(text) {
        Some(entry) if entry.key == "stage" => theme.accent(),
        Some(entry) if entry.key == "correctness" && first_word(entry.value) == "pass" => {
            theme.good()
        }
        Some(entry) if entry.key == "correctness" => theme.bad(),
        Some(entry) if entry.key == "caveat" => theme.warn(),
        _ => theme.text(),
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

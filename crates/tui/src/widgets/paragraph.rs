//! Text as lines of a pane.

use crate::text::{end_within, pad, printable, width, wrap};
use crate::theme::style::{Meaning, QUIET, TEXT};
use ratatui::prelude::*;
use std::borrow::Borrow;
use std::iter::{once, repeat};

pub type Lines = Vec<Line<'static>>;

/// A text in one style, wrapped to so many columns.
pub fn paragraph(text: &str, columns: usize, style: Style) -> Lines {
    prefixed("", text, columns, style)
}

/// A paragraph whose rows begin with a prefix.
pub fn prefixed(prefix: &str, text: &str, columns: usize, style: Style) -> Lines {
    let rows = wrap(&printable(text), columns.saturating_sub(width(prefix)));
    let line = |row| Line::styled(format!("{prefix}{row}"), style);
    rows.into_iter().map(line).collect()
}

/// Rows of which the first has a head; the others are indented by as much.
pub fn hanging(head: Span<'static>, rows: Vec<String>, style: Style) -> Lines {
    let indent = Span::raw(" ".repeat(head.width()));
    let heads = once(head).chain(repeat(indent));
    heads
        .zip(rows)
        .map(|(head, row)| Line::from(vec![head, Span::styled(row, style)]))
        .collect()
}

/// A dim label and a text beside it, which is wrapped to the rest of the columns.
pub fn labelled(label: &str, label_columns: usize, text: &str, columns: usize) -> Lines {
    let rows = wrap(&printable(text), columns.saturating_sub(label_columns + 4));
    let label = format!("  {}  ", pad(label, label_columns));
    hanging(label.quiet(), rows, TEXT)
}

/// Facts side by side, without the empty ones.
pub fn joined<T: Borrow<str>>(parts: impl IntoIterator<Item = T>) -> String {
    let parts = parts.into_iter().filter(|part| !part.borrow().is_empty());
    parts.collect::<Vec<_>>().join(" · ")
}

/// Facts side by side in a dim, indented row; `None` without any.
pub fn quiet_facts(facts: impl IntoIterator<Item = String>) -> Option<Line<'static>> {
    let facts = joined(facts);
    (!facts.is_empty()).then(|| Line::styled(format!("  {facts}"), QUIET))
}

/// Cuts a line to so many columns. If more than blanks are cut off, the last column says so.
pub fn fit_line(line: &mut Line, columns: usize) {
    let Some((span, end)) = cut_at(line, columns) else {
        return;
    };
    let behind = line.spans[span + 1..].iter().map(|span| &*span.content);
    let mut rest = std::iter::once(&line.spans[span].content[end..]).chain(behind);
    if rest.all(|part| part.trim_start().is_empty()) {
        return;
    }
    let (span, end) = cut_at(line, columns.saturating_sub(1)).unwrap_or_default();
    line.spans.truncate(span + 1);
    if let Some(last) = line.spans.last_mut().filter(|_| columns > 0) {
        last.content = format!("{}…", &last.content[..end]).into();
    } else {
        line.spans.clear();
    }
}

/// The span in which a line exceeds so many columns, and the length of the part that fits. Only the
/// part that fits is measured: a line may be very long.
fn cut_at(line: &Line, columns: usize) -> Option<(usize, usize)> {
    let mut room = columns;
    line.spans.iter().enumerate().find_map(|(at, span)| {
        let end = end_within(&span.content, room);
        room -= width(&span.content[..end]).min(room);
        (end < span.content.len()).then_some((at, end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_goes_on_beyond_the_border_has_a_mark() {
        let cut = |parts: &[&'static str], columns| {
            let mut line = Line::from_iter(parts.iter().map(|part| Span::raw(*part)));
            fit_line(&mut line, columns);
            line.to_string()
        };
        assert_eq!(cut(&["abc", "def"], 6), "abcdef");
        assert_eq!(cut(&["abc", "def"], 5), "abcd…");
        // Also where the border is between two parts.
        assert_eq!(cut(&["abc", "def"], 3), "ab…");
        assert_eq!(cut(&["abc", "def"], 4), "abc…");
        assert_eq!(cut(&["漢字", "か"], 4), "漢…");
        assert_eq!(cut(&["abc", ""], 3), "abc");
        assert_eq!(cut(&["abc"], 0), "");
        // Blanks are cut off by the border itself.
        assert_eq!(cut(&["abc ", "  "], 3), "abc   ");
    }
}

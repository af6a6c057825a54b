//! Text as lines of a pane.

use crate::text::{fit, pad, printable, width, wrap};
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

/// Cuts a line to so many columns.
pub fn fit_line(line: &mut Line<'static>, columns: usize) {
    let mut room = columns;
    for span in &mut line.spans {
        let cut = fit(&span.content, room);
        room = room.saturating_sub(width(&span.content));
        span.content = cut.into();
    }
}

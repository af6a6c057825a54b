//! Text as lines of a pane.

use crate::text::{fit, pad, printable, width, wrap};
use crate::theme::Theme;
use ratatui::prelude::*;

pub type Lines = Vec<Line<'static>>;

/// A text in one style, wrapped to so many columns.
pub fn paragraph(text: &str, columns: usize, style: Style) -> Lines {
    let rows = wrap(&printable(text), columns).into_iter();
    rows.map(|row| Line::styled(row, style)).collect()
}

/// A paragraph whose rows begin with a prefix.
pub fn prefixed(prefix: &str, text: &str, columns: usize, style: Style) -> Lines {
    let rows = wrap(&printable(text), columns.saturating_sub(width(prefix)));
    let line = |row| Line::styled(format!("{prefix}{row}"), style);
    rows.into_iter().map(line).collect()
}

/// A dim label and a text beside it, which is wrapped to the rest of the columns.
pub fn labelled(
    label: &str,
    label_columns: usize,
    text: &str,
    columns: usize,
    theme: &Theme,
) -> Lines {
    let rows = wrap(&printable(text), columns.saturating_sub(label_columns + 4));
    let line = |(at, row)| {
        let label = if at == 0 { label } else { "" };
        let label = format!("  {}  ", pad(label, label_columns));
        Line::from(vec![
            Span::styled(label, theme.quiet()),
            Span::styled(row, theme.text()),
        ])
    };
    rows.into_iter().enumerate().map(line).collect()
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

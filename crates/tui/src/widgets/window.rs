//! The box of a dialog, and what is drawn into it.

use super::{draw_rows, joined, row_of};
use crate::text::fit;
use crate::theme::style::{ACCENT, KEY, QUIET, SCREEN};
use ratatui::prelude::*;
use ratatui::widgets::{Block, BorderType, Clear, Padding};

/// Columns of a dialog, where the screen has them.
pub const COLUMNS: u16 = 84;
/// Columns of a dialog with long lines.
pub const WIDE: u16 = 104;

/// Columns of the text in a dialog of so many columns.
pub fn text_columns(area: Rect, columns: u16) -> usize {
    usize::from(area.width.saturating_sub(8).min(columns - 4))
}

/// Draws a box of at most so many columns and rows into the upper middle of `area`. Returns the
/// area inside.
pub fn draw_window(
    frame: &mut Frame,
    area: Rect,
    title: &str,
    (columns, rows): (u16, usize),
) -> Rect {
    let columns = area.width.saturating_sub(4).min(columns);
    let rows = (rows as u16 + 2).min(area.height);
    let place = Rect {
        x: area.x + (area.width - columns) / 2,
        y: area.y + (area.height - rows) / 3,
        width: columns,
        height: rows,
    };
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(ACCENT)
        .style(SCREEN)
        .title(Span::styled(format!(" {title} "), KEY))
        .padding(Padding::horizontal(1));
    let inner = block.inner(place);
    frame.render_widget(Clear, place);
    frame.render_widget(block, place);
    inner
}

/// Draws lines from a row on, or from the last one that fills the area. Returns the first visible
/// row.
pub fn draw_scrolled(frame: &mut Frame, area: Rect, lines: Vec<Line>, row: usize) -> usize {
    let first = row.min(lines.len().saturating_sub(usize::from(area.height)));
    draw_rows(frame, area, lines.into_iter().skip(first));
    first
}

/// Draws what the keys of a window do into its lower border.
pub fn draw_hints(frame: &mut Frame, area: Rect, inner: Rect, hints: Vec<String>) {
    if inner.bottom() < area.bottom() {
        let hint = fit(&format!(" {} ", joined(hints)), usize::from(inner.width));
        let line = Line::styled(hint, QUIET).right_aligned();
        frame.render_widget(line, row_of(inner, inner.bottom()));
    }
}

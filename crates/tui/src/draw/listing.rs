//! The window with a list that is only read, as the machine code of a line. It scrolls.

use super::dialog::Dialog;
use crate::keymap::Action;
use crate::text::fit;
use crate::widgets::window::draw_window;
use ratatui::prelude::*;
use ratatui::widgets::Paragraph;

/// Columns of the window, where the screen has them: instructions are long.
const COLUMNS: u16 = 104;

/// Columns of the text on this screen.
pub(super) fn columns(area: Rect) -> usize {
    usize::from(area.width.saturating_sub(8).min(COLUMNS - 4))
}

/// Draws the rows from this one on, or from the last one that fills the window. Returns the first
/// visible row.
pub(super) fn draw(
    dialog: &Dialog,
    frame: &mut Frame,
    area: Rect,
    (title, rows): (&str, &[String]),
    scroll: usize,
) -> usize {
    let (theme, keymap) = (dialog.theme(), &dialog.model.appearance.keymap);
    let inner = draw_window(frame, area, title, (COLUMNS, rows.len()), theme);
    let height = usize::from(inner.height);
    let last = rows.len().saturating_sub(height);
    let first = scroll.min(last);
    let shown = rows.iter().skip(first).map(|row| Line::raw(row.as_str()));
    frame.render_widget(Paragraph::new(shown.collect::<Vec<_>>()), inner);
    let hints = Rect {
        y: inner.bottom(),
        height: 1,
        ..inner
    };
    if hints.y < area.bottom() {
        let mut parts = Vec::new();
        if last > 0 {
            let seen = (first + height).min(rows.len());
            parts.push(format!("rows {} to {seen} of {}", first + 1, rows.len()));
            parts.push(format!(
                "{} and {} scroll",
                keymap.way(Action::Up),
                keymap.way(Action::Down)
            ));
        }
        parts.push(format!("{} closes", keymap.way(Action::Close)));
        let hint = format!(" {} ", parts.join(" · "));
        let hint = fit(&hint, usize::from(inner.width));
        frame.render_widget(Line::styled(hint, theme.quiet()).right_aligned(), hints);
    }
    first
}

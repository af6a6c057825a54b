//! The rows of a pane that is a plain text.

use super::{PaneSlot, ScrolledText};
use crate::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

/// Draws the rows into `area`, the first visible one on top. Returns the text as it fits.
pub fn draw_text(
    frame: &mut Frame,
    slot: PaneSlot,
    area: Rect,
    rows: Vec<Line<'static>>,
    text: ScrolledText,
    theme: &Theme,
) -> ScrolledText {
    let text = text.fit(
        usize::from(area.width),
        usize::from(area.height),
        rows.len(),
    );
    let visible = rows.into_iter().enumerate().skip(text.first());
    for ((at, line), y) in visible.zip(area.top()..area.bottom()) {
        let line = slot.text_row(line, text.marked() == Some(at), theme);
        frame.render_widget(
            line,
            Rect {
                y,
                height: 1,
                ..area
            },
        );
    }
    text
}

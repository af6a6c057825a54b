//! A line that is typed into.

use crate::line_layout::layout_line;
use crate::text::width;
use crate::theme::style::Meaning;
use ratatui::prelude::*;
use tui_input::Input;

/// Draws the part of the line around the cursor, and puts the terminal's cursor into it.
pub fn draw_input(frame: &mut Frame, area: Rect, prompt: &str, input: &Input) {
    let room = usize::from(area.width).saturating_sub(width(prompt) + 1);
    let from = input.visual_scroll(room);
    let mut line = Line::from(prompt.to_owned().key());
    line.extend(layout_line(
        input.value(),
        Style::new(),
        &[],
        from,
        room + 1,
    ));
    frame.render_widget(line, area);
    let column = width(prompt) + input.visual_cursor().saturating_sub(from);
    frame.set_cursor_position(cursor(area, column));
}

/// The cell of the cursor, which stays inside `area`.
fn cursor(area: Rect, columns: usize) -> Position {
    let column = u16::try_from(columns).unwrap_or(u16::MAX);
    Position::new(
        area.x
            .saturating_add(column)
            .min(area.right().saturating_sub(1)),
        area.y,
    )
}

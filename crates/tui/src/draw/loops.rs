//! The view Loop: the loop and its verdicts on the left, the edit and the command's output on the
//! right. On a smaller screen the loop is above, and the focused one of the other panes below.

use super::PanePainter;
use crate::panes::loops::status;
use crate::views::Pane;
use crate::views::split::{Split, half};
use ratatui::layout::{Direction, Rect};

pub(super) fn draw(painter: &mut PanePainter, area: Rect, is_large: bool) {
    if !is_large {
        let focus = painter.model.panes.focus();
        let other = if focus == Pane::Loop {
            Pane::Edit
        } else {
            focus
        };
        let above = wanted(painter, area.width).clamp(5, area.height * 6 / 10);
        let [top, bottom] = painter.cut(Split::LoopStack, Direction::Vertical, area, above, 0);
        painter.draw_pane(top, Pane::Loop);
        painter.draw_pane(bottom, other);
        return;
    }
    let [left, right] = painter.cut(
        Split::LoopColumns,
        Direction::Horizontal,
        area,
        half(area.width, 1),
        1,
    );
    let above = wanted(painter, left.width).clamp(8, area.height * 2 / 3);
    let [status, verdicts] = painter.cut(Split::LoopLeft, Direction::Vertical, left, above, 0);
    let above = area.height * 2 / 3;
    let [edit, command] = painter.cut(Split::LoopRight, Direction::Vertical, right, above, 0);
    painter.draw_pane(status, Pane::Loop);
    painter.draw_pane(edit, Pane::Edit);
    painter.draw_pane(verdicts, Pane::Verdicts);
    painter.draw_pane(command, Pane::Command);
}

/// Rows that the pane Loop would fill in so many columns, its title included.
fn wanted(painter: &PanePainter, columns: u16) -> u16 {
    let rows = status::rows(painter.model.data(), usize::from(columns.saturating_sub(2)));
    u16::try_from(rows.len() + 1).unwrap_or(u16::MAX)
}

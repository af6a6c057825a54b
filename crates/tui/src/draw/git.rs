//! The view Git: the log above, the selected commit below; side by side where there is room.

use super::PanePainter;
use crate::views::Pane;
use crate::views::split::{Split, half};
use ratatui::layout::{Direction, Rect};

/// Least columns for both panes side by side.
const WIDE: u16 = 140;

pub(super) fn draw(painter: &mut PanePainter, area: Rect) {
    let [first, second] = match area.width >= WIDE {
        true => painter.cut(
            Split::Git,
            Direction::Horizontal,
            area,
            half(area.width, 1),
            1,
        ),
        false => painter.cut(
            Split::Git,
            Direction::Vertical,
            area,
            half(area.height, 0),
            0,
        ),
    };
    painter.draw_pane(first, Pane::Graph);
    painter.draw_pane(second, Pane::Commit);
}

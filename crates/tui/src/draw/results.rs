//! The view Results: the table above, the details of one experiment below; side by side where all columns of the table
//! fit beside them.

use super::PanePainter;
use crate::views::Pane;
use crate::views::split::Split;
use ratatui::layout::{Direction, Rect};

/// Least columns for both panes side by side.
const WIDE: u16 = 190;

pub(super) fn draw(painter: &mut PanePainter, area: Rect) {
    let [first, second] = match area.width >= WIDE {
        true => painter.cut(Split::Results, Direction::Horizontal, area, area.width * 14 / 25, 1),
        false => painter.cut(Split::Results, Direction::Vertical, area, area.height * 9 / 20, 0),
    };
    painter.draw_pane(first, Pane::Experiments);
    painter.draw_pane(second, Pane::Experiment);
}

//! The view Device: the device's state over time, and the kernel as built.

use super::PanePainter;
use crate::views::Pane;
use crate::views::split::{Split, half};
use ratatui::layout::{Direction, Rect};

/// Least columns for both panes side by side.
const WIDE: u16 = 140;

pub(super) fn draw(painter: &mut PanePainter, area: Rect) {
    let [first, second] = match area.width >= WIDE {
        true => painter.cut(Split::Device, Direction::Horizontal, area, half(area.width, 1), 1),
        false => painter.cut(Split::Device, Direction::Vertical, area, half(area.height, 0), 0),
    };
    painter.draw_pane(first, Pane::Gauges);
    painter.draw_pane(second, Pane::Build);
}

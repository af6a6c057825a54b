//! The view Device: the device's state over time, the kernel as built, and its profile.

use super::PanePainter;
use crate::views::Pane;
use crate::views::split::{Split, half};
use ratatui::layout::{Direction, Rect};

/// Least columns for the profile beside the other panes.
const WIDE: u16 = 140;

/// Least rows for all panes in one column.
const HIGH: u16 = 36;

pub(super) fn draw(painter: &mut PanePainter, area: Rect) {
    let (others, profile) = match (area.width >= WIDE, area.height >= HIGH) {
        (true, _) => {
            let parts = painter.cut(Split::Device, Direction::Horizontal, area, half(area.width, 1), 1);
            (parts[0], Some(parts[1]))
        }
        (false, true) => {
            let parts = painter.cut(Split::Device, Direction::Vertical, area, area.height / 2, 0);
            (parts[0], Some(parts[1]))
        }
        // Too low for three: the lower part shows the one that has the focus.
        (false, false) => (area, None),
    };
    let first = half(others.height, 0);
    let [gauges, build] = painter.cut(Split::DeviceLeft, Direction::Vertical, others, first, 0);
    painter.draw_pane(gauges, Pane::Gauges);
    match profile {
        Some(profile) => {
            painter.draw_pane(build, Pane::Build);
            painter.draw_pane(profile, Pane::Profile);
        }
        None if painter.model.panes.focus() == Pane::Profile => painter.draw_pane(build, Pane::Profile),
        None => painter.draw_pane(build, Pane::Build),
    }
}

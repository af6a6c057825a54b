//! The view Device: the device's state over time, the kernel as built, and its profile.

use super::PanePainter;
use crate::views::Pane;
use crate::views::split::{Split, half};
use ratatui::layout::{Direction, Rect};

/// Least columns for the device beside the other panes.
const WIDE: u16 = 140;

/// Least rows for all panes in one column.
const HIGH: u16 = 36;

/// Most rows of the kernel as built above the profile.
const BUILD: u16 = 17;

pub(super) fn draw(painter: &mut PanePainter, area: Rect) {
    let [gauges, others] = match area.width >= WIDE {
        true => painter.cut(
            Split::Device,
            Direction::Horizontal,
            area,
            half(area.width, 1),
            1,
        ),
        false => {
            let rows = if area.height >= HIGH {
                area.height / 3
            } else {
                half(area.height, 0)
            };
            painter.cut(Split::Device, Direction::Vertical, area, rows, 0)
        }
    };
    painter.draw_pane(gauges, Pane::Gauges);
    if area.width < WIDE && area.height < HIGH {
        // Too low for three: the lower part shows the one that has the focus.
        let is_profile = painter.model.panes.focus() == Pane::Profile;
        painter.draw_pane(
            others,
            if is_profile {
                Pane::Profile
            } else {
                Pane::Build
            },
        );
        return;
    }
    let rows = (others.height * 2 / 5).min(BUILD);
    let [build, profile] = painter.cut(Split::DeviceBuild, Direction::Vertical, others, rows, 0);
    painter.draw_pane(build, Pane::Build);
    painter.draw_pane(profile, Pane::Profile);
}

//! Device: its state over time, and the kernel as built.

use super::super::app::App;
use super::super::panes::{Pane, draw_pane};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};

/// From so many columns on the two stand side by side.
const WIDE: u16 = 140;

pub fn draw(frame: &mut Frame, area: Rect, app: &mut App) {
    let halves = [Constraint::Fill(1), Constraint::Fill(1)];
    let [first, second] = match area.width >= WIDE {
        true => Layout::horizontal(halves).spacing(1).areas(area),
        false => Layout::vertical(halves).areas(area),
    };
    draw_pane(frame, first, app, Pane::Gauges);
    draw_pane(frame, second, app, Pane::Build);
}

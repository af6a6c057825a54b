//! Source: one pane, the whole room.

use super::super::app::App;
use super::super::panes::{Pane, draw_pane};
use ratatui::Frame;
use ratatui::layout::Rect;

pub fn draw(frame: &mut Frame, area: Rect, app: &mut App) {
    draw_pane(frame, area, app, Pane::Source);
}

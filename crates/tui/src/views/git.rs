//! Git: the log above, the selected commit below; side by side where there is room.

use super::super::app::App;
use super::super::panes::{Pane, draw_pane};
use super::split::{Split, cut, half};
use ratatui::Frame;
use ratatui::layout::{Direction, Rect};

/// From so many columns on the two stand side by side.
const WIDE: u16 = 140;

pub fn draw(frame: &mut Frame, area: Rect, app: &mut App) {
    let [first, second] = match area.width >= WIDE {
        true => cut(&mut app.panes, Split::Git, Direction::Horizontal, area, half(area.width, 1), 1),
        false => cut(&mut app.panes, Split::Git, Direction::Vertical, area, half(area.height, 0), 0),
    };
    draw_pane(frame, first, app, Pane::Graph);
    draw_pane(frame, second, app, Pane::Commit);
}

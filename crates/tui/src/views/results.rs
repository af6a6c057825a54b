//! Results: the table above, the chosen experiment whole below; side by side where there is room for all columns of
//! the table beside it.

use super::super::app::App;
use super::super::panes::{Pane, draw_pane};
use super::split::{Split, cut};
use ratatui::Frame;
use ratatui::layout::{Direction, Rect};

/// From so many columns on the two stand side by side.
const WIDE: u16 = 190;

pub fn draw(frame: &mut Frame, area: Rect, app: &mut App) {
    let [first, second] = match area.width >= WIDE {
        true => cut(&mut app.panes, Split::Results, Direction::Horizontal, area, area.width * 14 / 25, 1),
        false => cut(&mut app.panes, Split::Results, Direction::Vertical, area, area.height * 9 / 20, 0),
    };
    draw_pane(frame, first, app, Pane::Experiments);
    draw_pane(frame, second, app, Pane::Experiment);
}

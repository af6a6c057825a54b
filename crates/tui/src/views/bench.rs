//! Bench: left what is right, right what is fast. On a smaller screen Correctness is above, and the
//! focused one of the others below.

use super::super::app::App;
use super::super::panes::{Pane, correctness_rows, draw_pane};
use super::split::{Split, cut};
use ratatui::Frame;
use ratatui::layout::{Direction, Rect};

pub fn draw(frame: &mut Frame, area: Rect, app: &mut App, is_large: bool) {
    if is_large {
        draw_four(frame, area, app);
        return;
    }
    let focus = app.panes.focus();
    let other = if focus == Pane::Correctness { Pane::Log } else { focus };
    let wanted = correctness_rows(app) as u16 + 1;
    let above = wanted.clamp(5, area.height / 2);
    let [top, bottom] = cut(&mut app.panes, Split::BenchStack, Direction::Vertical, area, above, 0);
    draw_pane(frame, top, app, Pane::Correctness);
    draw_pane(frame, bottom, app, other);
}

/// All four: left what is right, right what is fast.
fn draw_four(frame: &mut Frame, area: Rect, app: &mut App) {
    let first = area.width * 44 / 100;
    let [left, right] = cut(&mut app.panes, Split::BenchColumns, Direction::Horizontal, area, first, 1);
    let bar = Rect { x: left.right(), width: 1, ..area };
    let wanted = correctness_rows(app) as u16 + 1;
    let half = area.height / 2;
    // What does not need its half leaves it to the other.
    let upper_left = wanted.clamp(half, (area.height * 3 / 4).max(half));
    let [correctness, commits] =
        cut(&mut app.panes, Split::BenchLeft, Direction::Vertical, left, upper_left, 0);
    let [history, log] = cut(&mut app.panes, Split::BenchRight, Direction::Vertical, right, half, 0);
    for (pane, area) in [
        (Pane::Correctness, correctness),
        (Pane::History, history),
        (Pane::Commits, commits),
        (Pane::Log, log),
    ] {
        draw_pane(frame, area, app, pane);
    }
    draw_bar(frame, bar, app, &[commits.y, log.y]);
}

/// The line between left and right, with a joint where a pane's title meets it.
fn draw_bar(frame: &mut Frame, area: Rect, app: &App, titles: &[u16]) {
    let style = app.theme.quiet();
    for y in area.top()..area.bottom() {
        let sign = match (y == area.top(), titles.iter().filter(|t| **t == y).count()) {
            (true, _) => "┬",
            (false, 0) => "│",
            (false, 2..) => "┼",
            (false, _) if titles.first() == Some(&y) => "┤",
            (false, _) => "├",
        };
        frame.buffer_mut().set_string(area.x, y, sign, style);
    }
}

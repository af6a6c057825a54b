//! Bench: left what is right, right what is fast. On a smaller screen Correctness is above, and the
//! focused one of the others below.

use super::super::app::App;
use super::super::panes::{Pane, correctness_rows, draw_pane};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};

pub fn draw(frame: &mut Frame, area: Rect, app: &mut App, is_large: bool) {
    if is_large {
        draw_four(frame, area, app);
        return;
    }
    let focus = app.panes.focus();
    let other = if focus == Pane::Correctness { Pane::Log } else { focus };
    let wanted = correctness_rows(app) as u16 + 1;
    let above = wanted.clamp(5, area.height / 2);
    let [top, bottom] = Layout::vertical([Constraint::Length(above), Constraint::Fill(1)]).areas(area);
    draw_pane(frame, top, app, Pane::Correctness);
    draw_pane(frame, bottom, app, other);
}

/// All four: left what is right, right what is fast.
fn draw_four(frame: &mut Frame, area: Rect, app: &mut App) {
    let [left, bar, right] =
        Layout::horizontal([Constraint::Percentage(44), Constraint::Length(1), Constraint::Fill(1)])
            .areas(area);
    let wanted = correctness_rows(app) as u16 + 1;
    let half = area.height / 2;
    // What does not need its half leaves it to the other.
    let upper_left = wanted.clamp(half, (area.height * 3 / 4).max(half));
    let [correctness, commits] =
        Layout::vertical([Constraint::Length(upper_left), Constraint::Fill(1)]).areas(left);
    let [history, log] = Layout::vertical([Constraint::Length(half), Constraint::Fill(1)]).areas(right);
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

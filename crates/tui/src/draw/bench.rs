//! The view Bench: correctness on the left, speed on the right, with the workloads if there are
//! several. On a smaller screen Correctness is above, and the focused one of the other panes below.

use super::PanePainter;
use crate::panes::correctness;
use crate::theme::Theme;
use crate::views::Pane;
use crate::views::split::Split;
use ratatui::prelude::*;

pub(super) fn draw(painter: &mut PanePainter, area: Rect, is_large: bool) {
    if is_large {
        draw_four(painter, area);
        return;
    }
    let focus = painter.model.panes.focus();
    let other = if focus == Pane::Correctness {
        Pane::Log
    } else {
        focus
    };
    let above = wanted(painter).clamp(5, area.height / 2);
    let [top, bottom] = painter.cut(Split::BenchStack, Direction::Vertical, area, above, 0);
    painter.draw_pane(top, Pane::Correctness);
    painter.draw_pane(bottom, other);
}

/// Rows that the pane Correctness would fill, its title included.
fn wanted(painter: &PanePainter) -> u16 {
    correctness::lines(painter.model.data(), 60).len() as u16 + 1
}

fn draw_four(painter: &mut PanePainter, area: Rect) {
    let first = area.width * 44 / 100;
    let [left, right] = painter.cut(Split::BenchColumns, Direction::Horizontal, area, first, 1);
    let bar = Rect {
        x: left.right(),
        width: 1,
        ..area
    };
    let workloads = painter.model.panes.workload_rows(painter.model.data());
    let half = area.height / 2;
    // Correctness gets more than its half where it needs more.
    let upper_left = wanted(painter).clamp(half, (area.height * 3 / 4).max(half));
    let [correctness, commits] =
        painter.cut(Split::BenchLeft, Direction::Vertical, left, upper_left, 0);
    // Three panes on the right share the rows; a short table of workloads leaves more to the
    // others.
    let table = workloads.map_or(0, |rows| (rows as u16 + 2).min(area.height / 3));
    let upper_right = (area.height - table) / 2;
    let [history, lower] = painter.cut(
        Split::BenchRight,
        Direction::Vertical,
        right,
        upper_right,
        0,
    );
    painter.draw_pane(correctness, Pane::Correctness);
    painter.draw_pane(history, Pane::History);
    painter.draw_pane(commits, Pane::Commits);
    let mut titles = vec![commits.y, lower.y];
    let log = if workloads.is_some() {
        let first = painter.cut(Split::BenchWorkloads, Direction::Vertical, lower, table, 0);
        painter.draw_pane(first[0], Pane::Workloads);
        titles.push(first[1].y);
        first[1]
    } else {
        lower
    };
    painter.draw_pane(log, Pane::Log);
    draw_bar(painter.frame, bar, &titles, &painter.model.appearance.theme);
}

/// The line between left and right, with a joint where the title of a pane meets it.
fn draw_bar(frame: &mut Frame, area: Rect, titles: &[u16], theme: &Theme) {
    let style = theme.quiet();
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

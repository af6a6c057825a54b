//! How the panes of each view share the screen.

use super::PanePainter;
use crate::panes::{correctness, loops};
use crate::prelude::*;
use crate::views::split::Split;
use crate::views::{Pane, View};

/// Least columns for two panes side by side in the views Git and Device.
const WIDE: u16 = 140;

/// Least columns for all columns of the table beside the details.
const WIDE_RESULTS: u16 = 190;

/// Least columns for the details beside the workloads.
const BESIDE: u16 = 120;

/// Least rows for the three panes of the view Device below each other.
const HIGH: u16 = 36;

/// Most rows of the pane Build.
const BUILD: u16 = 17;

/// The first part of an area that is cut in the middle.
fn half(area: Rect, direction: Direction) -> u16 {
    match direction {
        Direction::Horizontal => area.width.saturating_sub(1).div_ceil(2),
        Direction::Vertical => area.height.div_ceil(2),
    }
}

fn direction(is_wide: bool) -> Direction {
    if is_wide {
        Direction::Horizontal
    } else {
        Direction::Vertical
    }
}

impl PanePainter<'_, '_> {
    pub(super) fn draw_view(&mut self, area: Rect, is_large: bool) {
        match self.model.panes.view {
            View::Bench if is_large => self.draw_bench(area),
            View::Bench => {
                let above = if self.model.panes.has_charts {
                    area.height / 2
                } else {
                    self.correctness_rows().clamp(5, area.height / 2)
                };
                let panes = self.model.panes.bench_stack();
                self.draw_stack(Split::BenchStack, area, above, panes);
            }
            View::Source => self.draw_pane(area, Pane::Source),
            View::Results => self.draw_results(area),
            View::Git => {
                self.draw_halves(Split::Git, area, [Pane::Graph, Pane::Commit], usize::MAX);
            }
            View::Device => self.draw_device(area),
            View::Sweep => {
                let points = self.model.repository.points().len().max(1) + 1;
                let panes = [Pane::Sweep, Pane::Points];
                self.draw_halves(Split::Sweep, area, panes, points);
            }
            View::Decisions => {
                let direction = direction(area.width >= WIDE);
                let first = match direction {
                    Direction::Horizontal => half(area, direction),
                    Direction::Vertical => area.height * 2 / 5,
                };
                let panes = [Pane::Board, Pane::Decision];
                self.draw_both(Split::Decisions, direction, area, first, panes);
            }
            View::Loop if is_large => self.draw_loop(area),
            View::Loop => {
                let above = self.loop_rows(area.width).clamp(5, area.height * 6 / 10);
                let panes = [Pane::Loop, self.model.loop_pane()];
                self.draw_stack(Split::LoopStack, area, above, panes);
            }
        }
    }

    /// Draws two panes side by side, or one below the other on a narrow screen. Rows that the second one
    /// does not `need` there are the first one's.
    fn draw_halves(&mut self, split: Split, area: Rect, panes: [Pane; 2], need: usize) {
        let direction = direction(area.width >= WIDE);
        let mut first = half(area, direction);
        if direction == Direction::Vertical {
            let need = u16::try_from(need).unwrap_or(u16::MAX);
            first = first.max(area.height.saturating_sub(need));
        }
        self.draw_both(split, direction, area, first, panes);
    }

    /// Cuts an area in two, and draws a pane in each part.
    fn draw_both(
        &mut self,
        split: Split,
        direction: Direction,
        area: Rect,
        first: u16,
        panes: [Pane; 2],
    ) {
        let parts = self.cut(split, direction, area, first);
        for (part, pane) in parts.into_iter().zip(panes) {
            self.draw_pane(part, pane);
        }
    }

    /// The first pane above, and below it the focused one; the second while the first is focused. Where
    /// the second is the first, the first has the whole area.
    fn draw_stack(&mut self, split: Split, area: Rect, above: u16, [first, second]: [Pane; 2]) {
        let focus = self.model.panes.focus();
        let other = if focus == first { second } else { focus };
        if other == first {
            return self.draw_pane(area, first);
        }
        self.draw_both(split, Direction::Vertical, area, above, [first, other]);
    }

    /// Rows that the pane Correctness takes with all of its text, at a usual width.
    fn correctness_rows(&self) -> u16 {
        correctness::lines(self.model.data(), 60).len() as u16 + 1
    }

    /// Rows that the pane Loop takes with all of its text.
    fn loop_rows(&self, columns: u16) -> u16 {
        let columns = usize::from(columns.saturating_sub(2));
        let rows = loops::status::rows(self.model.data(), columns);
        u16::try_from(rows.len() + 1).unwrap_or(u16::MAX)
    }

    /// Correctness and the log of git at the left; at the right the chart, the workloads if there
    /// are several, and run.log.
    fn draw_bench(&mut self, area: Rect) {
        let first = area.width * 44 / 100;
        let [left, right] = self.cut(Split::BenchColumns, Direction::Horizontal, area, first);
        let vertical = Direction::Vertical;
        let middle = area.height / 2;
        let upper = (area.height * 3 / 4).max(middle);
        let upper = self.correctness_rows().clamp(middle, upper);
        let [correctness, commits] = self.cut(Split::BenchLeft, vertical, left, upper);
        let workloads = self.model.panes.workload_rows(self.model.data());
        let table = workloads.map_or(0, |rows| (rows as u16 + 2).min(area.height / 3));
        let upper = (area.height - table) / 2;
        let [history, mut log] = self.cut(Split::BenchRight, vertical, right, upper);
        let mut parts = vec![
            (correctness, Pane::Correctness),
            (history, Pane::History),
            (commits, Pane::Commits),
        ];
        let mut titles = vec![commits.y, log.y];
        if workloads.is_some() {
            let [table, below] = self.cut(Split::BenchWorkloads, vertical, log, table);
            parts.push((table, Pane::Workloads));
            titles.push(below.y);
            log = below;
        }
        parts.push((log, Pane::Log));
        for (part, pane) in parts {
            self.draw_pane(part, pane);
        }
        let bar = Rect {
            x: left.right(),
            width: 1,
            ..area
        };
        self.draw_bar(bar, &titles);
    }

    /// The line between the columns, joined to the rules of the panes. The first of `titles` is at
    /// the left, the others are at the right.
    fn draw_bar(&mut self, area: Rect, titles: &[u16]) {
        let style = QUIET;
        for y in area.top()..area.bottom() {
            let sign = match (y == area.top(), titles.iter().filter(|t| **t == y).count()) {
                (true, _) => "┬",
                (false, 0) => "│",
                (false, 2..) => "┼",
                (false, _) if titles.first() == Some(&y) => "┤",
                (false, _) => "├",
            };
            self.frame.buffer_mut().set_string(area.x, y, sign, style);
        }
    }

    /// The table and the details of one experiment, which has several workloads in a pane beside
    /// its details.
    fn draw_results(&mut self, area: Rect) {
        let is_wide = area.width >= WIDE_RESULTS;
        let first = if is_wide {
            area.width * 14 / 25
        } else {
            area.height * 9 / 20
        };
        let [table, rest] = self.cut(Split::Results, direction(is_wide), area, first);
        self.draw_pane(table, Pane::Experiments);
        let direction = direction(!is_wide);
        let (details, workloads) = (Pane::Experiment, Pane::Workloads);
        if self.model.panes.shows(workloads) && (is_wide || rest.width >= BESIDE) {
            let first = half(rest, direction);
            let panes = [details, workloads];
            return self.draw_both(Split::ResultsDetails, direction, rest, first, panes);
        }
        let is_focused = self.model.panes.focus() == workloads;
        self.draw_pane(rest, if is_focused { workloads } else { details });
    }

    fn draw_device(&mut self, area: Rect) {
        let (is_wide, is_high) = (area.width >= WIDE, area.height >= HIGH);
        let direction = direction(is_wide);
        let first = if is_high && !is_wide {
            area.height / 3
        } else {
            half(area, direction)
        };
        let [gauges, others] = self.cut(Split::Device, direction, area, first);
        self.draw_pane(gauges, Pane::Gauges);
        if !is_wide && !is_high {
            let pane = match self.model.panes.focus() {
                Pane::Profile => Pane::Profile,
                _ => Pane::Build,
            };
            return self.draw_pane(others, pane);
        }
        let rows = (others.height * 2 / 5).min(BUILD);
        let panes = [Pane::Build, Pane::Profile];
        self.draw_both(Split::DeviceBuild, Direction::Vertical, others, rows, panes);
    }

    fn draw_loop(&mut self, area: Rect) {
        let (horizontal, vertical) = (Direction::Horizontal, Direction::Vertical);
        let columns = half(area, horizontal);
        let [left, right] = self.cut(Split::LoopColumns, horizontal, area, columns);
        let most = area.height * 2 / 3;
        let above = self.loop_rows(left.width).clamp(8, most);
        let (status, edits) = ([Pane::Loop, Pane::Verdicts], [Pane::Edit, Pane::Command]);
        self.draw_both(Split::LoopLeft, vertical, left, above, status);
        self.draw_both(Split::LoopRight, vertical, right, most, edits);
    }
}

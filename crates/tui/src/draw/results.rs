//! The view Results: the table above, the details of one experiment below; side by side where all
//! columns of the table fit beside them. An experiment with several workloads has them in a pane
//! beside its details.

use super::PanePainter;
use crate::views::Pane;
use crate::views::split::{Split, half};
use ratatui::layout::{Direction, Rect};

/// Least columns for both panes side by side.
const WIDE: u16 = 190;

/// Least columns for the details beside the workloads.
const BESIDE: u16 = 120;

pub(super) fn draw(painter: &mut PanePainter, area: Rect) {
    let [first, second] = match area.width >= WIDE {
        true => painter.cut(
            Split::Results,
            Direction::Horizontal,
            area,
            area.width * 14 / 25,
            1,
        ),
        false => painter.cut(
            Split::Results,
            Direction::Vertical,
            area,
            area.height * 9 / 20,
            0,
        ),
    };
    painter.draw_pane(first, Pane::Experiments);
    if !painter.model.panes.shows(Pane::Workloads) {
        painter.draw_pane(second, Pane::Experiment);
        return;
    }
    let [details, workloads] = match (area.width >= WIDE, second.width >= BESIDE) {
        (true, _) => painter.cut(
            Split::ResultsDetails,
            Direction::Vertical,
            second,
            half(second.height, 0),
            0,
        ),
        (false, true) => painter.cut(
            Split::ResultsDetails,
            Direction::Horizontal,
            second,
            half(second.width, 1),
            1,
        ),
        // Too narrow for both: the one that has the focus.
        (false, false) => {
            let focus = painter.model.panes.focus();
            let pane = if focus == Pane::Workloads {
                focus
            } else {
                Pane::Experiment
            };
            painter.draw_pane(second, pane);
            return;
        }
    };
    painter.draw_pane(details, Pane::Experiment);
    painter.draw_pane(workloads, Pane::Workloads);
}

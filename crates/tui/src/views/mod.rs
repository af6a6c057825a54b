//! The views: which panes are seen together, and where. One file a view; a view knows its panes'
//! places and nothing of what they draw.

mod bench;
mod device;
mod git;
mod results;
mod source;
pub mod split;

pub use super::view_id::View;

use super::app::App;
use super::keymap::Action;
use super::panes::{Pane, draw_pane};
use ratatui::Frame;
use ratatui::layout::Rect;

impl View {
    /// The action that shows it.
    pub fn action(self) -> Action {
        match self {
            View::Bench => Action::Bench,
            View::Source => Action::Source,
            View::Results => Action::Results,
            View::Git => Action::Git,
            View::Device => Action::Device,
        }
    }

    /// Its panes in the order of the focus: as one reads.
    pub fn panes(self) -> &'static [Pane] {
        match self {
            View::Bench => &[Pane::Correctness, Pane::History, Pane::Commits, Pane::Log],
            View::Source => &[Pane::Source],
            View::Results => &[Pane::Experiments, Pane::Experiment],
            View::Git => &[Pane::Graph, Pane::Commit],
            View::Device => &[Pane::Gauges, Pane::Build],
        }
    }
}

/// Draws the panes of the present view. `is_large` is said of the whole screen.
pub fn draw(frame: &mut Frame, area: Rect, app: &mut App, is_large: bool) {
    if app.panes.zoom() || area.width < 60 || area.height < 13 {
        draw_pane(frame, area, app, app.panes.focus());
        return;
    }
    match app.panes.view {
        View::Bench => bench::draw(frame, area, app, is_large),
        View::Source => source::draw(frame, area, app),
        View::Results => results::draw(frame, area, app),
        View::Git => git::draw(frame, area, app),
        View::Device => device::draw(frame, area, app),
    }
}

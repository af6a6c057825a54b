//! The views: which panes are seen together, and where. One file a view; a view knows its panes'
//! places and nothing of what they draw.

mod bench;
mod device;
mod git;
mod results;
mod source;
pub mod split;

use super::app::App;
use super::keymap::Action;
use super::panes::{Pane, draw_pane};
use ratatui::Frame;
use ratatui::layout::Rect;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum View {
    /// What a save came to: right, fast, git log, run.log.
    #[default]
    Bench,
    /// kernel.cu, its changes, the compiler's words.
    Source,
    /// Every experiment, and one whole.
    Results,
    /// Commits and what they changed.
    Git,
    /// The device over time, and the kernel as built.
    Device,
}

impl View {
    pub const ALL: [View; 5] = [View::Bench, View::Source, View::Results, View::Git, View::Device];

    pub fn name(self) -> &'static str {
        match self {
            View::Bench => "Bench",
            View::Source => "Source",
            View::Results => "Results",
            View::Git => "Git",
            View::Device => "Device",
        }
    }

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

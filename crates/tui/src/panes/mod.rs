//! The panes. One file for each: its state, what it shows, and how it is drawn. No pane knows another; what several panes
//! draw alike is in [`crate::widgets`].
//!
//! A pane's `draw` changes nothing. It returns how the pane's content fits into the area that the pane was given (the first
//! visible row, say), and the next update stores that with the pane's state ([`Panes::take`]).

pub mod build;
pub mod commit;
pub mod commits;
pub mod correctness;
pub mod experiment;
pub mod experiments;
pub mod gauges;
pub mod graph;
pub mod history;
pub mod run_log;
pub mod source;

use crate::diff::ContextLines;
use crate::log::LogView;
use crate::views::split::{Shares, Split};
use crate::views::{Pane, View};
use crate::widgets::ScrolledText;
use commit::{CommitFit, CommitState};
use commits::CommitsState;
use correctness::CorrectnessState;
use experiment::{ExperimentFit, ExperimentState};
use experiments::{ExperimentsFit, ExperimentsState};
use graph::GraphState;
use history::{HistoryPlot, HistoryState};
use source::{SourceFit, SourceState};
use std::collections::HashMap;

/// The state of all panes: which are visible and focused, how they share the screen, and each one's own state.
#[derive(Debug, Default)]
pub struct Panes {
    pub view: View,
    /// The focused pane of each view, as an index into [`View::panes`].
    focus: [usize; View::ALL.len()],
    /// The views that show their focused pane alone.
    zoomed: [bool; View::ALL.len()],
    /// Borders that the user moved.
    pub shares: Shares,
    /// The border that the mouse moves.
    pub dragged: Option<Split>,
    /// The text that each pane's rows were searched for.
    pub needles: HashMap<Pane, String>,
    /// How many lines every diff shows around a change.
    pub around: ContextLines,
    pub correctness: CorrectnessState,
    pub history: HistoryState,
    pub commits: CommitsState,
    pub log: LogView,
    pub source: SourceState,
    pub experiments: ExperimentsState,
    pub experiment: ExperimentState,
    pub graph: GraphState,
    pub commit: CommitState,
    pub gauges: ScrolledText,
    pub build: ScrolledText,
}

/// How the content of one pane fits into its area.
#[derive(Debug)]
pub enum PaneFit {
    Correctness(CorrectnessState),
    History(Option<HistoryPlot>),
    Commits(CommitsState),
    /// Rows of the log's area.
    Log(usize),
    Source(SourceFit),
    Experiments(Option<ExperimentsFit>),
    Experiment(ExperimentFit),
    /// The first visible row of the graph.
    Graph(usize),
    Commit(CommitFit),
    Gauges(ScrolledText),
    Build(ScrolledText),
}

impl Panes {
    /// The pane that hears the keys.
    pub fn focus(&self) -> Pane {
        let panes = self.view.panes();
        panes[self.focus[self.view as usize].min(panes.len() - 1)]
    }

    /// Focuses a pane of the present view. A pane of another view is left alone.
    pub fn set_focus(&mut self, pane: Pane) {
        if let Some(at) = self.view.panes().iter().position(|p| *p == pane) {
            self.focus[self.view as usize] = at;
        }
    }

    /// The focused pane of the present view has the whole screen.
    pub fn zoom(&self) -> bool {
        self.zoomed[self.view as usize]
    }

    pub fn set_zoom(&mut self, zoom: bool) {
        self.zoomed[self.view as usize] = zoom;
    }

    /// Moves the focus to the next or previous pane of the view, from the last to the first.
    pub fn step_focus(&mut self, forward: bool) {
        let count = self.view.panes().len();
        let at = &mut self.focus[self.view as usize];
        *at = (*at + if forward { 1 } else { count - 1 }) % count;
    }

    /// The pane belongs to the present view.
    pub fn shows(&self, pane: Pane) -> bool {
        self.view.panes().contains(&pane)
    }

    /// The text that the pane's rows were searched for; empty without a search.
    pub fn needle(&self, pane: Pane) -> &str {
        self.needles.get(&pane).map_or("", String::as_str)
    }

    /// Stores how a pane was drawn.
    pub fn take(&mut self, fit: PaneFit) {
        match fit {
            PaneFit::Correctness(state) => self.correctness = state,
            PaneFit::History(plot) => self.history.set_plot(plot),
            PaneFit::Commits(state) => self.commits = state,
            PaneFit::Log(height) => self.log.set_height(height),
            PaneFit::Source(fit) => self.source.take_fit(fit),
            PaneFit::Experiments(Some(fit)) => self.experiments.take_fit(&fit),
            PaneFit::Experiments(None) => {}
            PaneFit::Experiment(fit) => self.experiment.take_fit(fit),
            PaneFit::Graph(first) => self.graph.set_first(first),
            PaneFit::Commit(fit) => self.commit.take_fit(fit),
            PaneFit::Gauges(text) => self.gauges = text,
            PaneFit::Build(text) => self.build = text,
        }
    }
}

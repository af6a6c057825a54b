//! The panes. One file for each: its state, what it shows, and how it is drawn. No pane knows
//! another; what several panes draw alike is in [`crate::widgets`].
//!
//! A pane's `draw` changes nothing. It returns how the pane's content fits into the area that the
//! pane was given (the first visible row, say), and the next update stores that with the pane's
//! state ([`Panes::take`]).

pub mod build;
pub mod commit;
pub mod commits;
pub mod correctness;
pub mod experiment;
pub mod experiments;
pub mod gauges;
pub mod graph;
pub mod history;
pub mod loops;
pub mod profile;
pub mod run_log;
pub mod source;
pub mod workloads;

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
use loops::{LoopFit, LoopPanes};
use source::{SourceFit, SourceState};
use std::collections::HashMap;
use workloads::{WorkloadsFit, WorkloadsState};

/// The state of all panes: which are visible and focused, how they share the screen, and each one's
/// own state.
#[derive(Debug, Default)]
pub struct Panes {
    pub view: View,
    /// The focused pane of each view; the first one before any was chosen.
    focus: [Option<Pane>; View::ALL.len()],
    /// There are several workloads to show, in each view.
    has_workloads: [bool; View::ALL.len()],
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
    pub profile: ScrolledText,
    pub workloads: WorkloadsState,
    pub loops: LoopPanes,
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
    Profile(ScrolledText),
    Workloads(Option<WorkloadsFit>),
    Loops(LoopFit),
}

impl Panes {
    /// The pane that hears the keys.
    pub fn focus(&self) -> Pane {
        let panes = self.panes();
        self.focus[self.view as usize]
            .filter(|pane| panes.contains(pane))
            .unwrap_or(panes[0])
    }

    /// The panes of the present view, in the order of the focus.
    pub fn panes(&self) -> &'static [Pane] {
        self.view.panes(self.has_workloads[self.view as usize])
    }

    /// Takes note whether there are several workloads to show in a view.
    pub fn set_has_workloads(&mut self, view: View, has_workloads: bool) {
        self.has_workloads[view as usize] = has_workloads;
    }

    /// Focuses a pane of the present view. A pane of another view is left alone.
    pub fn set_focus(&mut self, pane: Pane) {
        if self.shows(pane) {
            self.focus[self.view as usize] = Some(pane);
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
        let panes = self.panes();
        let focus = self.focus();
        let at = panes.iter().position(|pane| *pane == focus).unwrap_or(0);
        let next = (at + if forward { 1 } else { panes.len() - 1 }) % panes.len();
        self.focus[self.view as usize] = Some(panes[next]);
    }

    /// The pane belongs to the present view.
    pub fn shows(&self, pane: Pane) -> bool {
        self.panes().contains(&pane)
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
            PaneFit::Profile(text) => self.profile = text,
            PaneFit::Workloads(Some(fit)) => self.workloads.take_fit(&fit),
            PaneFit::Workloads(None) => {}
            PaneFit::Loops(fit) => self.loops.take_fit(fit),
        }
    }
}

//! The panes. One file for each: its state, what it shows, and how it is drawn. No pane knows
//! another; what several panes draw alike is in [`crate::widgets`].
//!
//! A pane's `draw` changes nothing. It returns how the pane's content fits into the area that the
//! pane was given (the first visible row, say), and the next update stores that with the pane's
//! state ([`Panes::take`]).

pub mod board;
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
mod run_log;
mod shown;
pub mod source;
pub mod sweep;
mod text;
pub mod workloads;

use crate::diff::ContextLines;
use crate::log::LogView;
use crate::prelude::*;
use crate::views::split::{Shares, Split};
use crate::views::{Pane, View};
use commit::CommitState;
use correctness::CorrectnessState;
use experiment::ExperimentState;
use experiments::{ExperimentsState, TypedFilter};
use graph::GraphState;
use history::{HistoryPlot, HistoryState};
use lab_run::RunId;
use lab_text::sanitise::LogLine;
use loops::edit::EditState;
use source::{SourceFit, SourceState};
use std::collections::HashMap;
use sweep::PointsState;
use workloads::WorkloadsState;

/// The state of all panes: which are visible and focused, how they share the screen, and each one's
/// own state.
#[derive(Debug, Default)]
pub struct Panes {
    pub view: View,
    /// The focused pane of each view; the first one before any was chosen.
    focus: [Option<Pane>; View::ALL.len()],
    /// There are several workloads to show, in each view.
    pub has_workloads: [bool; View::ALL.len()],
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
    pub commits: ListState,
    pub log: LogView,
    pub source: SourceState,
    pub experiments: ExperimentsState,
    pub experiment: ExperimentState,
    pub graph: GraphState,
    pub commit: CommitState,
    pub workloads: WorkloadsState,
    /// A small Bench shows the chart in place of the gates.
    pub has_charts: bool,
    /// The last frame had no room for all panes of the view.
    pub is_stacked: bool,
    pub edit: EditState,
    /// The rows of the board.
    pub board: ListState,
    /// How often the next pair of constants was asked for.
    pub sweep_pair: usize,
    pub points: PointsState,
    /// How the panes that show a text are scrolled.
    pub texts: [ScrolledText; Pane::COUNT],
}

/// How the content of one pane fits into its area.
#[derive(Debug)]
pub enum PaneFit {
    Text(ScrolledText),
    List(ListState),
    History(Option<HistoryPlot>),
    Source(SourceFit),
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

    /// The two panes that a small Bench shows until another one gets the focus, which then replaces
    /// the second.
    pub fn bench_stack(&self) -> [Pane; 2] {
        match (self.has_charts, self.shows(Pane::Workloads)) {
            (true, true) => [Pane::History, Pane::Workloads],
            (true, false) => [Pane::History, Pane::Commits],
            (false, _) => [Pane::Correctness, Pane::Log],
        }
    }

    /// Moves the focus to the next or previous pane of the view, from the last to the first. In a
    /// small Bench the two panes that are visible come before those that would replace one.
    pub fn step_focus(&mut self, forward: bool) {
        let mut panes = self.panes().to_vec();
        let focus = self.focus();
        if self.view == View::Bench && self.is_stacked {
            let stack = self.bench_stack();
            let place = |pane: &Pane| stack.iter().position(|it| it == pane);
            panes.sort_by_key(|pane| place(pane).unwrap_or(stack.len()));
        }
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
    pub fn take(&mut self, pane: Pane, fit: PaneFit) {
        match fit {
            PaneFit::Text(text) => *self.text_mut(pane) = text,
            PaneFit::List(list) => match pane {
                Pane::Commits => self.commits = list,
                Pane::Graph => self.graph.list = list,
                Pane::Board => self.board = list,
                Pane::Points => self.points.list = list,
                Pane::Experiments => self.experiments.list = list,
                _ => self.workloads.list = list,
            },
            PaneFit::History(plot) => self.history.plot = plot,
            PaneFit::Source(fit) => self.source.take_fit(fit),
        }
    }

    /// A new run begins: its lines follow.
    pub fn start_log(&mut self, run: RunId) {
        self.log.start(run, &mut self.texts[Pane::Log as usize]);
    }

    pub fn push_log(&mut self, skipped: u64, lines: Vec<LogLine>) {
        let text = &mut self.texts[Pane::Log as usize];
        self.log.push(skipped, lines, text);
    }

    pub fn text(&self, pane: Pane) -> &ScrolledText {
        &self.texts[pane as usize]
    }

    pub fn text_mut(&mut self, pane: Pane) -> &mut ScrolledText {
        &mut self.texts[pane as usize]
    }

    /// Draws a pane. `filter`: what is typed to filter the experiments. Returns how the content
    /// fits.
    pub fn draw(&self, canvas: &mut Canvas, filter: TypedFilter) -> PaneFit {
        let data = canvas.data;
        match canvas.pane {
            Pane::History => PaneFit::History(history::draw(canvas, &self.history)),
            Pane::Source => PaneFit::Source(source::draw(canvas, &self.source, self.around)),
            Pane::Commits => PaneFit::List(commits::draw(canvas, self.commits)),
            Pane::Graph => PaneFit::List(graph::draw(canvas, &self.graph)),
            Pane::Board => PaneFit::List(board::draw(canvas, self.board)),
            Pane::Points => PaneFit::List(self.points.draw(canvas)),
            Pane::Experiments => {
                let selected = self.selected_row(data);
                let state = &self.experiments;
                PaneFit::List(experiments::draw(canvas, state, selected, filter))
            }
            Pane::Workloads => {
                let (table, of) = (self.workload_table(data), self.workloads_of(data));
                let table = table.as_deref();
                PaneFit::List(workloads::draw(canvas, &of, table, &self.workloads))
            }
            Pane::Correctness => PaneFit::Text(self.draw_correctness(canvas)),
            _ => PaneFit::Text(self.draw_text(canvas)),
        }
    }
}

//! The model: everything that the screen shows, and questions about it that involve several groups.
//! Only [`crate::update()`] changes it.

pub mod copy;
mod rows;
mod usable;

pub use rows::Rows;

use crate::effect::{Effect, Redraw};
use crate::geometry::FrameGeometry;
use crate::keymap::{Action, KeyScope};
use crate::layout::Layout;
use crate::overlay::Overlay;
use crate::palette::{self, Offer, PaletteRows};
use crate::panes::workloads::{self, WorkloadTable};
use crate::panes::{Panes, commit, correctness, experiment, gauges, loops, profile};
use crate::request::Preferences;
use crate::state::{
    DecisionState, DeviceHistory, LoopState, Now, Profiles, Repository, Runs, ScreenSettings,
    Selection, Setup,
};
use crate::status::{MessageLevel, StatusLine};
use crate::text::printable;
use crate::theme::Theme;
use crate::views::View;
use jiff::tz::TimeZone;
use lab_core::history::details::ExperimentDetails;
use lab_core::run::RunId;
use lab_core::run::experiment::{Experiment, ExperimentKey};
use lab_protocol::report::Report;
use std::sync::Arc;
use std::time::Duration;

/// How often the clock of a run in progress is drawn.
const TICK: Duration = Duration::from_millis(100);

/// How often the clock of a loop is drawn.
const LOOP_TICK: Duration = Duration::from_secs(1);

pub struct Model {
    pub setup: Setup,
    /// The time of the last event.
    pub now: Now,
    pub runs: Runs,
    pub repository: Repository,
    pub decision: DecisionState,
    pub selection: Selection,
    pub device: DeviceHistory,
    pub loops: LoopState,
    pub profiles: Profiles,
    pub appearance: ScreenSettings,
    pub panes: Panes,
    /// The dialogs, the topmost last.
    pub overlays: Vec<Overlay>,
    pub message: StatusLine,
    /// Where everything is, and how soon to draw again.
    pub frame: FrameState,
}

/// The last frame, and whether another one is wanted.
#[derive(Debug, Default)]
pub struct FrameState {
    pub geometry: FrameGeometry,
    /// Set by the update in progress.
    pub redraw: Redraw,
    /// What the update in progress wants done, in this order.
    pub effects: Vec<Effect>,
}

impl Model {
    pub fn new(setup: Setup, theme: Theme, zone: TimeZone) -> Self {
        Model {
            decision: DecisionState {
                auto: setup.auto.decide,
                ..DecisionState::default()
            },
            setup,
            now: Duration::ZERO,
            runs: Runs::default(),
            repository: Repository::default(),
            selection: Selection::default(),
            device: DeviceHistory::default(),
            loops: LoopState::default(),
            profiles: Profiles::default(),
            appearance: ScreenSettings::new(theme, zone),
            panes: Panes::default(),
            overlays: Vec::new(),
            message: StatusLine::default(),
            frame: FrameState::default(),
        }
    }

    /// Takes the settings over, before the first frame.
    pub fn adopt(&mut self, preferences: Preferences) {
        self.appearance.adopt(preferences);
    }

    /// Takes the saved layout over, before the first frame. Its theme is part of the preferences
    /// already.
    pub fn restore_layout(&mut self, layout: Layout) {
        self.panes.view = layout.view;
        self.panes.shares.clone_from(&layout.shares);
        self.appearance.chosen_theme.clone_from(&layout.theme);
        if let Some(mouse) = layout.mouse {
            self.appearance.mouse = mouse;
        }
        if layout.all_problems {
            self.panes.experiments.all_problems = true;
            self.panes
                .experiments
                .table
                .show_one_problem(false, &self.repository.experiments);
        }
        self.appearance.saved_layout = layout;
    }

    /// What the pane Profile shows.
    pub fn profile_data(&self) -> profile::ProfileData<'_> {
        let shown = self
            .profiles
            .view
            .as_ref()
            .and_then(|view| view.fingerprint.as_ref());
        let present = self
            .runs
            .present
            .as_ref()
            .and_then(|present| present.as_ref().ok());
        profile::ProfileData {
            profiles: &self.profiles,
            key: self.way(Action::Profile),
            at: self
                .repository
                .looked
                .map(|(at, then)| at + self.now.saturating_sub(then)),
            is_stale: shown.is_some() && shown != present,
        }
    }

    pub fn inform(&mut self, text: impl Into<String>) {
        self.say(MessageLevel::Info, text);
    }

    pub fn warn(&mut self, text: impl Into<String>) {
        self.say(MessageLevel::Warning, text);
    }

    /// Reports an error, which stays until a key is pressed.
    pub fn fail(&mut self, text: impl Into<String>) {
        self.say(MessageLevel::Error, text);
    }

    /// The key of an action, or how the palette finds it.
    pub fn way(&self, action: Action) -> String {
        self.appearance.keymap.way(action)
    }

    /// Shows a message.
    pub fn say(&mut self, level: MessageLevel, text: impl Into<String>) {
        self.message.say(level, text, self.now);
    }

    /// When the next [`crate::event::Event::Tick`] is wanted; `None` while nothing moves.
    pub fn wakes_at(&self) -> Option<Now> {
        let clock = self.shows_clock().then(|| self.now + TICK);
        let loops = self.shows_loop_clock().then(|| self.now + LOOP_TICK);
        [clock, loops, self.message.expires()]
            .into_iter()
            .flatten()
            .min()
    }

    /// The time of a loop in progress is shown.
    pub fn shows_loop_clock(&self) -> bool {
        self.panes.view == View::Loop && self.loops.any_runs()
    }

    /// A run or a check is in progress, whose clock is shown.
    pub fn shows_clock(&self) -> bool {
        !self.runs.is_idle() || self.decision.held_out.is_some()
    }

    /// The selected experiment, if the history has it.
    pub fn selected(&self) -> Option<&Experiment> {
        self.repository.experiment(self.selection.key.as_ref()?)
    }

    /// The experiment whose details are shown: the selected one or, in Results, the topmost while
    /// none is selected.
    pub fn shown(&self) -> Option<&Experiment> {
        self.selected()
            .or_else(|| self.topmost().filter(|_| self.panes.view == View::Results))
    }

    /// The first experiment of the table.
    pub fn topmost(&self) -> Option<&Experiment> {
        self.repository
            .experiments
            .get(*self.panes.experiments.table.order().first()?)
    }

    pub fn shown_key(&self) -> Option<ExperimentKey> {
        self.shown().map(Experiment::key)
    }

    /// The row of the selected experiment in the table.
    pub fn selected_row(&self) -> Option<usize> {
        let key = self.selection.key.as_ref()?;
        self.panes
            .experiments
            .table
            .row_of(self.repository.place_of(key)?)
    }

    /// The details of the shown experiment; `None` while they are loaded.
    pub fn details(&self) -> Option<&ExperimentDetails> {
        let shown = self.shown()?;
        self.selection
            .details
            .as_ref()
            .filter(|details| shown.is(&details.key))
    }

    /// What the pane Experiment shows.
    pub fn experiment_shown(&self) -> experiment::Shown<'_> {
        let content = match (&self.selection.comparing, self.shown()) {
            (Some(keys), _) => {
                let comparison = self.selection.comparison().map(|both| {
                    let experiments = both
                        .keys
                        .each_ref()
                        .map(|key| self.repository.experiment(key));
                    experiment::ExperimentPair { experiments, both }
                });
                experiment::Content::Two(keys, comparison)
            }
            (None, Some(shown)) => experiment::Content::One(shown, self.details()),
            (None, None) if self.repository.loaded => experiment::Content::Nothing,
            (None, None) => experiment::Content::Loading,
        };
        experiment::Shown {
            content,
            around: self.panes.around,
            objective: &self.setup.objective,
        }
    }

    /// What the pane Commit shows besides its own state.
    pub fn commit_data(&self) -> commit::Commit<'_> {
        commit::Commit {
            around: self.panes.around,
            discarded: self.selected().filter(|e| !e.is_kept()),
        }
    }

    /// What the pane Correctness shows.
    pub fn correctness_data(&self) -> correctness::Correctness<'_> {
        correctness::Correctness {
            runs: &self.runs,
            objective: &self.setup.objective,
            is_zoomed: self.panes.zoom(),
        }
    }

    /// The workloads that the pane Workloads shows, if there are several: in Results those of the
    /// shown experiment, else those of the run in progress, once it has measured them, or of the
    /// last run.
    pub fn workload_table(&self) -> Option<Arc<WorkloadTable>> {
        if self.panes.view == View::Results {
            return self
                .panes
                .workloads
                .of_experiment(&self.shown_key()?)
                .cloned();
        }
        let (_, report) = self.run_with_workloads()?;
        WorkloadTable::of(report, self.setup.objective.name()).map(Arc::new)
    }

    /// Whose workloads the pane Workloads shows.
    pub fn workloads_of(&self) -> String {
        if self.panes.view == View::Results {
            return self.shown_key().map(|key| key.commit).unwrap_or_default();
        }
        self.run_with_workloads()
            .map(|(run, _)| format!("run {run}"))
            .unwrap_or_default()
    }

    /// The run in progress or the last one, if it has several workloads.
    fn run_with_workloads(&self) -> Option<(RunId, &Report)> {
        let live = self.runs.live().map(|live| (live.start.id, &*live.report));
        let last = self
            .runs
            .last
            .as_ref()
            .map(|last| (last.start.id, &*last.report));
        live.into_iter()
            .chain(last)
            .find(|(_, report)| report.workload_count() >= workloads::LEAST)
    }

    /// Shows the pane Workloads where there are several to show. Every update ends with this.
    pub fn note_workloads(&mut self) {
        let has_workloads = match self.panes.view {
            View::Bench => self.run_with_workloads().is_some(),
            View::Results => self.workload_table().is_some(),
            View::Source | View::Git | View::Device | View::Loop => false,
        };
        self.panes.set_has_workloads(self.panes.view, has_workloads);
    }

    /// What the panes of the view Loop show.
    pub fn loop_data(&self) -> loops::Data<'_> {
        loops::Data {
            loops: &self.loops,
            now: self.now,
            kernel: &self.setup.kernel,
            objective: &self.setup.objective,
        }
    }

    /// What the pane Device shows.
    pub fn device_data(&self) -> gauges::Device<'_> {
        gauges::Device {
            history: &self.device,
            runs: &self.runs,
            external: self.setup.external.is_some(),
            now: self.now,
        }
    }

    /// The description of a discard for which nothing was typed: the run's reason.
    pub fn default_description(&self) -> String {
        match &self.runs.last {
            Some(last) if !last.verdict.why.is_empty() => printable(&last.verdict.why).into_owned(),
            _ => "no reason given".to_owned(),
        }
    }

    /// The actions that match the typed words.
    pub fn offers(&self, typed: &str) -> Vec<Offer> {
        palette::offers(typed, |binding| match binding.scope {
            KeyScope::In(view) if view != self.panes.view => {
                Err(format!("in the view {}", view.name()))
            }
            _ => self.usable(binding.action),
        })
    }

    /// The rows of the palette.
    pub fn palette_rows(&self, typed: &str) -> PaletteRows {
        let all = palette::count();
        match palette::number(typed) {
            Some(number) => PaletteRows::Line {
                number,
                target: self.numbered(),
                all,
            },
            None => PaletteRows::Actions {
                offers: self.offers(typed),
                all,
            },
        }
    }

    /// Indices of the themes whose names match the typed words.
    pub fn fitting_themes(&self, typed: &str) -> Vec<usize> {
        palette::best(
            typed,
            self.appearance
                .themes
                .iter()
                .map(|(name, _)| [name.as_str()]),
        )
    }
}

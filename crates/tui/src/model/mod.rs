//! The model: everything that the screen shows, and questions about it that involve several groups.
//! Only [`crate::update()`] changes it.

pub mod copy;
mod discarding;
mod export;
mod rows;
mod usable;

pub use rows::Rows;

use crate::effect::{Effect, Redraw};
use crate::format;
use crate::geometry::FrameGeometry;
use crate::keymap::{Action, KeyScope};
use crate::layout::{Layout, UserChoice};
use crate::overlay::{Overlay, PickFrom};
use crate::palette::{self, Offer, PickRows};
use crate::panes::Panes;
use crate::request::Preferences;
use crate::state::{
    DecisionState, DeviceHistory, LoopState, Now, Profiles, Repository, Running, Runs, ScreenData,
    ScreenSettings, Selection, Setup,
};
use crate::status::{MessageLevel, StatusLine};
use crate::theme::Theme;
use crate::views::View;
use jiff::tz::TimeZone;
use lab_run::experiment::{Experiment, ExperimentKey};
use ratatui::crossterm::event::KeyEvent;
use std::time::Duration;

/// How often the clock of a run in progress is drawn, while it shows tenths of a second.
const TICK: Duration = Duration::from_millis(500);

/// How often a clock that shows seconds is drawn.
const SLOW_TICK: Duration = Duration::from_secs(1);

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
    /// When a letter was last typed into a question that is no answer to it.
    pub strayed: Option<Now>,
    /// The keys that were typed since another kernel was chosen: they are for its screen.
    pub typed: Option<Vec<KeyEvent>>,
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

    /// Takes over what the user chose, before the first frame. The theme is part of the preferences
    /// already.
    pub fn restore_choice(&mut self, choice: UserChoice) {
        self.appearance.chosen_theme.clone_from(&choice.theme);
        if let Some(mouse) = choice.mouse {
            self.appearance.mouse = mouse;
        }
        self.appearance.saved_choice = choice;
    }

    /// Takes the saved layout over, before the first frame.
    pub fn restore_layout(&mut self, layout: Layout) {
        self.panes.view = layout.view;
        self.panes.shares.clone_from(&layout.shares);
        if layout.all_problems {
            self.panes.experiments.all_problems = true;
            self.panes
                .experiments
                .table
                .show_one_problem(false, &self.repository.experiments);
        }
        self.appearance.saved_layout = layout;
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
        let tick = |began| match self.now.saturating_sub(began) {
            elapsed if elapsed < format::IN_TENTHS => TICK,
            _ => SLOW_TICK,
        };
        let clock = self.clock().map(|began| self.now + tick(began));
        let loops = self.shows_loop_clock().then(|| self.now + SLOW_TICK);
        [clock, loops, self.message.expires()]
            .into_iter()
            .flatten()
            .min()
    }

    /// The time of a loop in progress is shown.
    pub fn shows_loop_clock(&self) -> bool {
        self.panes.view == View::Loop && self.loops.any_runs()
    }

    /// When the run, the check or the check before a keep began whose clock is shown.
    pub fn clock(&self) -> Option<Now> {
        match (&self.decision.held_out, &self.runs.running) {
            (Some(checking), _) => Some(checking.began),
            (None, Running::Live(live)) => Some(live.began),
            (None, Running::Asked(_, since)) => Some(*since),
            (None, Running::No) => None,
        }
    }

    /// The selected experiment, if the history has it.
    pub fn selected(&self) -> Option<&Experiment> {
        self.data().selected()
    }

    /// The experiment whose details are shown: the selected one or, in Results, the topmost while
    /// none is selected.
    pub fn shown(&self) -> Option<&Experiment> {
        self.panes.shown(self.data())
    }

    /// What a pane may read.
    pub fn data(&self) -> ScreenData<'_> {
        ScreenData {
            setup: &self.setup,
            now: self.now,
            runs: &self.runs,
            repository: &self.repository,
            selection: &self.selection,
            device: &self.device,
            loops: &self.loops,
            profiles: &self.profiles,
            appearance: &self.appearance,
        }
    }

    pub fn shown_key(&self) -> Option<ExperimentKey> {
        self.shown().map(Experiment::key)
    }

    /// The row of the selected experiment in the table.
    pub fn selected_row(&self) -> Option<usize> {
        self.panes.selected_row(self.data())
    }

    /// Shows the pane Workloads where there are several to show. Every update ends with this.
    pub fn note_workloads(&mut self) {
        let has_workloads = self.panes.has_workloads(self.data());
        self.panes.has_workloads[self.panes.view as usize] = has_workloads;
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

    /// The rows of a list that fit what is typed, the best first.
    pub fn pick_rows<'a>(&'a self, typed: &str, from: &'a PickFrom) -> PickRows<'a> {
        match (from, palette::number(typed)) {
            (PickFrom::Actions, Some(number)) => PickRows::Line {
                number,
                target: self.numbered(),
            },
            (PickFrom::Actions, None) => PickRows::Actions(self.offers(typed)),
            (PickFrom::Themes, _) => {
                let themes = &self.appearance.themes;
                let best = palette::best(typed, themes.iter().map(|(name, _)| [name.as_str()]));
                PickRows::Themes(best.into_iter().map(|at| &themes[at]).collect())
            }
            (PickFrom::Kernels(found), _) => {
                let kernels = found.as_deref().unwrap_or_default();
                let names = kernels.iter().map(|kernel| [kernel.name.as_str()]);
                let best = palette::best(typed, names);
                PickRows::Kernels(best.into_iter().map(|at| &kernels[at]).collect())
            }
            (PickFrom::Evidence(records), _) => {
                let texts = records.iter().map(|(id, about)| [id.as_str(), about]);
                let best = palette::best(typed, texts);
                PickRows::Evidence(best.into_iter().map(|at| &records[at]).collect())
            }
        }
    }
}

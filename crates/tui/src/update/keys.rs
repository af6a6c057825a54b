//! The keys outside of dialogs, and the actions that they perform.

use super::dialogs::insert;
use crate::effect::Effect;
use crate::keymap::{Action, KeyScope};
use crate::model::Model;
use crate::overlay::{Help, Overlay, PickFrom};
use crate::panes::graph::ReadTarget;
use crate::request::{RepositoryRequest, SettingsRequest};
use crate::state::HeldKeys;
use crate::text::printable;
use crate::views::{Pane, View};
use itertools::Itertools;
use lab_run::Reason;
use lab_run::experiment::Experiment;
use ratatui::crossterm::event::KeyEvent;
use std::time::Duration;

/// How long keys wait for the number of a run that is about to start.
const HOLD: Duration = Duration::from_millis(500);

impl Model {
    pub(super) fn key_acts(&self, key: KeyEvent) -> bool {
        self.action_of(self.scope(), key).is_some()
    }

    pub(super) fn key_steps(&self, key: KeyEvent) -> bool {
        let action = self.action_of(self.scope(), key);
        self.overlays.is_empty() && matches!(action, Some(Action::Up | Action::Down))
    }

    fn action_of(&self, scope: KeyScope, key: KeyEvent) -> Option<Action> {
        self.appearance.keymap.find(scope, key.into())
    }

    /// Where a key acts: in the topmost dialog, else in the view.
    fn scope(&self) -> KeyScope {
        match self.overlays.last() {
            None => KeyScope::In(self.panes.view),
            Some(Overlay::Help(help)) if !help.typing => KeyScope::Screen,
            Some(Overlay::Listing { .. } | Overlay::Cells(_)) => KeyScope::Screen,
            Some(Overlay::Trust { .. } | Overlay::Question { .. }) => KeyScope::Question,
            Some(_) => KeyScope::Input,
        }
    }

    pub(super) fn on_key(&mut self, key: KeyEvent) {
        if let Some(typed) = &mut self.frame.typed {
            return typed.push(key);
        }
        if let Some(held) = &mut self.decision.held {
            return held.keys.push(key);
        }
        if self.frame.geometry.too_small {
            // Nothing is shown: only the keys that leave the screen act.
            if let Some(action @ (Action::Quit | Action::Suspend)) =
                self.action_of(KeyScope::Screen, key)
            {
                self.perform(action);
            }
            return;
        }
        self.message.acknowledge();
        let stopped = self.stop_reading();
        // Esc that stopped the reading closes nothing else.
        let in_view = self.action_of(KeyScope::In(self.panes.view), key);
        if stopped && in_view == Some(Action::Close) {
            return;
        }
        let scope = self.scope();
        match (scope, self.action_of(scope, key)) {
            (KeyScope::In(_), Some(action)) => self.perform(action),
            (KeyScope::Screen, Some(action)) => self.on_reading_key(action),
            (KeyScope::Question, answer) => self.on_question_key(answer, key),
            (KeyScope::Input, action) => self.on_input_key(action, key),
            (KeyScope::In(_) | KeyScope::Screen, None) => {}
        }
    }

    /// Pasted text goes into the line that is typed, and nowhere else.
    pub(super) fn on_paste(&mut self, text: &str) {
        if self.frame.geometry.too_small {
            return;
        }
        // A terminal pastes line ends as carriage returns.
        let text = text
            .split(['\r', '\n'])
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .join(" ");
        let text = printable(&text);
        if let Some(Overlay::Message { draft, .. }) = self.overlays.last_mut() {
            draft.begin(true);
        }
        self.edit(|input| text.chars().for_each(|letter| insert(input, letter)));
    }

    pub(super) fn perform(&mut self, action: Action) {
        if let Err(reason) = self.usable(action) {
            match action {
                // A person saves and presses the key. The run has its number in a moment.
                Action::Keep | Action::Discard
                    if self.runs.is_starting() && self.is_undecided() =>
                {
                    self.decision.held = Some(HeldKeys {
                        action,
                        since: self.now,
                        keys: Vec::new(),
                    });
                }
                Action::Keep => {
                    let reason = self.why_no_keep().unwrap_or(reason);
                    self.refuse(action, reason);
                }
                Action::Discard => {
                    let reason = self.why_no_discard().unwrap_or(reason);
                    self.refuse(action, reason);
                }
                // Words are typed behind these keys: a dialog takes them.
                Action::Undo | Action::Describe | Action::Annotate => {
                    self.refuse(action, reason);
                }
                _ => self.warn(format!("{}: {reason}", action.binding().words())),
            }
            if action == Action::Cite {
                // A bench may have been made meanwhile.
                self.load_board();
            }
            return;
        }
        self.carry_out(action);
    }

    /// Whether no decision is being carried out, and no loop decides.
    fn is_undecided(&self) -> bool {
        self.decision.in_progress.is_none() && !self.loops.running
    }

    /// Performs what waited for the number of a run, once the run has begun; one that takes long to
    /// begin is not waited for.
    pub(super) fn release_held(&mut self) {
        let (starts, now) = (self.runs.is_starting(), self.now);
        let is_due = |held: &mut HeldKeys| !starts || now.saturating_sub(held.since) > HOLD;
        let Some(held) = self.decision.held.take_if(is_due) else {
            return;
        };
        match self.usable(held.action) {
            Err(reason) if starts => self.refuse(held.action, reason),
            _ => self.perform(held.action),
        }
        held.keys.into_iter().for_each(|key| self.on_key(key));
    }

    /// Performs an action that can be used now.
    fn carry_out(&mut self, action: Action) {
        match action {
            Action::Keep | Action::Discard if self.takes_back(action) => {
                let name = action.binding().name;
                self.inform(format!(
                    "no {name} follows this run; your text is kept for the next {name}"
                ));
            }
            Action::Keep => self.describe_keep(),
            Action::Discard => self.describe_discard(),
            Action::Undo => self.ask_undo(),
            Action::ByRule => self.toggle_rule(),
            Action::Rerun => self.start(Reason::Rerun),
            Action::Measure => self.start(Reason::Measure),
            Action::Stop | Action::Close if self.decision.held_out.is_some() => {
                self.emit(Effect::StopKeep);
            }
            Action::Check if !self.runs.is_idle() => self.toggle_check(),
            Action::Check => self.start(Reason::Check),
            Action::Profile => self.start_profile(),
            Action::Stop if self.runs.is_idle() && self.profiles.running.is_some() => {
                self.emit(Effect::StopProfile);
            }
            Action::Stop => {
                self.runs.check_follows = false;
                self.emit(Effect::KillRun);
            }
            Action::Edit => self.emit(Effect::OpenEditor(self.editor_spot())),
            Action::Pause => self.toggle_pause(),
            Action::Bench => self.show(View::Bench),
            Action::Source => self.show(View::Source),
            Action::Results => {
                self.show_selected_problem();
                self.show(View::Results);
            }
            Action::Git => self.show(View::Git),
            Action::Device => self.show(View::Device),
            Action::Decisions => self.show(View::Decisions),
            Action::Sweep => self.show(View::Sweep),
            Action::NextPair => self.panes.sweep_pair += 1,
            Action::Loop => self.show(View::Loop),
            Action::PauseLoop | Action::EndTurn | Action::EndLoop => self.ask_loop(action),
            Action::FocusNext => self.panes.step_focus(true),
            Action::FocusPrevious => self.panes.step_focus(false),
            Action::Open if self.panes.focus() == Pane::Experiments => self.open_details(),
            Action::Open if self.panes.focus() == Pane::Graph => self.panes.set_focus(Pane::Commit),
            Action::Open if self.panes.focus() == Pane::Workloads => self.chart_workload(),
            Action::Open if self.panes.view == View::Decisions => self.open_evidence(),
            Action::Open if self.panes.focus() == Pane::Source && self.open_listing() => {}
            Action::Zoom | Action::Open => self.panes.set_zoom(!self.panes.zoom()),
            Action::Up => self.scroll(-1),
            Action::Down => self.scroll(1),
            Action::HalfUp => self.scroll(-self.half_page()),
            Action::HalfDown => self.scroll(self.half_page()),
            Action::Top => self.jump(false),
            Action::Bottom => self.jump(true),
            Action::Search => self.open_search(),
            Action::NextMatch => self.step_search(true),
            Action::PreviousMatch => self.step_search(false),
            Action::Freeze => {
                self.panes.set_focus(Pane::Log);
                let text = &mut self.panes.texts[Pane::Log as usize];
                self.panes.log.toggle_freeze(text);
            }
            Action::ScrollLeft => self.scroll_side(-8),
            Action::ScrollRight => self.scroll_side(8),
            Action::Context => self.widen(),
            Action::NextChange => self.step_change(true),
            Action::PreviousChange => self.step_change(false),
            Action::Fewer => self.zoom_history(true),
            Action::More => self.zoom_history(false),
            Action::All => self.panes.history.newest = None,
            Action::Histograms => {
                self.panes.set_focus(Pane::Correctness);
                self.panes.correctness.histograms = !self.panes.correctness.histograms;
            }
            Action::WrongCells => self.open_cells(),
            Action::LogScale => self.panes.history.toggle_scale(),
            Action::SortNext if self.panes.focus() != Pane::Workloads => self.sort_by_next(),
            Action::SortReverse if self.panes.focus() != Pane::Workloads => {
                let history = &self.repository.experiments;
                self.panes.experiments.table.reverse(history);
                self.load_details();
            }
            Action::SortNext | Action::SortWorkloads => {
                self.panes.set_focus(Pane::Workloads);
                self.panes.workloads.sort_by_next();
            }
            Action::SortReverse | Action::ReverseWorkloads => {
                self.panes.set_focus(Pane::Workloads);
                self.panes.workloads.reverse();
            }
            Action::AllProblems => self.turn_problems(),
            Action::NextDevice => self.next_device(),
            Action::Exchange => self.exchange(),
            Action::Filter => self.open_filter(),
            Action::Mark => self.mark(),
            Action::Compare => self.compare(),
            Action::Restore => self.ask_restore(),
            Action::ApplyPoint => self.ask_apply(),
            Action::Describe => self.ask_words(),
            Action::Annotate => self.ask_trailer(),
            Action::Cite => self.ask_decision(),
            Action::NextSection => self.panes.text_mut(Pane::Experiment).step(true),
            Action::PreviousSection => self.panes.text_mut(Pane::Experiment).step(false),
            Action::Close if self.end_search() => {}
            Action::Close if self.panes.view == View::Decisions && self.close_record() => {}
            Action::Close if self.panes.view == View::Results && self.close_in_results() => {
                self.load_details();
            }
            Action::Close
                if self.panes.view == View::Bench
                    && (!self.panes.zoom() || self.panes.focus() == Pane::History)
                    && self.panes.history.workload.take().is_some() => {}
            Action::TurnSource => self.panes.source.turn(),
            Action::SwitchBase => self.switch_base(),
            Action::NextMark => self.step_mark(true),
            Action::PreviousMark => self.step_mark(false),
            Action::NextEdit => self.step_edit(true),
            Action::PreviousEdit => self.step_edit(false),
            Action::Close => self.close(),
            Action::Palette => self.open_pick(PickFrom::Actions),
            Action::Copy => self.copy(self.to_copy()),
            Action::CopyAll => self.copy(self.all_to_copy()),
            Action::Export => {
                if let Ok(export) = self.to_export() {
                    self.ask(RepositoryRequest::Export(export));
                }
            }
            Action::Themes => {
                self.open_pick(PickFrom::Themes);
                self.emit(Effect::Settings(SettingsRequest::ListThemes));
            }
            Action::Kernels => self.open_kernels(),
            Action::BorderLeft | Action::BorderRight | Action::BorderUp | Action::BorderDown => {
                self.move_border(action);
            }
            Action::ResetBorders => self.panes.shares.clear(),
            Action::Mouse => self.toggle_mouse(),
            Action::ReloadConfig => {
                self.emit(Effect::Settings(SettingsRequest::Reload { asked: true }));
            }
            Action::Help => self.overlays.push(Overlay::Help(Help::default())),
            Action::Suspend => self.emit(Effect::Suspend),
            Action::Redraw => self.emit(Effect::Repaint),
            Action::Quit => self.ask_quit(),
            // These act in dialogs only.
            Action::Accept
            | Action::Abandon
            | Action::NextField
            | Action::PreviousField
            | Action::Fold
            | Action::PreviousChoice
            | Action::NextChoice
            | Action::Yes
            | Action::No => {}
        }
    }

    /// Shows why an action is not possible. The dialog takes the keys until it is closed.
    pub fn refuse(&mut self, action: Action, text: String) {
        self.overlays.push(Overlay::refused(action, text));
    }

    /// Shows the kernel, and judges and decides nothing: another screen does.
    pub fn only_show(&mut self, other: String) {
        (self.runs.paused, self.decision.auto) = (true, false);
        self.inform(format!(
            "{other} judges this kernel: this one only shows it"
        ));
        self.runs.other_screen = Some(other);
    }

    fn toggle_pause(&mut self) {
        self.runs.paused = !self.runs.paused;
        if self.runs.paused {
            let rerun = self.way(Action::Rerun);
            self.inform(format!("paused: saves start no run; {rerun} starts one"));
            return;
        }
        self.inform("watching again");
        let unjudged = matches!(self.runs.present, Some(Ok(_)))
            && (self.runs.last.is_none() || self.runs.is_stale());
        let idle = self.runs.is_idle();
        if unjudged && idle {
            self.start_once_decided(Reason::Saved);
        }
    }

    /// Shows the chart above and the workloads below, or the gates and run.log again.
    fn exchange(&mut self) {
        if self.frame.geometry.panes.len() >= self.panes.panes().len() {
            return self.inform("exchange: every pane is shown");
        }
        self.panes.has_charts = !self.panes.has_charts;
        let panes = if self.panes.has_charts {
            [Pane::History, Pane::Workloads]
        } else {
            [Pane::Correctness, Pane::Log]
        };
        panes
            .into_iter()
            .for_each(|pane| self.panes.set_focus(pane));
    }

    fn half_page(&self) -> isize {
        (self.frame.geometry.focused_rows / 2).max(1) as isize
    }

    pub(super) fn show(&mut self, view: View) {
        self.panes.view = view;
        self.load_shown();
        self.open_graph();
        self.load_loop();
        self.load_board();
        self.load_sweep();
    }

    pub(super) fn scroll(&mut self, by: isize) {
        match self.panes.focus() {
            Pane::History => self.step_comparable(by),
            Pane::Commits => {
                self.panes.commits.select(by, self.repository.commits.len());
                let selected = self.repository.commits.get(self.panes.commits.selected);
                let holds = selected.and_then(|commit| commit.experiment.as_deref());
                if let Some(key) = holds.map(Experiment::key) {
                    self.select(Some(key));
                }
            }
            Pane::Experiments => self.step_row(by),
            Pane::Source => self.panes.source.move_by(by),
            Pane::Graph => self.step_graph(by),
            Pane::Workloads => {
                let count = self.rows(Pane::Workloads).count;
                self.panes.workloads.list.select(by, count);
            }
            Pane::Board => {
                let count = self.repository.decisions().len();
                self.panes.board.select(by, count);
                self.repository.record = None;
                self.panes.text_mut(Pane::Decision).show(0);
            }
            Pane::Points => self.panes.points.select(by, &self.repository.points()),
            pane => self.panes.text_mut(pane).scroll(by),
        }
    }

    fn scroll_side(&mut self, by: isize) {
        let left = match self.panes.focus() {
            Pane::Source => &mut self.panes.source.left,
            Pane::Log | Pane::Correctness | Pane::History | Pane::Commits => {
                &mut self.panes.text_mut(Pane::Log).left
            }
            pane @ (Pane::Commit | Pane::Experiment | Pane::Edit) => {
                &mut self.panes.text_mut(pane).left
            }
            _ => return,
        };
        *left = left.saturating_add_signed(by).min(2_000);
    }

    /// Shows more or fewer lines around the changes of diffs.
    fn widen(&mut self) {
        self.panes.around = self.panes.around.next();
        self.inform(format!("diffs show {}", self.panes.around.words()));
        self.load_shown();
        self.load_commit();
        self.load_loop();
    }

    fn zoom_history(&mut self, closer: bool) {
        let count = self.repository.comparable().len();
        self.panes.history.zoom(closer, count);
    }

    fn jump(&mut self, bottom: bool) {
        match self.panes.focus() {
            Pane::Graph if bottom => self.read_to(ReadTarget::Row(usize::MAX)),
            _ if bottom => self.scroll(1_000_000),
            _ => self.scroll(-1_000_000),
        }
    }

    /// Closes one thing, the topmost first.
    fn close(&mut self) {
        if self.panes.view == View::Bench && self.selection.key.is_some() {
            self.selection.key = None;
        } else {
            self.panes.set_zoom(false);
        }
    }
}

//! What keys do.

use super::super::effect::Effect;
use super::super::keymap::{Action, Key, Place};
use super::super::overlay::Overlay;
use super::super::panes::Pane;
use super::super::status::Level;
use super::super::text::printable;
use super::super::views::View;
use super::{App, Deciding};
use crate::session::experiment::Experiment;
use crate::session::run::{Reason, RunId};
use crate::session::verdict::Outcome;
use ratatui::crossterm::event::{Event as Raw, KeyEvent};
use tui_input::Input;
use tui_input::backend::crossterm::EventHandler;

/// Longer descriptions than this make no good subject of a commit.
const DESCRIPTION: usize = 500;

impl App {
    pub(super) fn on_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        if self.panes.too_small() {
            return self.on_blind_key(key);
        }
        self.message.acknowledge();
        match self.overlays.last() {
            Some(Overlay::Help { .. }) => self.on_help_key(key),
            Some(Overlay::Trust { .. } | Overlay::DiscardNewer { .. }) => self.on_question_key(key),
            Some(_) => self.on_input_key(key),
            None => match self.keymap.find(Place::In(self.panes.view), key.into()) {
                Some(action) => self.perform(action),
                None => Vec::new(),
            },
        }
    }

    /// Where nothing can be shown, nothing can be decided; only what leaves the screen acts.
    fn on_blind_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        match self.keymap.find(Place::Screen, key.into()) {
            Some(action @ (Action::Quit | Action::Suspend)) => self.perform(action),
            _ => Vec::new(),
        }
    }

    /// Pasted text goes where a line is typed, and nowhere else.
    pub(super) fn on_paste(&mut self, text: &str) -> Vec<Effect> {
        if self.panes.too_small() {
            return Vec::new();
        }
        // A terminal pastes line ends as carriage returns.
        let text = text.split(['\r', '\n']).map(str::trim).filter(|line| !line.is_empty());
        let text = text.collect::<Vec<_>>().join(" ");
        if let Some(input) = self.overlays.last_mut().and_then(Overlay::input) {
            for letter in printable(&text).chars() {
                insert(input, letter);
            }
        }
        Vec::new()
    }

    fn perform(&mut self, action: Action) -> Vec<Effect> {
        if let Err(reason) = self.usable(action) {
            match action {
                Action::Keep => self.refuse(Deciding::Keep, reason),
                Action::Discard => self.refuse(Deciding::Discard, reason),
                _ => self.say(Level::Warning, format!("{}: {reason}", action.binding().name)),
            }
            return Vec::new();
        }
        match action {
            Action::Keep => self.ask_description(Deciding::Keep),
            Action::Discard => self.ask_description(Deciding::Discard),
            Action::Rerun => return self.start(Reason::Rerun),
            Action::Stop | Action::Close if self.checking.is_some() => return vec![Effect::StopKeep],
            Action::Check => return self.start(Reason::Check),
            Action::Stop => return vec![Effect::KillRun],
            Action::Edit => return vec![Effect::OpenEditor { line: self.editor_line() }],
            Action::Pause => return self.toggle_pause(),
            Action::Bench => return self.show(View::Bench),
            Action::Source => return self.show(View::Source),
            Action::Results => return self.show(View::Results),
            Action::Git => return self.show(View::Git),
            Action::Device => return self.show(View::Device),
            Action::FocusNext => self.panes.step_focus(true),
            Action::FocusPrevious => self.panes.step_focus(false),
            Action::Open if self.panes.focus() == Pane::Graph => self.panes.set_focus(Pane::Commit),
            Action::Zoom | Action::Open => self.panes.zoom = !self.panes.zoom,
            Action::Up => return self.scroll(-1),
            Action::Down => return self.scroll(1),
            Action::HalfUp => return self.scroll(-self.half_page()),
            Action::HalfDown => return self.scroll(self.half_page()),
            Action::Top => return self.jump(false),
            Action::Bottom => return self.jump(true),
            Action::Search => {
                self.panes.set_focus(Pane::Log);
                let before = self.log.search().to_owned();
                self.overlays.push(Overlay::Search { input: Input::default(), before });
            }
            Action::NextMatch => self.step_search(true),
            Action::PreviousMatch => self.step_search(false),
            Action::Freeze => {
                self.panes.set_focus(Pane::Log);
                self.log.toggle_freeze();
            }
            Action::ScrollLeft => self.scroll_side(-8),
            Action::ScrollRight => self.scroll_side(8),
            Action::NextChange => self.step_change(true),
            Action::PreviousChange => self.step_change(false),
            Action::Fewer => self.zoom_history(true),
            Action::More => self.zoom_history(false),
            Action::All => self.panes.history.newest = None,
            Action::LogScale => self.panes.history.toggle_scale(),
            Action::TurnSource => self.panes.source.turn(),
            Action::SwitchBase => self.switch_base(),
            Action::NextMark => self.step_mark(true),
            Action::PreviousMark => self.step_mark(false),
            Action::NextEdit => self.step_edit(true),
            Action::PreviousEdit => self.step_edit(false),
            Action::Close => self.close(),
            Action::Help => self.overlays.push(Overlay::Help { scroll: 0 }),
            Action::Suspend => return vec![Effect::Suspend],
            Action::Redraw => return vec![Effect::Repaint],
            Action::Quit => return vec![Effect::KillRun, Effect::Quit],
            Action::Accept | Action::Abandon | Action::Yes | Action::No => {}
        }
        Vec::new()
    }

    /// Says why not, and takes the keys until it is closed.
    pub(super) fn refuse(&mut self, what: Deciding, text: String) {
        let title = match what {
            Deciding::Keep => "Commit: not now",
            Deciding::Discard => "Discard: not now",
        };
        self.overlays.push(Overlay::Refused { title, text });
    }

    fn toggle_pause(&mut self) -> Vec<Effect> {
        self.paused = !self.paused;
        if self.paused {
            self.say(Level::Info, "paused: saves start nothing; r judges by hand");
            return Vec::new();
        }
        self.say(Level::Info, "watching again");
        let unjudged = matches!(self.present, Some(Ok(_))) && (self.last.is_none() || self.is_stale());
        let idle = matches!(self.running, super::Running::No);
        if unjudged && idle { self.start(Reason::Saved) } else { Vec::new() }
    }

    fn half_page(&self) -> isize {
        isize::try_from(self.panes.height() / 2).unwrap_or(isize::MAX).max(1)
    }

    fn show(&mut self, view: View) -> Vec<Effect> {
        self.panes.view = view;
        let mut effects = self.want_whole();
        effects.extend(self.open_graph());
        effects
    }

    fn scroll(&mut self, by: isize) -> Vec<Effect> {
        match self.panes.focus() {
            Pane::Correctness => self.panes.correctness.scroll(by),
            Pane::History => {
                let all: Vec<_> = self.comparable().into_iter().map(Experiment::key).collect();
                return self.step_chosen(by, &all);
            }
            Pane::Commits => {
                self.panes.commits.select(by, self.commits.len());
                let holds = self.commits.get(self.panes.commits.selected).and_then(|c| c.experiment.as_ref());
                if let Some(key) = holds.map(Experiment::key) {
                    return self.choose(Some(key));
                }
            }
            Pane::Log => self.log.scroll(by),
            Pane::Experiments => {
                let all: Vec<_> = self.history.iter().map(Experiment::key).collect();
                // The newest is on top.
                return self.step_chosen(by.saturating_neg(), &all);
            }
            Pane::Experiment => self.panes.experiment.scroll(by),
            Pane::Source => self.panes.source.move_by(by),
            Pane::Graph => return self.step_graph(by),
            Pane::Commit => self.panes.commit.scroll(by),
            Pane::Gauges | Pane::Build => {}
        }
        Vec::new()
    }

    fn scroll_side(&mut self, by: isize) {
        let left = match self.panes.focus() {
            Pane::Commit => &mut self.panes.commit.left,
            Pane::Source => &mut self.panes.source.left,
            _ => &mut self.log.left,
        };
        *left = left.saturating_add_signed(by).min(2_000);
    }

    fn zoom_history(&mut self, closer: bool) {
        let count = self.comparable().len();
        self.panes.history.zoom(closer, count);
    }

    fn jump(&mut self, bottom: bool) -> Vec<Effect> {
        match self.panes.focus() {
            Pane::Log if bottom => self.log.to_bottom(),
            Pane::Log => self.log.to_top(),
            _ if bottom => return self.scroll(1_000_000),
            _ => return self.scroll(-1_000_000),
        }
        Vec::new()
    }

    fn step_search(&mut self, forward: bool) {
        self.panes.set_focus(Pane::Log);
        if !self.log.step(forward) {
            let text = format!("'{}' is nowhere in run.log", self.log.search());
            self.say(Level::Warning, text);
        }
    }

    /// One thing a time, the topmost first.
    fn close(&mut self) {
        if !self.log.search().is_empty() {
            self.log.search_for("");
        } else if self.panes.view == View::Bench && self.chosen.is_some() {
            self.chosen = None;
        } else {
            self.panes.zoom = false;
        }
    }

    fn on_help_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let Some(Overlay::Help { scroll }) = self.overlays.last_mut() else { return Vec::new() };
        match self.keymap.find(Place::Screen, key.into()) {
            Some(Action::Up) => *scroll = scroll.saturating_sub(1),
            Some(Action::Down) => *scroll += 1,
            Some(Action::HalfUp) => *scroll = scroll.saturating_sub(10),
            Some(Action::HalfDown) => *scroll += 10,
            Some(Action::Top) => *scroll = 0,
            _ => drop(self.overlays.pop()),
        }
        Vec::new()
    }

    fn on_question_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let answer = self.keymap.find(Place::Question, key.into());
        if !matches!(answer, Some(Action::Yes | Action::No)) {
            return Vec::new();
        }
        match (self.overlays.pop(), answer) {
            (Some(Overlay::Trust { .. }), Some(Action::Yes)) => vec![Effect::Trust],
            (Some(Overlay::Trust { .. }), _) => {
                self.say(Level::Warning, "the harness command is not trusted: nothing runs; r asks again");
                Vec::new()
            }
            (Some(Overlay::DiscardNewer { run, .. }), Some(Action::Yes)) => {
                self.open_discard(run, true);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn ask_description(&mut self, what: Deciding) {
        let Some(last) = &self.last else { return };
        let run = last.start.id;
        let judged = last.decided.is_none() && last.verdict.outcome != Outcome::Void;
        let newer = self.is_stale() || self.status.as_ref().is_some_and(|s| s.discard_asks);
        match what {
            Deciding::Keep => {
                self.overlays.push(Overlay::Keep { run, input: Input::default(), problem: None });
            }
            Deciding::Discard if newer && !judged => self.ask_discard(format!(
                "No verdict belongs to the present bytes of {}. Discard them unjudged? They are kept in git, but no \
                 row is written.",
                self.setup.kernel
            )),
            Deciding::Discard if newer => self.ask_discard(format!(
                "kernel.cu has changed since run {run} judged it. Discard the newer bytes too? Both are kept in git."
            )),
            Deciding::Discard => self.open_discard(run, false),
        }
    }

    pub(super) fn ask_discard(&mut self, text: String) {
        let Some(run) = self.last.as_ref().map(|last| last.start.id) else { return };
        self.overlays.push(Overlay::DiscardNewer { run, text });
    }

    fn open_discard(&mut self, run: RunId, confirmed: bool) {
        self.overlays.push(Overlay::Discard { run, input: Input::default(), confirmed, problem: None });
    }

    fn on_input_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        match self.keymap.find(Place::Input, Key::from(key)) {
            Some(Action::Accept) => self.accept(),
            Some(Action::Abandon) => {
                if let Some(Overlay::Search { before, .. }) = self.overlays.pop() {
                    self.log.search_for(&before);
                }
                Vec::new()
            }
            _ => {
                if let Some(input) = self.overlays.last_mut().and_then(Overlay::input) {
                    type_key(input, key);
                }
                Vec::new()
            }
        }
    }

    fn accept(&mut self) -> Vec<Effect> {
        match self.overlays.pop() {
            Some(Overlay::Search { input, .. }) => {
                if !self.log.search_for(input.value()) {
                    self.say(Level::Warning, format!("'{}' is nowhere in run.log", input.value()));
                }
                Vec::new()
            }
            Some(Overlay::Keep { run, input, .. }) => {
                let description = input.value().trim().to_owned();
                let problem = if description.is_empty() {
                    Some("say what you tried: it becomes the commit's subject".to_owned())
                } else {
                    self.not_any_more(Action::Keep, run)
                };
                if problem.is_some() {
                    self.overlays.push(Overlay::Keep { run, input, problem });
                    return Vec::new();
                }
                self.deciding = Some(Deciding::Keep);
                vec![Effect::Keep { run, description }]
            }
            Some(Overlay::Discard { run, input, confirmed, .. }) => {
                let problem = self.not_any_more(Action::Discard, run);
                if problem.is_some() {
                    self.overlays.push(Overlay::Discard { run, input, confirmed, problem });
                    return Vec::new();
                }
                let typed = input.value().trim();
                let description = if typed.is_empty() { self.own_words() } else { typed.to_owned() };
                self.deciding = Some(Deciding::Discard);
                vec![Effect::Discard { run, description, confirmed }]
            }
            _ => Vec::new(),
        }
    }

    /// Why the run that a dialog is about can no longer be decided: the world went on while it was open.
    fn not_any_more(&self, action: Action, run: RunId) -> Option<String> {
        let last = self.last.as_ref().map(|last| last.start.id);
        if last != Some(run) {
            return Some("a newer run has judged newer bytes: close this and look again".to_owned());
        }
        self.usable(action).err()
    }

    /// The description of a discard that nobody described: what the run came to.
    pub fn own_words(&self) -> String {
        match &self.last {
            Some(last) if !last.verdict.why.is_empty() => printable(&last.verdict.why).into_owned(),
            _ => "no reason given".to_owned(),
        }
    }
}

fn insert(input: &mut Input, letter: char) {
    if input.value().chars().count() < DESCRIPTION {
        input.handle(tui_input::InputRequest::InsertChar(letter));
    }
}

fn type_key(input: &mut Input, key: KeyEvent) {
    let is_full = input.value().chars().count() >= DESCRIPTION;
    let before = is_full.then(|| input.clone());
    input.handle_event(&Raw::Key(key));
    if let Some(before) = before.filter(|b| b.value().len() < input.value().len()) {
        *input = before;
    }
}

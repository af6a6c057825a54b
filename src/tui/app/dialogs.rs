//! What keys do in a dialog: questions, and the lines that are typed.

use super::super::effect::Effect;
use super::super::keymap::{Action, Key, Place};
use super::super::overlay::Overlay;
use super::super::status::Level;
use super::super::text::printable;
use super::{App, Deciding};
use crate::session::run::RunId;
use crate::session::verdict::Outcome;
use ratatui::crossterm::event::{Event as Raw, KeyEvent};
use tui_input::Input;
use tui_input::backend::crossterm::EventHandler;

/// Longer descriptions than this make no good subject of a commit.
const DESCRIPTION: usize = 500;

impl App {
    pub(super) fn on_help_key(&mut self, key: KeyEvent) -> Vec<Effect> {
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

    pub(super) fn on_question_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        let answer = self.keymap.find(Place::Question, key.into());
        if !matches!(answer, Some(Action::Yes | Action::No)) {
            return Vec::new();
        }
        match (self.overlays.pop(), answer) {
            (Some(Overlay::Trust { .. }), Some(Action::Yes)) => vec![Effect::Trust],
            (Some(Overlay::Trust { .. }), _) => {
                let rerun = self.keymap.way(Action::Rerun);
                let text = format!("the harness command is not trusted: nothing runs; {rerun} asks again");
                self.say(Level::Warning, text);
                Vec::new()
            }
            (Some(Overlay::DiscardNewer { run, .. }), Some(Action::Yes)) => {
                self.open_discard(run, true);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn ask_description(&mut self, what: Deciding) {
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

    pub(super) fn on_input_key(&mut self, key: KeyEvent) -> Vec<Effect> {
        match self.keymap.find(Place::Input, Key::from(key)) {
            Some(Action::Accept) if self.overlays.last_mut().is_some_and(|o| o.pick().is_some()) => {
                self.accept_pick()
            }
            Some(Action::Accept) => self.accept(),
            Some(action @ (Action::PreviousChoice | Action::NextChoice)) => {
                self.on_pick_key(action);
                Vec::new()
            }
            Some(Action::Abandon) => {
                match self.overlays.pop() {
                    Some(Overlay::Search { pane, before, .. }) => self.give_search_back(pane, &before),
                    Some(overlay) => self.abandon_pick(overlay),
                    None => {}
                }
                Vec::new()
            }
            _ => {
                if let Some(input) = self.overlays.last_mut().and_then(Overlay::input) {
                    type_key(input, key);
                    self.retype_pick();
                }
                Vec::new()
            }
        }
    }

    fn accept(&mut self) -> Vec<Effect> {
        match self.overlays.pop() {
            Some(Overlay::Search { pane, input, .. }) => self.search_for(pane, input.value()),
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

pub(super) fn insert(input: &mut Input, letter: char) {
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

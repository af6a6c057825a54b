//! The keys in dialogs: questions, and lines that are typed.

use crate::keymap::{Action, KeyScope};
use crate::model::Model;
use crate::overlay::{About, Help, LineOf, Overlay, PickFrom};
use crate::request::RepositoryRequest;
use crate::state::Now;
use ratatui::crossterm::event::{Event as Raw, KeyCode, KeyEvent, KeyModifiers};
use std::time::Duration;
use tui_input::Input;
use tui_input::backend::crossterm::EventHandler;

/// Rows that a key for half a page scrolls in a text that is only read.
const PAGE: usize = 10;
/// This long after a letter that answers no question the next one answers again.
const REST: Duration = Duration::from_millis(500);
/// A typed line has at most this many letters.
const LINE: usize = 500;

impl Model {
    /// Opens a question below the open dialogs: it may come at any time, and text that is being
    /// typed must not answer it.
    pub(super) fn ask_question(&mut self, question: Overlay) {
        self.overlays.insert(0, question);
    }

    /// The keys of a text that is only read: they scroll it or close it. In the help letters that
    /// were meant for a search must decide nothing.
    pub(super) fn on_reading_key(&mut self, action: Action) {
        if self.on_cells_key(action) {
            return;
        }
        let Some(overlay) = self.overlays.last_mut() else {
            return;
        };
        if let Some(scroll) = overlay.scroll()
            && let Some(row) = scrolled(*scroll, action, PAGE)
        {
            *scroll = row;
            return;
        }
        match (overlay, action) {
            (Overlay::Help(help), Action::Search) => help.typing = true,
            (Overlay::Help(help), Action::Close) if !help.search.value().is_empty() => {
                *help = Help::default();
            }
            (_, Action::Close | Action::Open | Action::Quit) | (Overlay::Help(_), Action::Help) => {
                self.overlays.pop();
            }
            _ => {}
        }
    }

    pub(super) fn on_question_key(&mut self, answer: Option<Action>, key: KeyEvent) {
        if let Some(Overlay::Trust { reading, .. }) = self.overlays.last_mut() {
            if answer == Some(Action::Yes) && !reading.is_all_read() {
                let down = self.way(Action::Down);
                let text =
                    format!("yes is possible once all of the question was shown: {down} scrolls");
                self.warn(text);
                return;
            }
            if answer.is_none() {
                let page = reading.drawn.map_or(1, |fit| fit.rows.max(1));
                let action = self.appearance.keymap.find(KeyScope::Screen, key.into());
                let row = action.and_then(|action| scrolled(reading.scroll, action, page));
                match row {
                    Some(row) => reading.scroll_to(row),
                    None => drop(self.strays(None, key)),
                }
                return;
            }
        }
        if self.strays(answer, key) {
            return;
        }
        match (self.overlays.pop(), answer) {
            (Some(Overlay::Trust { request, .. }), Some(Action::Yes)) => {
                self.ask(RepositoryRequest::Trust(request));
            }
            (Some(Overlay::Trust { request, .. }), _) => {
                let rerun = self.way(Action::Rerun);
                let subject = request.subject();
                let text = format!("{subject} is not trusted: nothing runs; {rerun} asks again");
                self.warn(text);
            }
            (Some(Overlay::Question { about, .. }), Some(Action::Yes)) => match about {
                About::Change(change) => self.change_if_calm(change),
                About::Rule => self.decision.auto = true,
                About::Quit => self.quit(),
            },
            _ => {}
        }
    }

    /// Whether a key of a question is no answer to it. A letter that is none is the beginning of a
    /// text that was meant for another dialog: no letter answers until the typing rests.
    fn strays(&mut self, answer: Option<Action>, key: KeyEvent) -> bool {
        let is_answer = matches!(answer, Some(Action::Yes | Action::No));
        let is_letter = matches!(key.code, KeyCode::Char(_));
        let strays = !is_answer || (is_letter && self.is_typed_into());
        if strays && is_letter {
            self.frame.strayed = Some(self.now);
            let (yes, no) = (self.way(Action::Yes), self.way(Action::No));
            self.warn(format!(
                "this question takes no text: {yes} and {no} answer half a second after the last other letter"
            ));
        }
        strays
    }

    /// Whether a text that was meant for another dialog is being typed into this one.
    fn is_typed_into(&self) -> bool {
        let is_recent = |at: Now| self.now.saturating_sub(at) < REST;
        self.frame.strayed.is_some_and(is_recent)
    }

    pub(super) fn on_input_key(&mut self, action: Option<Action>, key: KeyEvent) {
        match self.overlays.last_mut() {
            Some(Overlay::Preparing { held, .. }) => {
                match action {
                    Some(Action::Abandon) => drop(self.overlays.pop()),
                    _ => held.push(key),
                }
                return;
            }
            // A refusal that text ran into stays until somebody can have read it.
            Some(Overlay::Refused { .. }) if action != Some(Action::Abandon) => {
                if matches!(key.code, KeyCode::Char(_)) {
                    self.frame.strayed = Some(self.now);
                    return;
                }
                if self.is_typed_into() {
                    return;
                }
            }
            _ => {}
        }
        if self.holds(action, key) {
            return;
        }
        let Some(overlay) = self.overlays.last_mut() else {
            return;
        };
        match (action, overlay) {
            (Some(Action::Accept), _) => self.accept(),
            (Some(Action::Abandon), _) => self.abandon(),
            (
                Some(action @ (Action::PreviousChoice | Action::NextChoice)),
                Overlay::Message { draft, .. },
            ) => {
                let before = draft.input().value().to_owned();
                draft.choose(action == Action::NextChoice);
                if draft.input().value() != before {
                    draft.problem = None;
                }
            }
            (Some(action @ (Action::PreviousChoice | Action::NextChoice)), overlay) => {
                let by = if action == Action::NextChoice { 1 } else { -1 };
                match overlay.scroll() {
                    Some(scroll) => *scroll = scroll.saturating_add_signed(by),
                    None => self.step_pick(by),
                }
            }
            (Some(Action::Fold), Overlay::Message { draft, .. }) => draft.fold(),
            (
                Some(action @ (Action::NextField | Action::PreviousField)),
                Overlay::Message { draft, .. },
            ) => draft.step(action == Action::NextField),
            (
                Some(Action::NextField | Action::PreviousField),
                Overlay::Line {
                    of: LineOf::Trailer { .. },
                    ..
                },
            ) => self.switch_trailer(),
            (Some(Action::NextField | Action::PreviousField | Action::Fold), overlay)
                if !matches!(overlay, Overlay::Help(_)) => {}
            (_, overlay) => {
                if let Some(scroll) = overlay.scroll() {
                    *scroll = 0;
                }
                if let Overlay::Message { draft, .. } = overlay {
                    let is_text = matches!(key.code, KeyCode::Char(_));
                    draft
                        .begin(is_text && key.modifiers.difference(KeyModifiers::SHIFT).is_empty());
                }
                self.edit(|input| type_key(input, key));
            }
        }
    }

    /// Changes the line that is typed into.
    pub(super) fn edit(&mut self, how: impl FnOnce(&mut Input)) {
        if let Some(overlay) = self.overlays.last_mut()
            && let Some(input) = overlay.input()
        {
            let before = input.value().to_owned();
            how(input);
            if input.value() != before {
                overlay.clear_problem();
            }
            self.retype_pick();
        }
        self.typed();
    }

    fn accept(&mut self) {
        match self.overlays.pop() {
            Some(Overlay::Help(help)) => self.overlays.push(Overlay::Help(Help {
                typing: false,
                ..help
            })),
            Some(Overlay::Search { pane, input, .. }) => self.search_for(pane, input.value()),
            // A filter with an error stays open; a correct one applies already.
            Some(
                filter @ Overlay::Filter {
                    problem: Some(_), ..
                },
            ) => self.overlays.push(filter),
            Some(Overlay::Message { draft, action }) => self.accept_message(draft, action),
            Some(Overlay::Line { of, input, .. }) => self.accept_line(of, input),
            Some(pick @ Overlay::Pick { .. }) => {
                self.overlays.push(pick);
                self.accept_pick();
            }
            _ => {}
        }
    }

    fn abandon(&mut self) {
        match self.overlays.pop() {
            Some(Overlay::Help(_)) => self.overlays.push(Overlay::Help(Help::default())),
            Some(Overlay::Filter { before, .. }) => self.filter_by(&before),
            Some(Overlay::Search { pane, before, .. }) => self.set_needle(pane, &before),
            Some(Overlay::Message { draft, action }) => {
                self.decision.drafts.insert(action, draft);
            }
            Some(Overlay::Pick {
                of: PickFrom::Themes,
                ..
            }) => self.appearance.theme = self.appearance.held_theme.clone(),
            Some(Overlay::Pick {
                of: PickFrom::Kernels(_),
                ..
            }) => self.stay_here(),
            _ => {}
        }
    }
}

/// The first visible row of a text after a key of panes; `None` for another action. Drawing brings
/// the row back into the text.
fn scrolled(first: usize, action: Action, page: usize) -> Option<usize> {
    Some(match action {
        Action::Up => first.saturating_sub(1),
        Action::Down => first.saturating_add(1),
        Action::HalfUp => first.saturating_sub(page),
        Action::HalfDown => first.saturating_add(page),
        Action::Top => 0,
        Action::Bottom => usize::MAX,
        _ => return None,
    })
}

pub(super) fn insert(input: &mut Input, letter: char) {
    if input.value().chars().count() < LINE {
        input.handle(tui_input::InputRequest::InsertChar(letter));
    }
}

fn type_key(input: &mut Input, key: KeyEvent) {
    let is_full = input.value().chars().count() >= LINE;
    // A letter with Ctrl or Alt is a key, and no text.
    let is_key = key
        .modifiers
        .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    let before = (is_full || is_key).then(|| input.clone());
    input.handle_event(&Raw::Key(key));
    if let Some(before) = before.filter(|b| b.value().len() < input.value().len()) {
        *input = before;
    }
}

//! The keys in dialogs: questions, and lines that are typed.

use crate::keymap::{Action, Key, KeyScope};
use crate::model::Model;
use crate::overlay::{About, Decides, Help, Overlay};
use crate::request::RepositoryRequest;
use ratatui::crossterm::event::{Event as Raw, KeyEvent, KeyModifiers};
use tui_input::Input;
use tui_input::backend::crossterm::EventHandler;

/// Most letters of a line.
const LINE: usize = 500;

impl Model {
    /// Opens a question below the open dialogs: it may come at any time, and text that is being
    /// typed must not answer it.
    pub(super) fn ask_question(&mut self, question: Overlay) {
        self.overlays.insert(0, question);
    }

    /// In the help only the keys act that scroll or close it: letters that were meant for a search
    /// must decide nothing.
    pub(super) fn on_help_key(&mut self, key: KeyEvent) {
        let Some(Overlay::Help(help)) = self.overlays.last_mut() else {
            return;
        };
        match self.appearance.keymap.find(KeyScope::Screen, key.into()) {
            Some(action) if scroll_by_key(&mut help.scroll, action) => {}
            Some(Action::Search) => help.typing = true,
            Some(Action::Close) if !help.search.value().is_empty() => *help = Help::default(),
            Some(Action::Close | Action::Help | Action::Open | Action::Quit) => {
                drop(self.overlays.pop());
            }
            _ => {}
        }
    }

    /// The keys of a list that is only read: they scroll it or close it.
    pub(super) fn on_listing_key(&mut self, key: KeyEvent) {
        let Some(Overlay::Listing { scroll, .. }) = self.overlays.last_mut() else {
            return;
        };
        match self.appearance.keymap.find(KeyScope::Screen, key.into()) {
            Some(action) if scroll_by_key(scroll, action) => {}
            Some(Action::Close | Action::Open | Action::Quit) => drop(self.overlays.pop()),
            _ => {}
        }
    }

    pub(super) fn on_question_key(&mut self, key: KeyEvent) {
        let answer = self.appearance.keymap.find(KeyScope::Question, key.into());
        if let Some(Overlay::Trust { reading, .. }) = self.overlays.last_mut() {
            if answer == Some(Action::Yes) && !reading.is_all_read() {
                let down = self.way(Action::Down);
                let text =
                    format!("yes is possible once all of the question was shown: {down} scrolls");
                self.warn(text);
                return;
            }
            if answer.is_none() {
                let page = reading
                    .drawn
                    .map_or(1, |fit| isize::try_from(fit.rows.max(1)).unwrap_or(1));
                match self.appearance.keymap.find(KeyScope::Screen, key.into()) {
                    Some(Action::Up) => reading.scroll_by(-1),
                    Some(Action::Down) => reading.scroll_by(1),
                    Some(Action::HalfUp) => reading.scroll_by(-page),
                    Some(Action::HalfDown | Action::Bottom) => reading.scroll_by(page),
                    Some(Action::Top) => reading.scroll = 0,
                    _ => {}
                }
                return;
            }
        }
        if !matches!(answer, Some(Action::Yes | Action::No)) {
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
                About::Undo(run) => self.undo(run),
                About::Restore(commit) => self.restore(commit),
                About::NewerBytes(run) => {
                    self.open_message(run, Decides::Discard { confirmed: true });
                }
            },
            _ => {}
        }
    }

    /// The keys of the line that is typed into the help.
    fn on_help_search_key(&mut self, key: KeyEvent) {
        let action = self.appearance.keymap.find(KeyScope::Input, Key::from(key));
        let Some(Overlay::Help(help)) = self.overlays.last_mut() else {
            return;
        };
        match action {
            Some(Action::Accept) => help.typing = false,
            Some(Action::Abandon) => *help = Help::default(),
            Some(Action::PreviousChoice) => help.scroll = help.scroll.saturating_sub(1),
            Some(Action::NextChoice) => help.scroll = help.scroll.saturating_add(1),
            _ => {
                type_key(&mut help.search, key);
                help.scroll = 0;
            }
        }
    }

    pub(super) fn on_input_key(&mut self, key: KeyEvent) {
        if matches!(self.overlays.last(), Some(Overlay::Help(_))) {
            return self.on_help_search_key(key);
        }
        match self.appearance.keymap.find(KeyScope::Input, Key::from(key)) {
            Some(Action::Accept)
                if self.overlays.last_mut().is_some_and(|o| o.pick().is_some()) =>
            {
                self.accept_pick();
            }
            Some(Action::Accept) => self.accept(),
            Some(action @ (Action::NextField | Action::PreviousField | Action::Fold)) => {
                match (self.overlays.last_mut().and_then(Overlay::draft), action) {
                    (Some(draft), Action::Fold) => draft.fold(),
                    (Some(draft), _) => draft.step(action == Action::NextField),
                    (None, _) => {}
                }
            }
            Some(action @ (Action::PreviousChoice | Action::NextChoice)) => {
                match self.overlays.last_mut().and_then(Overlay::draft) {
                    Some(draft) => {
                        let before = draft.input().value().to_owned();
                        draft.choose(action == Action::NextChoice);
                        if draft.input().value() != before {
                            draft.problem = None;
                        }
                    }
                    None => self.on_pick_key(action),
                }
            }
            Some(Action::Abandon) => match self.overlays.pop() {
                Some(Overlay::Filter { before, .. }) => self.filter_by(&before),
                Some(Overlay::Search { pane, before, .. }) => self.set_needle(pane, &before),
                Some(Overlay::Message { draft, of }) => *self.draft_of(of) = Some(draft),
                Some(overlay) => self.abandon_pick(overlay),
                None => {}
            },
            _ => self.edit(|input| type_key(input, key)),
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
            Some(Overlay::Search { pane, input, .. }) => self.search_for(pane, input.value()),
            // A filter with an error stays open; a correct one applies already.
            Some(Overlay::Filter {
                input,
                before,
                problem: Some(problem),
            }) => {
                self.overlays.push(Overlay::Filter {
                    input,
                    before,
                    problem: Some(problem),
                });
            }
            Some(Overlay::Message { draft, of }) => self.accept_message(draft, of),
            Some(Overlay::Describe { commit, input, .. }) => self.accept_description(commit, input),
            _ => {}
        }
    }
}

/// Scrolls a window by the keys of panes; false for another action. Drawing brings the row back
/// into the text.
fn scroll_by_key(scroll: &mut usize, action: Action) -> bool {
    *scroll = match action {
        Action::Up => scroll.saturating_sub(1),
        Action::Down => scroll.saturating_add(1),
        Action::HalfUp => scroll.saturating_sub(10),
        Action::HalfDown => scroll.saturating_add(10),
        Action::Top => 0,
        Action::Bottom => usize::MAX,
        _ => return false,
    };
    true
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

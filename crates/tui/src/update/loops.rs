//! The view Loop: when the loop is read for it, and what its keys ask the loop for.

use super::ask;
use crate::effect::Effect;
use crate::keymap::Action;
use crate::model::Model;
use crate::request::{RepositoryRequest, ViewRequest};
use crate::status::MessageLevel;
use crate::views::View;
use lab_core::auto::{LoopView, Request};

impl Model {
    /// Reads the loop where its view is shown.
    pub(super) fn load_loop(&self) -> Option<Effect> {
        let context = self.panes.around;
        (self.panes.view == View::Loop).then_some(Effect::View(ViewRequest::Loop(context)))
    }

    pub(super) fn on_loop_changed(&mut self, running: bool) -> Vec<Effect> {
        self.loops.running = running;
        self.load_loop().into_iter().collect()
    }

    pub(super) fn on_loop(&mut self, read: Result<LoopView, String>) -> Vec<Effect> {
        let hunks = read
            .as_ref()
            .ok()
            .and_then(|view| view.edit.as_deref().ok())
            .unwrap_or_default();
        self.panes.loops.edit.show(hunks);
        self.loops.take(read, self.now);
        Vec::new()
    }

    /// Asks the loop to pause or to go on, or to end its turn.
    pub(super) fn ask_loop(&mut self, action: Action) -> Vec<Effect> {
        let is_pausing = self.loops.view().is_some_and(LoopView::is_pausing);
        let asked = match action {
            Action::EndTurn => Request::EndTurn,
            _ if is_pausing => Request::Resume,
            _ => Request::Pause,
        };
        ask(RepositoryRequest::Loop(asked))
    }

    pub(super) fn on_loop_asked(
        &mut self,
        asked: Request,
        result: Result<(), String>,
    ) -> Vec<Effect> {
        match (result, asked) {
            (Err(why), _) => self.say(MessageLevel::Error, why),
            (Ok(()), Request::Pause) => {
                let key = self.appearance.keymap.way(Action::PauseLoop);
                self.say(
                    MessageLevel::Info,
                    format!("the loop pauses after this turn; {key} lets it go on"),
                );
            }
            (Ok(()), Request::Resume) => self.say(MessageLevel::Info, "the loop goes on"),
            (Ok(()), Request::Stop) => {
                self.say(MessageLevel::Info, "the loop ends after this turn");
            }
            (Ok(()), Request::EndTurn) => {
                self.say(MessageLevel::Info, "the turn ends; the loop goes on");
            }
        }
        self.load_loop().into_iter().collect()
    }

    /// Why the loop cannot be asked for this.
    pub fn can_ask_loop(&self, action: Action) -> Result<(), String> {
        let view = self
            .loops
            .view()
            .filter(|_| self.loops.any_runs())
            .ok_or("no loop runs")?;
        match action == Action::EndTurn && !view.is_in_turn() {
            true => Err("no turn is in progress".to_owned()),
            false => Ok(()),
        }
    }
}

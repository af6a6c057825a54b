//! The view Loop: when the loop is read for it, and what its keys ask the loop for.

use crate::keymap::Action;
use crate::model::Model;
use crate::request::{RepositoryRequest, ViewRequest};
use crate::views::{Pane, View};
use lab_auto::{LoopView, Request};

impl Model {
    /// Reads the loop where its view is shown.
    pub(super) fn load_loop(&mut self) {
        if self.panes.view == View::Loop {
            self.load(ViewRequest::Loop(self.panes.around));
        }
    }

    pub(super) fn on_loop(&mut self, read: Result<LoopView, String>) {
        let hunks = read
            .as_ref()
            .ok()
            .and_then(|view| view.edit.as_deref().ok())
            .unwrap_or_default();
        let text = &mut self.panes.texts[Pane::Edit as usize];
        self.panes.edit.show(hunks, text);
        self.loops.take(read, self.now);
    }

    /// The pane that a small screen shows below the pane Loop: the first one that has something to
    /// show, else none but the pane Loop.
    pub fn loop_pane(&self) -> Pane {
        let is_unreadable = self.loops.view().is_some_and(|view| view.edit.is_err());
        let has_rows = |pane: &Pane| is_unreadable || self.rows(*pane).count > 0;
        let mut panes = [Pane::Edit, Pane::Verdicts, Pane::Command].into_iter();
        panes.find(has_rows).unwrap_or(Pane::Loop)
    }

    /// Asks the loop to pause or to go on, or to end its turn.
    pub(super) fn ask_loop(&mut self, action: Action) {
        let asked = match action {
            Action::EndTurn => Request::EndTurn,
            Action::EndLoop => Request::Stop,
            _ if self.loops.is_pausing() => Request::Resume,
            _ => Request::Pause,
        };
        self.ask(RepositoryRequest::Loop(asked));
    }

    pub(super) fn on_loop_asked(&mut self, asked: Request, result: Result<(), String>) {
        match (result, asked) {
            (Err(why), _) => self.fail(why),
            (Ok(()), Request::Pause) => {
                let key = self.way(Action::PauseLoop);
                self.inform(format!(
                    "the loop pauses after this turn; {key} lets it go on"
                ));
            }
            (Ok(()), Request::Resume) => self.inform("the loop goes on"),
            (Ok(()), Request::Stop) => self.inform("the loop ends after this turn"),
            (Ok(()), Request::EndTurn) if self.loops.is_pausing() => {
                let key = self.way(Action::PauseLoop);
                self.inform(format!(
                    "the turn ends; the loop then waits: {key} lets it go on"
                ));
            }
            (Ok(()), Request::EndTurn) => self.inform("the turn ends; the loop goes on"),
        }
        self.load_loop();
    }

    /// Why the loop cannot be asked for this.
    pub fn can_ask_loop(&self, action: Action) -> Result<(), String> {
        let view = self
            .loops
            .view()
            .filter(|_| self.loops.any_runs())
            .ok_or("no loop runs")?;
        if action == Action::EndTurn && !view.is_in_turn() {
            Err("no turn is in progress".to_owned())
        } else {
            Ok(())
        }
    }
}

//! Keep, discard and undo, by the user; and what follows from each decision.

use crate::draft::Draft;
use crate::effect::Effect;
use crate::keymap::Action;
use crate::model::Model;
use crate::overlay::{About, Overlay};
use crate::reply::Changed;
use crate::request::{Change, RepositoryRequest};
use crate::state::{ExpectedBytes, FinishedRun, HeldOutCheck};
use crate::text::printable;
use lab_decide::policy::Discard;
use lab_decide::{Decided, Refusal, Undoable, Undone};
use lab_git::short;
use lab_history::tested::tested;
use lab_protocol::report::Asked;
use lab_run::RunId;
use lab_run::experiment::Status;
use lab_run::message::{Message, Trailer};
use lab_runner::follow::Batch;
use std::sync::Arc;

impl Model {
    /// Opens the dialog for the message of a keep.
    pub(super) fn describe_keep(&mut self) {
        let awaited = self.awaited_run(Action::Keep);
        if let Some(run) = awaited.or_else(|| self.decision_run()) {
            self.open_message(run, Action::Keep);
        }
    }

    /// Opens the dialog for the message of a discard. It opens at once, whatever is discarded, so
    /// that text typed behind the key is text; what needs a yes is asked after it.
    pub(super) fn describe_discard(&mut self) {
        let awaited = self.awaited_run(Action::Discard);
        if let Some(run) = awaited.or_else(|| self.decision_run()) {
            self.open_message(run, Action::Discard);
        }
    }

    /// Asks what the rules ask: newer bytes came while the discard began.
    fn ask_after(&mut self, action: Action, question: String) {
        match self.decision.drafts.get(&action) {
            Some(draft) => {
                let message = draft.message(&self.default_description());
                self.ask_discard(question, draft.run, message);
            }
            None => self.refuse(action, question),
        }
    }

    /// Asks before a discard that needs a yes. Its text stays as the draft.
    fn ask_discard(&mut self, text: String, run: RunId, message: Message) {
        self.ask_question(Overlay::Question {
            text,
            about: About::Change(Change::Discard {
                run,
                message,
                confirmed: true,
            }),
        });
    }

    /// Opens the dialog for the message of a keep or a discard.
    pub(super) fn open_message(&mut self, run: RunId, action: Action) {
        // A draft ends when its run is decided, also in a shell.
        let mut experiments = self.repository.experiments.iter();
        let typed = self.decision.drafts.get(&action);
        let typed =
            typed.filter(|draft| !experiments.any(|e| e.run == Some(draft.run) && !e.foreign));
        let tested = self.tested_by(run, action).unwrap_or_default();
        self.overlays.push(Overlay::Message {
            draft: Draft::resume(typed, run, tested),
            action,
        });
    }

    /// The text of the trailer `Tested` in the message of a decision; `None` without a verdict of
    /// the bytes that it is about.
    fn tested_by(&self, run: RunId, action: Action) -> Option<String> {
        let is_judged = action == Action::Keep || !self.discards_unjudged(run);
        let judged = self.runs.last_if(run).filter(|_| is_judged);
        judged.map(|judged| self.tested(judged))
    }

    /// The text of the trailer `Tested` of a run.
    pub(super) fn tested(&self, run: &FinishedRun) -> String {
        let experiments = &self.repository.experiments;
        tested(&run.record, experiments, &self.setup.config())
    }

    /// Closes the screen. Asks first while a decision is being made or waits for its run.
    pub(super) fn ask_quit(&mut self) {
        let follows = self.decision.follows.map(|(action, run)| {
            format!(
                "The {} of run {run} waits for its verdict.",
                action.binding().name
            )
        });
        let deciding = self.decision.in_progress;
        let deciding = deciding.map(|it| format!("The {} is not done yet.", it.binding().words()));
        match deciding.or(follows) {
            Some(what) => self.ask_question(Overlay::Question {
                text: format!("{what} Quit without it? The run stays open, and its text is lost."),
                about: About::Quit,
            }),
            None => self.quit(),
        }
    }

    pub(super) fn quit(&mut self) {
        self.emit(Effect::KillRun);
        self.emit(Effect::Quit);
    }

    /// The action follows the run in progress no longer; false where it did not.
    pub(super) fn takes_back(&mut self, action: Action) -> bool {
        let is_it = |(follows, _): &mut (Action, RunId)| *follows == action;
        self.decision.follows.take_if(is_it).is_some()
    }

    /// Cancels the decision that was to follow a run, or the question before a discard, and says
    /// why. The typed text stays as the draft.
    pub(super) fn withdraw(&mut self, why: &str) {
        let follows = self.decision.follows.take().map(|(action, _)| action);
        let before = self.overlays.len();
        self.overlays.retain(|overlay| !overlay.asks_discard());
        let asked = (self.overlays.len() < before).then_some(Action::Discard);
        let Some(action) = follows.or(asked) else {
            return;
        };
        let name = action.binding().name;
        let text = match self.decision.drafts.get(&action) {
            Some(_) => format!("; your text is kept for the next {name}"),
            None => String::new(),
        };
        self.warn(format!("no {name} follows: {why}{text}"));
    }

    /// Keeps or discards the run for which that was asked while it was in progress.
    pub(super) fn decision_that_follows(&mut self) {
        if self.is_calm().is_err() {
            return;
        }
        let Some((action, run)) = self.decision.follows else {
            return;
        };
        let why = self.no_longer_possible(action, run);
        let is_of_run = matches!(self.allowed().discard, Ok(Discard::Run(of)) if of == run);
        if why.is_none() && action == Action::Discard && !is_of_run {
            return self.withdraw("the bytes on disk are not those that the run judged");
        }
        self.decision.follows = None;
        let draft = self.decision.drafts.get(&action).cloned();
        match (why, draft) {
            (None, Some(draft)) => self.accept_message(draft, action),
            (None, None) => {}
            (Some(why), _) => {
                let name = action.binding().name;
                let text = format!("run {run}: {why}. Your text is kept for the next {name}.");
                self.refuse(action, text);
            }
        }
    }

    pub(super) fn accept_message(&mut self, mut draft: Draft, action: Action) {
        draft.complete();
        if let Some(tested) = self.tested_by(draft.run, action) {
            draft.fill(tested);
        }
        let run = draft.run;
        let waits = self.awaited_run(action) == Some(run);
        draft.problem = if action == Action::Keep && draft.subject().is_empty() {
            Some("describe what you tried: it becomes the commit's subject".to_owned())
        } else if waits {
            draft.wrong()
        } else {
            self.no_longer_possible(action, run)
                .or_else(|| draft.wrong())
        };
        if draft.problem.is_some() {
            return self.overlays.push(Overlay::Message { draft, action });
        }
        if waits {
            self.decision.drafts.insert(action, draft);
            self.decision.follows = Some((action, run));
            let (name, key) = (action.binding().name, self.way(action));
            let if_it = match action {
                Action::Keep => " if it passes",
                _ => "",
            };
            return self.inform(format!(
                "the {name} follows this run{if_it}; {key} again takes that back"
            ));
        }
        let message = draft.message(&match action {
            Action::Keep => String::new(),
            _ => self.default_description(),
        });
        // The draft stays until the decision succeeds: it may still be refused.
        self.decision.drafts.insert(action, draft);
        let question = match action {
            Action::Keep => None,
            _ => self.discard_question(),
        };
        match question {
            Some(question) => self.ask_discard(question, run, message),
            None if action == Action::Keep => self.change(Change::Keep {
                run,
                message,
                by_rule: false,
            }),
            None => self.change(Change::Discard {
                run,
                message,
                confirmed: false,
            }),
        }
    }

    /// Has a change made.
    pub(super) fn change(&mut self, change: Change) {
        self.decision.in_progress = Some(change.action());
        self.ask(RepositoryRequest::Change(change));
    }

    /// Has a change made that the user agreed to. A run may have started while the question was
    /// open.
    pub(super) fn change_if_calm(&mut self, change: Change) {
        match self.is_calm() {
            Ok(()) => self.change(change),
            Err(why) => self.refuse(change.action(), why),
        }
    }

    /// Why the run of an open dialog can no longer be decided: another run or save came while it
    /// was open.
    fn no_longer_possible(&self, action: Action, run: RunId) -> Option<String> {
        let awaited = self.awaited_run(action);
        let awaited = awaited.is_some_and(|awaited| awaited != run);
        if self.decision_run() != Some(run) || awaited {
            return Some(
                "there is a newer run: close this dialog; your text is kept for the next one"
                    .to_owned(),
            );
        }
        self.usable(action).err()
    }

    /// Sealed runs that a keep of the present bytes has to pass.
    fn sealed_runs(&self) -> u32 {
        let present = self.repository.present();
        present.map_or(1, |present| present.sealed_runs)
    }

    /// New lines of the held-out check before a keep. They follow the run's own lines in run.log.
    pub(super) fn on_held_out(&mut self, run: RunId, batch: Batch) {
        let is_last = self.runs.last_of(run).is_some();
        if self.decision.in_progress != Some(Action::Keep) || !is_last {
            return self.ignore();
        }
        self.panes.push_log(batch.skipped, batch.lines);
        let (began, sealed_runs) = (self.now, self.sealed_runs());
        let begun = || HeldOutCheck {
            began,
            sealed_runs,
            report: Arc::default(),
        };
        let checking = self.decision.held_out.get_or_insert_with(begun);
        if let Some(report) = batch.report {
            checking.report = report;
        }
    }

    pub(super) fn on_changed(&mut self, result: Result<Changed, Refusal>) {
        let action = self.decision.in_progress.take().unwrap_or(Action::Keep);
        let by_rule = std::mem::take(&mut self.decision.by_rule);
        if let Some(check) = self.decision.held_out.take() {
            let times = &mut self.runs.stage_times;
            times.learn(Asked::HeldOut, &check.report);
        }
        // A restore changes no record.
        if !matches!(action, Action::Restore | Action::ApplyPoint) {
            self.selection.details = None;
        }
        match result {
            Ok(Changed::Decided(decided)) => self.on_decided(&decided, by_rule),
            Ok(Changed::Undone(undone)) => self.on_undone(&undone),
            Ok(Changed::Described(described)) => {
                let row = &described.row;
                let trailer = |(key, value): &Trailer| {
                    format!("{key} of {} {} now '{value}'", row.commit, key.verb())
                };
                let said = match described.trailers.as_slice() {
                    [] => format!("{} is now '{}'", row.commit, row.description),
                    trailers => {
                        let said: Vec<String> = trailers.iter().map(trailer).collect();
                        said.join(", ")
                    }
                };
                self.say_done(said, &described.notes);
            }
            Ok(Changed::Restored(restored)) => self.on_restored(restored),
            Err(refusal) if by_rule => {
                self.warn(format!("the rule leaves the run to you: {refusal}"));
            }
            Err(Refusal::Ask(question)) => self.ask_after(action, question),
            Err(refusal) => self.refuse(action, refusal.to_string()),
        }
        self.emit(Effect::Refresh);
    }

    fn on_decided(&mut self, decided: &Decided, by_rule: bool) {
        // A decision by rule used no draft, and one without a row no other than its own.
        match decided.run {
            _ if by_rule => {}
            Some(_) => self.decision.drafts.clear(),
            None => drop(self.decision.drafts.remove(&Action::Discard)),
        }
        self.say_decided(decided, by_rule);
        self.decision.expected_bytes =
            (decided.status != Status::Keep).then_some(ExpectedBytes::Incumbent);
        if let Some(last) = decided.run.and_then(|run| self.runs.last_of(run)) {
            last.decided = Some(decided.status);
        }
    }

    fn on_undone(&mut self, undone: &Undone) {
        if let Some(last) = self.runs.last_of(undone.last.run) {
            last.decided = None;
        }
        let (run, word) = (undone.last.run, undone.last.status.word());
        let commit = short(&undone.last.commit);
        self.say_done(
            format!("run {run} is open again: {word} {commit} is undone"),
            &undone.notes,
        );
    }

    /// Says what was done, and what the user should know besides.
    fn say_done(&mut self, mut text: String, notes: &[String]) {
        text.extend(notes.iter().map(|note| format!(" · {note}")));
        self.inform(text);
    }

    fn say_decided(&mut self, decided: &Decided, by_rule: bool) {
        let run = decided
            .run
            .map(|run| format!("run {run} "))
            .unwrap_or_default();
        let text = match decided.status {
            Status::Keep => format!("{run}kept as {}", short(&decided.commit)),
            Status::Discard => format!("{run}discarded"),
            Status::Crash => format!("{run}discarded, a crash"),
            Status::Rules => format!("the rules changed in {}", short(&decided.commit)),
        };
        // Nobody typed these words: they are the rule's reason.
        let why = decided.row.as_ref().filter(|_| by_rule);
        let why = why.map_or_else(String::new, |row| format!(": {}", row.description));
        let text = text + &why;
        self.say_done(text, &decided.notes);
    }

    /// Reads what an undo would take back. Its question opens when that is known.
    pub(super) fn ask_undo(&mut self) {
        self.overlays.push(Overlay::Preparing {
            action: Action::Undo,
            held: Vec::new(),
        });
        self.ask(RepositoryRequest::Undoable);
    }

    /// Asks whether the last decision is to be undone, or says why it cannot be. The keys that were
    /// held act on that.
    pub(super) fn on_undoable(&mut self, undoable: Result<Undoable, String>) {
        let mut overlays = self.overlays.iter();
        let at = overlays.position(|overlay| matches!(overlay, Overlay::Preparing { .. }));
        // Esc takes the question back before it opens.
        let Some((at, Overlay::Preparing { action, held })) =
            at.map(|at| (at, self.overlays.remove(at)))
        else {
            return self.ignore();
        };
        let question = undoable.and_then(|undoable| self.is_calm().map(|()| undoable));
        let overlay = match question {
            Ok(Undoable { last, question }) => Overlay::Question {
                text: printable(&question),
                about: About::Change(Change::Undo(last.run)),
            },
            Err(why) => Overlay::refused(action, why),
        };
        self.overlays.insert(at, overlay);
        held.into_iter().for_each(|key| self.on_key(key));
    }
}

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
use lab_decide::policy::{Discard, Newer};
use lab_decide::{Decided, Refusal, Undoable, Undone};
use lab_git::short;
use lab_history::tested::tested;
use lab_run::RunId;
use lab_run::experiment::Status;
use lab_run::message::Message;
use lab_runner::follow::Batch;
use std::sync::Arc;

impl Model {
    /// Opens the dialog for the message of a keep.
    pub(super) fn describe_keep(&mut self) {
        let awaited = self.awaited_run(Action::Keep);
        if let Some(run) = awaited.or_else(|| self.decision_run()) {
            self.open_message(run, Action::Keep, false);
        }
    }

    /// Opens the dialog for the message of a discard. Where bytes other than the judged ones would
    /// be discarded, asks first.
    pub(super) fn describe_discard(&mut self) {
        if let Some(run) = self.awaited_run(Action::Discard) {
            return self.open_message(run, Action::Discard, false);
        }
        let Some(run) = self.decision_run() else {
            return;
        };
        let kernel = &self.setup.kernel;
        let question = match self.allowed().discard {
            Ok(Discard::Run(_)) => {
                return self.open_message(run, Action::Discard, false);
            }
            Ok(Discard::Decided(run, status)) => {
                let decided = if status == Status::Keep {
                    "kept"
                } else {
                    "discarded"
                };
                format!(
                    "The present bytes of {kernel} are those of run {run}, which was {decided} already. Put the \
                     incumbent's back? No further row is written."
                )
            }
            Ok(Discard::Unjudged {
                unreadable: true, ..
            }) => {
                format!("{kernel} cannot be read. Put the incumbent's back? No row is written.")
            }
            Ok(Discard::Unjudged { .. }) => format!(
                "No verdict belongs to the present bytes of {kernel}. Discard them unjudged? They are kept in git, \
                 but no row is written."
            ),
            Ok(Discard::AlsoNewer(run, Newer::Unreadable(_))) => format!(
                "{kernel} cannot be read. Discard what run {run} judged, and put the incumbent's back? What was \
                 judged is kept in git."
            ),
            Ok(Discard::AlsoNewer(run, Newer::Changed(_))) => format!(
                "{kernel} has changed since run {run} judged it. Discard the newer bytes too? Both are kept in git."
            ),
            Err(why) => return self.warn(why.to_string()),
        };
        self.ask_discard(question);
    }

    /// Asks before a discard. Where no row is written, the discard needs no further text.
    pub(super) fn ask_discard(&mut self, text: String) {
        let Some(run) = self.decision_run() else {
            return;
        };
        let about = match self.allowed().discard {
            Ok(Discard::Unjudged { .. } | Discard::Decided(..)) => About::Change(Change::Discard {
                run,
                message: Message::new("discarded without a verdict", []),
                confirmed: true,
            }),
            _ => About::NewerBytes(run),
        };
        self.ask_question(Overlay::Question { text, about });
    }

    /// Opens the dialog for the message of a keep or a discard.
    pub(super) fn open_message(&mut self, run: RunId, action: Action, confirmed: bool) {
        // A draft ends when its run is decided, also in a shell.
        let mut experiments = self.repository.experiments.iter();
        let typed = self.decision.drafts.get(&action);
        let typed =
            typed.filter(|draft| !experiments.any(|e| e.run == Some(draft.run) && !e.foreign));
        let judged = self.runs.last_if(run);
        let tested = judged.map(|judged| self.tested(judged));
        self.overlays.push(Overlay::Message {
            draft: Draft::resume(typed, run, tested.unwrap_or_default()),
            action,
            confirmed,
        });
    }

    /// The text of the trailer `Tested` of a run.
    pub(super) fn tested(&self, run: &FinishedRun) -> String {
        let experiments = &self.repository.experiments;
        tested(&run.record, experiments, &self.setup.config())
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
            (None, Some(draft)) => self.accept_message(draft, action, false),
            (None, None) => {}
            (Some(why), _) => {
                let name = action.binding().name;
                let text = format!("run {run}: {why}. Your text is kept for the next {name}.");
                self.refuse(action, text);
            }
        }
    }

    pub(super) fn accept_message(&mut self, mut draft: Draft, action: Action, confirmed: bool) {
        draft.complete();
        if let Some(judged) = self.runs.last_if(draft.run) {
            draft.fill(self.tested(judged));
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
            return self.overlays.push(Overlay::Message {
                draft,
                action,
                confirmed,
            });
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
        let change = match action {
            Action::Keep => Change::Keep {
                run,
                message: draft.message(""),
                by_rule: false,
            },
            _ => Change::Discard {
                run,
                message: draft.message(&self.default_description()),
                confirmed,
            },
        };
        // The draft stays until the decision succeeds: it may still be refused.
        self.decision.drafts.insert(action, draft);
        self.change(change);
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
        self.decision.held_out = None;
        // A restore changes no record.
        if !matches!(action, Action::Restore | Action::ApplyPoint) {
            self.selection.details = None;
        }
        match result {
            Ok(Changed::Decided(decided)) => self.on_decided(&decided, by_rule),
            Ok(Changed::Undone(undone)) => self.on_undone(&undone),
            Ok(Changed::Described(described)) => {
                let row = &described.row;
                let said = match described.trailers.first() {
                    Some((key, value)) => format!("{key} of {} is now '{value}'", row.commit),
                    None => format!("{} is now '{}'", row.commit, row.description),
                };
                self.say_done(said, &described.notes);
            }
            Ok(Changed::Restored(restored)) => self.on_restored(restored),
            Err(refusal) if by_rule => {
                self.warn(format!("the rule leaves the run to you: {refusal}"));
            }
            Err(Refusal::Ask(question)) if action == Action::Discard => self.ask_discard(question),
            Err(refusal) => self.refuse(action, refusal.to_string()),
        }
        self.emit(Effect::Refresh);
    }

    fn on_decided(&mut self, decided: &Decided, by_rule: bool) {
        // A decision by rule and one without a row used no draft.
        if !by_rule && decided.run.is_some() {
            self.decision.drafts.clear();
        }
        self.say_decided(decided);
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

    fn say_decided(&mut self, decided: &Decided) {
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
        self.say_done(text, &decided.notes);
    }

    /// Asks whether the last decision is to be undone.
    pub(super) fn on_undoable(&mut self, undoable: Result<Undoable, String>) {
        match undoable {
            Ok(Undoable { last, question }) if self.is_calm().is_ok() => {
                self.overlays.retain(|overlay| {
                    !matches!(
                        overlay,
                        Overlay::Question {
                            about: About::Change(Change::Undo(_)),
                            ..
                        }
                    )
                });
                self.ask_question(Overlay::Question {
                    text: printable(&question),
                    about: About::Change(Change::Undo(last.run)),
                });
            }
            Ok(_) => {}
            Err(why) => self.warn(format!("undo: {why}")),
        }
    }
}

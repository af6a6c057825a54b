//! Keep, discard and undo, by the user or by rule.

use crate::draft::Draft;
use crate::effect::Effect;
use crate::keymap::Action;
use crate::model::Model;
use crate::overlay::{About, Overlay};
use crate::reply::Changed;
use crate::request::{Change, RepositoryRequest};
use crate::state::{ExpectedBytes, FinishedRun, HeldOutCheck, Setup};
use crate::text::printable;
use lab_decide::auto::{self, AutoDecision, Enough};
use lab_decide::policy::{Discard, Newer};
use lab_decide::{Decided, Described, Refusal, Undoable, Undone};
use lab_git::short;
use lab_history::tested::tested;
use lab_run::RunId;
use lab_run::experiment::Status;
use lab_run::message::{self, Message};
use lab_run::verdict::{Outcome, Verdict};
use lab_runner::follow::Batch;
use std::sync::Arc;

impl Model {
    /// Opens the dialog for the message of a keep.
    pub(super) fn describe_keep(&mut self) {
        if let Some(run) = self.awaited_run().or_else(|| self.decision_run()) {
            self.open_message(run, Action::Keep, false);
        }
    }

    /// Opens the dialog for the message of a discard. Where bytes other than the judged ones would
    /// be discarded, asks first.
    pub(super) fn describe_discard(&mut self) {
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

    pub(super) fn ask_discard(&mut self, text: String) {
        if let Some(run) = self.decision_run() {
            let about = About::NewerBytes(run);
            self.ask_question(Overlay::Question { text, about });
        }
    }

    /// Opens the dialog for the message of a keep or a discard.
    pub(super) fn open_message(&mut self, run: RunId, action: Action, confirmed: bool) {
        let typed = self.decision.drafts.get(&action);
        let judged = self.runs.last_if(run);
        let tested = judged.map(|judged| self.tested(judged));
        self.overlays.push(Overlay::Message {
            draft: Draft::resume(typed, run, tested.unwrap_or_default()),
            action,
            confirmed,
        });
    }

    /// The text of the trailer `Tested` of a run.
    fn tested(&self, run: &FinishedRun) -> String {
        let experiments = &self.repository.experiments;
        tested(&run.record, experiments, &self.setup.config())
    }

    /// Keeps the run that a keep was asked for while it was in progress.
    pub(super) fn keep_that_follows(&mut self) {
        if self.is_calm().is_err() {
            return;
        }
        let Some(run) = self.decision.keep_follows.take() else {
            return;
        };
        let draft = self.decision.drafts.get(&Action::Keep).cloned();
        match (self.no_longer_possible(Action::Keep, run), draft) {
            (None, Some(draft)) => self.accept_message(draft, Action::Keep, false),
            (None, None) => {}
            (Some(why), _) => {
                let text = format!("run {run}: {why}. Your text is kept for the next keep.");
                self.refuse(Action::Keep, text);
            }
        }
    }

    pub(super) fn accept_message(&mut self, mut draft: Draft, action: Action, confirmed: bool) {
        draft.complete();
        if let Some(judged) = self.runs.last_if(draft.run) {
            draft.fill(self.tested(judged));
        }
        let run = draft.run;
        let waits = action == Action::Keep && self.awaited_run() == Some(run);
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
            self.decision.keep_follows = Some(run);
            let keep = self.way(Action::Keep);
            return self.inform(format!(
                "the keep follows this run if it passes; {keep} again takes that back"
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
        let awaited = self.awaited_run().is_some_and(|awaited| awaited != run);
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
        self.panes.log.push(batch.skipped, batch.lines);
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
        if action != Action::Restore {
            self.selection.details = None;
        }
        match result {
            Ok(Changed::Decided(decided)) => self.on_decided(&decided, by_rule),
            Ok(Changed::Undone(undone)) => self.on_undone(&undone),
            Ok(Changed::Described(Described { row, notes, .. })) => {
                self.say_done(
                    format!("{} is now '{}'", row.commit, row.description),
                    &notes,
                );
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
        // A decision by rule used no draft.
        if !by_rule {
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

    /// Decides by rule no longer, or asks whether to.
    pub(super) fn toggle_rule(&mut self) {
        if std::mem::take(&mut self.decision.auto) {
            let (keep, discard) = (self.way(Action::Keep), self.way(Action::Discard));
            self.inform(format!("you decide: {keep} keeps, {discard} discards"));
            return;
        }
        let (rule, way) = (auto::rule(&self.setup.auto), self.way(Action::ByRule));
        let text = format!(
            "Each run of a save is then decided without a question, and a discard puts the incumbent's bytes back over your edit \
             (it stays in git). {rule}. {way} again ends it."
        );
        let about = About::Rule;
        self.ask_question(Overlay::Question { text, about });
    }

    /// Decides by rule about the run that has just ended, once the repository was looked at after
    /// its end.
    pub(super) fn decide_by_rule(&mut self) {
        let status = self.repository.status.as_ref();
        let ended = status.and_then(|status| status.ended);
        let awaiting = &mut self.decision.awaiting_rule;
        let Some(run) = awaiting.take_if(|run| Some(*run) <= ended) else {
            return;
        };
        // The loop decides its runs itself.
        if !self.decision.auto || self.decision.keep_follows.is_some() || self.loops.running {
            return;
        }
        let last = self.runs.last.as_ref();
        let Some(last) = last.filter(|last| last.start.id == run) else {
            return;
        };
        match self.change_by_rule(last) {
            Err(why) => {
                self.inform(format!("the rule leaves run {run} to you: {why}"));
            }
            Ok(change) => {
                self.decision.by_rule = true;
                self.change(change);
            }
        }
    }

    /// The change that the rule makes after a run, or why the rule leaves the run to the user.
    fn change_by_rule(&self, last: &FinishedRun) -> Result<Change, String> {
        let snapshot = self.repository.snapshot();
        let incumbent = snapshot.and_then(|snapshot| snapshot.incumbent.as_deref());
        let present = self.repository.present();
        let at_same = present.is_some_and(|present| {
            present.keeps_at_same && present.fingerprint == last.start.fingerprint
        });
        let enough = Enough {
            at_same,
            correct: self.setup.auto.keep_correct,
        };
        let decision = auto::decide(&last.record, incumbent, enough);
        if let AutoDecision::Leave(why) = decision {
            return Err(why);
        }
        // A user with an open dialog is about to decide.
        if !self.overlays.is_empty() {
            return Err("a dialog is open".to_owned());
        }
        let run = last.start.id;
        let message = Message::new(
            &rule_description(&last.verdict, &self.setup),
            [(message::TrailerKey::Tested, self.tested(last))],
        );
        let change = match decision {
            AutoDecision::Keep => Change::Keep {
                run,
                message,
                by_rule: true,
            },
            _ => Change::Discard {
                run,
                message,
                confirmed: false,
            },
        };
        self.usable(change.action())?;
        Ok(change)
    }
}

/// The description of a run that was decided by rule: the rule and its reason.
fn rule_description(verdict: &Verdict, setup: &Setup) -> String {
    match verdict.change {
        Some(change) if verdict.outcome == Outcome::Pass => {
            let words = setup.in_words(&change);
            format!("by rule: {words} vs {}", change.against())
        }
        _ => format!("by rule: {}", verdict.why),
    }
}

//! Keep, discard and undo, by the user or by rule.

use crate::draft::{Draft, Drafts, resume};
use crate::effect::Effect;
use crate::keymap::Action;
use crate::model::Model;
use crate::overlay::{About, Decides, Overlay};
use crate::request::RepositoryRequest;
use crate::state::{Deciding, ExpectedBytes, HeldOutCheck};
use crate::text::printable;
use lab_decide::auto::{self, AutoDecision};
use lab_decide::policy::{Discard, Newer};
use lab_decide::{Decided, Refusal, Undoable, Undone};
use lab_git::short;
use lab_history::tested::tested;
use lab_run::RunId;
use lab_run::experiment::Status;
use lab_run::message::{self, Message};
use lab_run::record::Record;
use lab_run::verdict::Outcome;
use lab_runner::follow::Batch;
use std::sync::Arc;

impl Model {
    /// Opens the dialog for the message of a keep.
    pub(super) fn describe_keep(&mut self) {
        if let Some(run) = self.decision_run() {
            self.open_message(run, Decides::Keep);
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
                return self.open_message(run, Decides::Discard { confirmed: false });
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

    /// Opens the dialog for the message of a decision.
    pub(super) fn open_message(&mut self, run: RunId, of: Decides) {
        let tested = self.tested_of(run);
        let draft = resume(self.draft_of(of).as_ref(), run, tested);
        self.overlays.push(Overlay::Message { draft, of });
    }

    /// The text that was typed for such a decision.
    pub(super) fn draft_of(&mut self, of: Decides) -> &mut Option<Draft> {
        match of {
            Decides::Keep => &mut self.decision.drafts.keep,
            Decides::Discard { .. } => &mut self.decision.drafts.discard,
        }
    }

    /// The trailer `Tested` of the last run, if it is this one.
    fn tested_of(&self, run: RunId) -> String {
        let last = self.runs.last_if(run);
        last.map(|last| self.tested(&last.record))
            .unwrap_or_default()
    }

    fn tested(&self, record: &Record) -> String {
        tested(record, &self.repository.experiments, &self.setup.config())
    }

    pub(super) fn accept_message(&mut self, mut draft: Draft, of: Decides) {
        draft.complete();
        let action = match of {
            Decides::Keep => Action::Keep,
            Decides::Discard { .. } => Action::Discard,
        };
        draft.problem = if of == Decides::Keep && draft.subject().is_empty() {
            Some("describe what you tried: it becomes the commit's subject".to_owned())
        } else {
            self.no_longer_possible(action, draft.run)
                .or_else(|| draft.wrong())
        };
        if draft.problem.is_some() {
            return self.overlays.push(Overlay::Message { draft, of });
        }
        let run = draft.run;
        let (deciding, request) = match of {
            Decides::Keep => {
                let message = draft.message("");
                let by_rule = false;
                let request = RepositoryRequest::Keep {
                    run,
                    message,
                    by_rule,
                };
                (Deciding::Keep, request)
            }
            Decides::Discard { confirmed } => {
                let message = draft.message(&self.default_description());
                let request = RepositoryRequest::Discard {
                    run,
                    message,
                    confirmed,
                };
                (Deciding::Discard, request)
            }
        };
        // The draft stays until the decision succeeds: it may still be refused.
        *self.draft_of(of) = Some(draft);
        self.decide(deciding, request);
    }

    /// Has a decision carried out.
    pub(super) fn decide(&mut self, what: Deciding, request: RepositoryRequest) {
        self.decision.in_progress = Some(what);
        self.ask(request);
    }

    /// Why the run of an open dialog can no longer be decided: another run or save came while it
    /// was open.
    fn no_longer_possible(&self, action: Action, run: RunId) -> Option<String> {
        if self.decision_run() != Some(run) {
            return Some(
                "a newer run has judged newer bytes: close this dialog; your text is kept for the next one"
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
        if self.decision.in_progress != Some(Deciding::Keep) || !is_last {
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

    pub(super) fn on_decided(&mut self, result: Result<Decided, Refusal>) {
        let was = self.decision.in_progress.take();
        let by_rule = std::mem::take(&mut self.decision.by_rule);
        self.decision.held_out = None;
        self.selection.details = None;
        match result {
            Ok(decided) => {
                // A decision by rule used no draft.
                if !by_rule {
                    self.decision.drafts = Drafts::default();
                }
                self.say_decided(&decided);
                self.decision.expected_bytes =
                    (decided.status != Status::Keep).then_some(ExpectedBytes::Incumbent);
                if let Some(last) = decided.run.and_then(|run| self.runs.last_of(run)) {
                    last.decided = Some(decided.status);
                }
                self.emit(Effect::Refresh);
            }
            Err(refusal) if by_rule => {
                self.warn(format!("auto-decide leaves the run to you: {refusal}"));
                self.emit(Effect::Refresh);
            }
            Err(Refusal::Ask(question)) if was == Some(Deciding::Discard) => {
                self.ask_discard(question);
                self.emit(Effect::Refresh);
            }
            Err(refusal) => {
                self.refuse(was.unwrap_or(Deciding::Keep), refusal.to_string());
                self.emit(Effect::Refresh);
            }
        }
    }

    fn say_decided(&mut self, decided: &Decided) {
        let run = decided
            .run
            .map(|run| format!("run {run} "))
            .unwrap_or_default();
        let mut text = match decided.status {
            Status::Keep => format!("{run}kept as {}", short(&decided.commit)),
            Status::Discard => format!("{run}discarded"),
            Status::Crash => format!("{run}discarded, a crash"),
            Status::Rules => format!("the rules changed in {}", short(&decided.commit)),
        };
        text.extend(decided.notes.iter().map(|note| format!(" · {note}")));
        self.inform(text);
    }

    /// Asks whether the last decision is to be undone.
    pub(super) fn on_undoable(&mut self, undoable: Result<Undoable, String>) {
        match undoable {
            Ok(Undoable { last, question }) if self.is_calm().is_ok() => {
                self.overlays.retain(|overlay| {
                    !matches!(
                        overlay,
                        Overlay::Question {
                            about: About::Undo(_),
                            ..
                        }
                    )
                });
                self.ask_question(Overlay::Question {
                    text: printable(&question),
                    about: About::Undo(last.run),
                });
            }
            Ok(_) => {}
            Err(why) => self.warn(format!("undo: {why}")),
        }
    }

    pub(super) fn undo(&mut self, run: RunId) {
        if let Err(why) = self.is_calm() {
            self.refuse(Deciding::Undo, why);
            return;
        }
        self.decide(Deciding::Undo, RepositoryRequest::Undo(run));
    }

    pub(super) fn on_undone(&mut self, result: Result<Undone, Refusal>) {
        self.decision.in_progress = None;
        self.selection.details = None;
        match result {
            Ok(Undone {
                last: undone,
                notes,
            }) => {
                if let Some(last) = self.runs.last_of(undone.run) {
                    last.decided = None;
                }
                let (run, word) = (undone.run, undone.status.word());
                let mut text = format!(
                    "run {run} is undecided again: {word} {} is undone",
                    short(&undone.commit)
                );
                text.extend(notes.iter().map(|note| format!(" · {note}")));
                self.inform(text);
            }
            Err(refusal) => self.refuse(Deciding::Undo, refusal.to_string()),
        }
        self.emit(Effect::Refresh);
    }

    pub(super) fn toggle_auto(&mut self) {
        self.decision.auto = !self.decision.auto;
        match self.decision.auto {
            true => self.inform(auto::rule(&self.setup.auto)),
            false => {
                let (keep, discard) = (self.way(Action::Keep), self.way(Action::Discard));
                self.inform(format!(
                    "auto-decide is off: {keep} keeps, {discard} discards"
                ));
            }
        }
    }

    /// Decides by rule about the run that has just ended, once the repository was looked at after
    /// its end.
    pub(super) fn decide_by_rule(&mut self) {
        let ended = self
            .repository
            .status
            .as_ref()
            .and_then(|status| status.ended);
        let Some(run) = self
            .decision
            .awaiting_rule
            .take_if(|run| Some(*run) <= ended)
        else {
            return;
        };
        // The loop decides its runs itself.
        let by_rule = self.decision.auto && !self.loops.running;
        let last = self
            .runs
            .last
            .as_ref()
            .filter(|last| by_rule && last.start.id == run);
        let Some(record) = last.map(|last| last.record.clone()) else {
            return;
        };
        let snapshot = self.repository.snapshot();
        let incumbent = snapshot.and_then(|snapshot| snapshot.incumbent.as_deref());
        let present = self.repository.present();
        let at_same = present.is_some_and(|present| {
            present.keeps_at_same && present.fingerprint == record.start.fingerprint
        });
        let message = Message::new(
            &rule_description(&record),
            [(message::TrailerKey::Tested, self.tested(&record))],
        );
        let ruled = match auto::decide(&record, incumbent, at_same) {
            AutoDecision::Leave(why) => Err(why),
            // A user with an open dialog is about to decide.
            _ if !self.overlays.is_empty() => Err("a dialog is open".to_owned()),
            AutoDecision::Keep => {
                let request = RepositoryRequest::Keep {
                    run,
                    message,
                    by_rule: true,
                };
                self.usable(Action::Keep)
                    .map(|()| (Deciding::Keep, request))
            }
            AutoDecision::Discard => {
                let request = RepositoryRequest::Discard {
                    run,
                    message,
                    confirmed: false,
                };
                self.usable(Action::Discard)
                    .map(|()| (Deciding::Discard, request))
            }
        };
        match ruled {
            Err(why) => {
                self.inform(format!("auto-decide leaves run {run} to you: {why}"));
            }
            Ok((what, request)) => {
                self.decision.by_rule = true;
                self.decide(what, request);
            }
        }
    }
}

/// The description of a run that was decided by rule: the rule and its reason.
fn rule_description(record: &Record) -> String {
    let verdict = record.verdict.as_ref();
    match verdict
        .and_then(|v| v.change)
        .filter(|_| verdict.is_some_and(|v| v.outcome == Outcome::Pass))
    {
        Some(change) => format!("auto: {change} vs {}", change.against()),
        None => format!("auto: {}", verdict.map_or("", |v| v.why.as_str())),
    }
}

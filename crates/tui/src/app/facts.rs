//! What the screen makes of answers from disk and git: where things stand, and what came of a
//! decision.

use super::super::effect::Effect;
use super::super::event::Facts;
use super::super::status::Level;
use super::{App, Checking, Deciding, Judged, PutBack, Running, Setup, decision};
use crate::request::Request;
use lab_core::decide::{Decided, Refusal};
use lab_core::project::Project;
use lab_core::repo::short;
use lab_core::run::experiment::Status as Decision;
use lab_core::run::record::Record;
use lab_core::run::verdict::Outcome;
use lab_core::run::{Fingerprint, Reason, RunId};
use lab_core::runner::follow::Batch;
use lab_core::status::Status;
use std::sync::Arc;

impl App {
    pub(super) fn on_facts(&mut self, facts: Facts) -> Vec<Effect> {
        let first = !std::mem::replace(&mut self.loaded, true);
        match facts.history {
            Ok(history) => {
                self.learn(history.experiments);
                let problem = history.problems.first();
                if let Some(problem) = problem.filter(|&problem| self.problem.as_ref() != Some(problem)) {
                    self.say(Level::Warning, problem.clone());
                }
                self.problem = problem.cloned();
            }
            Err(why) => self.say(Level::Error, format!("the history cannot be read: {why}")),
        }
        match facts.log {
            Ok(log) => self.commits = log,
            Err(why) => self.say(Level::Error, format!("git log: {why}")),
        }
        let head = self.status.as_ref().map(|status| status.head.clone());
        let mut effects = match facts.status {
            Ok(status) => self.on_status(status, first),
            Err(why) => {
                self.say(Level::Error, why);
                Vec::new()
            }
        };
        // A keep, an undo, or somebody's own git: the graph that is shown has other commits.
        if head.is_some() && head.as_ref() != self.status.as_ref().map(|status| &status.head) {
            effects.extend(self.open_graph());
        }
        effects.extend(self.want_whole());
        effects
    }

    fn on_status(&mut self, status: Status, first: bool) -> Vec<Effect> {
        let is_idle = matches!(self.running, Running::No);
        // Looked at before the last run had ended: it would put an older verdict in its place, for as long as the look
        // that follows each end takes.
        if is_idle && status.ended < self.newest {
            return Vec::new();
        }
        // While a run is asked for or goes on, the watcher has the last word on what is on disk, and this look may be
        // older than its word.
        if is_idle {
            self.learn_present(status.present().cloned().map_err(str::to_owned));
            if let Err(why) = status.present() {
                self.say(Level::Error, why);
            }
        }
        let mut effects = Vec::new();
        // The verdict of the present bytes where there is one, else the last: after a discard that is
        // the incumbent's, and on opening the one of an earlier screen or of a `lab run` beside.
        let shown = status.judged.as_ref().or(status.last.as_ref()).filter(|record| record.verdict.is_some());
        // A run that was ended before its time told nothing: an opened screen judges the bytes anew.
        let told_nothing = first && status.judged.as_ref().is_some_and(told_nothing);
        let shown = shown.filter(|_| !told_nothing);
        if let Some(record) = shown {
            match self.last.as_mut().filter(|known| known.start.id == record.start.id) {
                Some(known) => known.decided = decision(record.decision.as_ref()),
                None if is_idle => {
                    self.newest = self.newest.max(Some(record.start.id));
                    self.last = Judged::of(record.clone(), Arc::new(record.report()));
                    effects.push(Effect::Ask(Request::Log(record.start.id)));
                }
                None => {}
            }
        }
        // Of an earlier screen, or of a `lab check` beside this one.
        let known = self.check.as_ref().map(|check| check.start.id);
        if let Some(record) = status.check.as_ref().filter(|r| is_idle && known != Some(r.start.id)) {
            self.newest = self.newest.max(Some(record.start.id));
            self.check = Judged::of(record.clone(), Arc::new(record.report()));
            effects.push(Effect::Ask(Request::Log(record.start.id)));
        }
        // Other bytes than the incumbent's were saved meanwhile, and the watcher will say so.
        let is_incumbent = status.blob().is_some() && status.blob() == status.snapshot.incumbent.as_deref();
        let is_put_back = match &self.put_back {
            Some(PutBack::Incumbent) => is_incumbent,
            Some(PutBack::Blob(blob)) => status.blob() == Some(blob),
            None => false,
        };
        let unjudged = (status.judged.is_none() || told_nothing) && status.present().is_ok() && is_idle;
        self.status = Some(status);
        if self.deciding.is_some() {
            return effects;
        }
        self.put_back = None;
        // A run that goes on may be of older bytes: then the look after it sees to the save.
        let saved = is_idle && std::mem::take(&mut self.saved_meanwhile);
        if unjudged && first {
            effects.extend(self.start(Reason::Opened));
        } else if unjudged && is_put_back && !self.paused {
            effects.extend(self.start(Reason::Restored));
        } else if unjudged && saved && !self.paused {
            effects.extend(self.start(Reason::Saved));
        } else if is_idle {
            effects.extend(self.decide_by_rule());
        }
        effects
    }

    /// What kernel.cu now holds. That it could not be read is unsaid once it can.
    pub(super) fn learn_present(&mut self, present: Result<Fingerprint, String>) {
        if let (Some(Err(why)), Ok(_)) = (&self.present, &present) {
            self.message.take_back(why);
        }
        self.present = Some(present);
    }

    /// The check before a keep: its lines follow the run's own in run.log.
    pub(super) fn on_held_out(&mut self, run: RunId, batch: Batch) -> Vec<Effect> {
        let is_last = self.last.as_ref().is_some_and(|last| last.start.id == run);
        if self.deciding != Some(Deciding::Keep) || !is_last {
            self.dirty = false;
            return Vec::new();
        }
        self.log.push(batch.skipped, batch.lines);
        let began = self.now;
        let checking = self.checking.get_or_insert_with(|| Checking { began, report: Arc::default() });
        if let Some(report) = batch.report {
            checking.report = report;
        }
        Vec::new()
    }

    pub(super) fn on_decided(&mut self, result: Result<Decided, Refusal>) -> Vec<Effect> {
        let was = self.deciding.take();
        let by_rule = std::mem::take(&mut self.by_rule);
        self.checking = None;
        self.whole = None;
        match result {
            Ok(decided) => {
                // What was decided by rule used nobody's words.
                if !by_rule {
                    self.drafts.clear();
                }
                self.say_decided(&decided);
                self.put_back = (decided.status != Decision::Keep).then_some(PutBack::Incumbent);
                if let Some(last) = self.last.as_mut().filter(|l| Some(l.start.id) == decided.run) {
                    last.decided = Some(decided.status);
                }
                vec![Effect::Refresh]
            }
            Err(refusal) if by_rule => {
                self.say(Level::Warning, format!("auto-decide leaves the run to you: {refusal}"));
                vec![Effect::Refresh]
            }
            Err(Refusal::Ask(question)) if was == Some(Deciding::Discard) => {
                self.ask_discard(question);
                vec![Effect::Refresh]
            }
            Err(refusal) => {
                self.refuse(was.unwrap_or(Deciding::Keep), refusal.to_string());
                vec![Effect::Refresh]
            }
        }
    }

    fn say_decided(&mut self, decided: &Decided) {
        let run = decided.run.map(|run| format!("run {run} ")).unwrap_or_default();
        let mut text = match decided.status {
            Decision::Keep => format!("{run}kept as {}", short(&decided.commit)),
            Decision::Discard => format!("{run}discarded"),
            Decision::Crash => format!("{run}discarded, a crash"),
        };
        for note in &decided.notes {
            text.push_str(" · ");
            text.push_str(note);
        }
        self.say(Level::Info, text);
    }

    pub(super) fn on_project(&mut self, result: Result<Arc<Project>, String>) -> Vec<Effect> {
        match result {
            Ok(project) => {
                let setup = Setup::of(&project);
                // What the screen was told by hand stands until the file says otherwise.
                if setup.auto != self.setup.auto {
                    self.auto = setup.auto;
                }
                self.setup = setup;
                if self.paused {
                    return vec![Effect::Refresh];
                }
                self.start_once_decided(Reason::Saved)
            }
            Err(why) => {
                self.say(Level::Error, why);
                Vec::new()
            }
        }
    }

    pub(super) fn on_trusted(&mut self, result: Result<(), String>) -> Vec<Effect> {
        match result {
            Ok(()) => {
                self.untrusted = None;
                self.start_once_decided(Reason::Opened)
            }
            Err(why) => {
                self.say(Level::Error, why);
                Vec::new()
            }
        }
    }
}

/// It came to no verdict, or its lab ended before it did.
fn told_nothing(record: &Record) -> bool {
    let is_void = record.verdict.as_ref().is_some_and(|verdict| verdict.outcome == Outcome::Void);
    is_void || record.ending.is_none()
}

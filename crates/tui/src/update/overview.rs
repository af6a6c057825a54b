//! Handles a look at the repository (the status, the history, the commits) and a changed project.

use crate::effect::Effect;
use crate::model::Model;
use crate::reply::Overview;
use crate::request::RepositoryRequest;
use crate::state::runs::decided;
use crate::state::{ExpectedBytes, FinishedRun, Setup};
use crate::table::TableContext;
use lab_decide::status::ProjectStatus;
use lab_project::Project;
use lab_run::experiment::Experiment;
use lab_run::record::Record;
use lab_run::{Fingerprint, Reason};
use std::sync::Arc;

impl Model {
    pub(super) fn on_overview(&mut self, overview: Overview) {
        let first = !std::mem::replace(&mut self.repository.loaded, true);
        self.repository.looked = Some((overview.at, self.now));
        match overview.history {
            Ok(history) => {
                self.set_history(history.experiments);
                let problem = history.problems.into_iter().next();
                let before = self.repository.ledger_problem.clone();
                if let Some(problem) = problem.clone().filter(|_| problem != before) {
                    self.warn(problem);
                }
                self.repository.ledger_problem = problem;
            }
            Err(why) => self.fail(format!("the history cannot be read: {why}")),
        }
        match overview.log {
            Ok(log) => {
                self.repository.log.newest = log;
                self.order_commits();
            }
            Err(why) => self.fail(format!("git log: {why}")),
        }
        self.load_board();
        let head_of = |status: &ProjectStatus| status.head.clone();
        let head = self.repository.status.as_ref().map(head_of);
        match overview.status {
            Ok(status) => self.on_status(status, first),
            Err(why) => self.fail(why),
        }
        // HEAD moved: the graph has other commits.
        if head.is_some() && head != self.repository.status.as_ref().map(head_of) {
            self.open_graph();
        }
        if let Some(times) = overview.stage_times {
            self.runs.stage_times = times;
        }
        self.load_own_commits();
        self.load_details();
        self.decision_that_follows();
        self.start_check_that_follows();
    }

    fn on_status(&mut self, status: ProjectStatus, first: bool) {
        let is_idle = self.runs.is_idle();
        // The look began before the last run had ended: its verdict is older than the one that is
        // shown. Another look follows the end of each run.
        if is_idle && status.ended < self.runs.newest {
            return;
        }
        // During a run the watcher knows better what is on disk: this look may be older than its
        // last event.
        if is_idle {
            self.set_present(status.present().cloned().map_err(str::to_owned));
            if let Err(why) = status.present() {
                self.fail(why);
            }
        }
        let judges = self.runs.other_screen.is_none();
        let has_no_result = first && judges && status.judged.as_ref().is_some_and(has_no_result);
        self.take_verdict(&status, has_no_result);
        self.take_check(&status);
        let unjudged =
            (status.judged.is_none() || has_no_result) && status.present().is_ok() && is_idle;
        let unjudged = unjudged && judges;
        let are_expected = self.are_expected(&status);
        let of_other = status.in_progress.clone().filter(|_| is_idle && !judges);
        self.repository.status = Some(status);
        if self.decision.in_progress.is_some() {
            return;
        }
        self.decision.expected_bytes = None;
        // A run in progress may be of older bytes: the look after its end takes care of the save.
        let saved = is_idle && std::mem::take(&mut self.decision.saved_meanwhile);
        let paused = self.runs.paused;
        let opens = first || std::mem::take(&mut self.runs.wait_for_choice);
        if let Some(start) = of_other {
            self.follow_other(start);
        } else if unjudged && opens && self.chooses_kernel() {
            self.runs.wait_for_choice = true;
        } else if unjudged && opens {
            self.start(Reason::Opened);
        } else if unjudged && are_expected && !paused {
            self.start(Reason::Restored);
        } else if unjudged && saved && !paused {
            self.start(Reason::Saved);
        } else if is_idle {
            self.decide_by_rule();
        }
    }

    /// Shows the verdict of the present bytes, else the last one. After a discard that is the
    /// incumbent's; when the screen opens it may be of an earlier screen or of a `lab run` beside
    /// this one. `has_no_result`: the run of the present bytes was ended early, and they are judged
    /// again.
    fn take_verdict(&mut self, status: &ProjectStatus, has_no_result: bool) {
        let record = status.judged.as_ref().or(status.last.as_ref());
        let Some(record) = record.filter(|record| record.verdict.is_some() && !has_no_result)
        else {
            return;
        };
        if status.judged.is_none() && self.runs.shows_not_judged() {
            return;
        }
        let known = self.runs.last_of(record.start.id);
        if let Some(known) = known.filter(|known| !known.is_not_judged()) {
            known.decided = decided(record.decision.as_ref());
            return;
        }
        if self.runs.is_idle() {
            let finished = self.take_finished(record);
            self.runs.take_last(finished);
        }
    }

    /// Takes a run that this screen did not follow, and asks for its log.
    fn take_finished(&mut self, record: &Record) -> Option<FinishedRun> {
        self.runs.newest = self.runs.newest.max(Some(record.start.id));
        lab_history::stage_times::learn(&mut self.runs.stage_times, record);
        self.ask(RepositoryRequest::Log(record.start.id));
        FinishedRun::of(record.clone(), Arc::new(record.report()))
    }

    /// Takes the check of an earlier screen, or of a `lab check` beside this one.
    fn take_check(&mut self, status: &ProjectStatus) {
        let known = self.runs.check.as_ref().map(|check| check.start.id);
        let check = status.check.as_ref().filter(|_| self.runs.is_idle());
        if let Some(record) = check.filter(|check| known != Some(check.start.id)) {
            self.runs.check = self.take_finished(record);
        }
    }

    /// The bytes on disk are those that the lab itself put there. Where other bytes were saved
    /// meanwhile, the watcher reports them.
    fn are_expected(&self, status: &ProjectStatus) -> bool {
        let blob = status.blob();
        match &self.decision.expected_bytes {
            Some(ExpectedBytes::Incumbent) => {
                blob.is_some() && blob == status.snapshot.incumbent.as_deref()
            }
            Some(ExpectedBytes::Blob(expected)) => blob == Some(expected),
            None => false,
        }
    }

    /// Takes the state of the bytes on disk. A message that the kernel cannot be read is removed
    /// once it can be read.
    pub(super) fn set_present(&mut self, present: Result<Fingerprint, String>) {
        if let Some(why) = self.runs.set_present(present) {
            self.message.take_back(&why);
        }
    }

    /// Takes a history. Arranges the table again if the history, the kernel or the device changed.
    fn set_history(&mut self, experiments: Vec<Experiment>) {
        let is_new = self.repository.set_experiments(experiments);
        if is_new {
            self.mark_graph();
        }
        let setup = &self.setup;
        let device = self
            .repository
            .present_device(self.runs.last.as_ref(), setup);
        let (device, emulated) = device.unwrap_or_default();
        let here = TableContext {
            kernel: &setup.kernel,
            device,
            emulated,
            goal: setup.goal,
        };
        let table = &mut self.panes.experiments.table;
        if is_new || !table.is_for(&here) {
            table.set_history(&self.repository.experiments, here);
            self.load_changed_lines();
        }
    }

    pub(super) fn on_project(&mut self, result: Result<Arc<Project>, String>) {
        match result {
            Ok(project) => {
                let setup = Setup::of(&project);
                // The user's switch stands until lab.toml changes.
                if setup.auto.decide != self.setup.auto.decide {
                    self.decision.auto = setup.auto.decide && self.runs.other_screen.is_none();
                }
                self.setup = setup;
                if self.runs.paused {
                    return self.emit(Effect::Refresh);
                }
                self.start_once_decided(Reason::Saved);
            }
            Err(why) => {
                self.fail(why);
            }
        }
    }

    pub(super) fn on_trusted(&mut self, result: Result<(), String>) {
        match result {
            Ok(()) => {
                self.runs.untrusted = None;
                self.start_once_decided(Reason::Opened);
            }
            Err(why) => {
                self.fail(why);
            }
        }
    }
}

/// The run was void or not judged, or its lab ended before it did.
fn has_no_result(record: &Record) -> bool {
    let has_none = record
        .verdict
        .as_ref()
        .is_some_and(|verdict| !verdict.outcome.is_verdict());
    has_none || record.ending.is_none()
}

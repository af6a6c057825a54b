//! The runs that the screen saw: the one in progress, the last verdict, the last check, and the
//! bytes on disk.

use super::Now;
use crate::request::Spot;
use crate::source::of_kernel;
use lab_protocol::report::{Report, Severity, Stage, StageTimes};
use lab_run::experiment::Status;
use lab_run::record::{self, Record};
use lab_run::verdict::{Outcome, Verdict};
use lab_run::{Fingerprint, Reason, RunId, RunStart};
use lab_runner::RunEvent;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// A run that has ended: its record, with its result lines.
#[derive(Clone, Debug)]
pub struct FinishedRun {
    pub record: Arc<Record>,
    pub verdict: Verdict,
    pub report: Arc<Report>,
    pub decided: Option<Status>,
}

impl Deref for FinishedRun {
    type Target = Record;

    fn deref(&self) -> &Record {
        &self.record
    }
}

impl FinishedRun {
    /// `None` while the run is in progress: its record has no verdict yet.
    pub fn of(record: Record, report: Arc<Report>) -> Option<Self> {
        Some(FinishedRun {
            verdict: record.verdict.clone()?,
            report,
            decided: decided(record.decision.as_ref()),
            record: Arc::new(record),
        })
    }

    /// Nothing was judged: the run has no number, and another run may have the one that it began
    /// with.
    pub fn is_not_judged(&self) -> bool {
        self.verdict.outcome == Outcome::NotJudged
    }

    fn failed(&self) -> bool {
        self.verdict.outcome != Outcome::Pass
    }
}

/// The decision in a record. It counts once its commit exists.
pub fn decided(decision: Option<&record::Decision>) -> Option<Status> {
    decision.filter(|d| d.commit.is_some()).map(|d| d.status)
}

/// The run in progress.
#[derive(Clone, Debug)]
pub struct LiveRun {
    pub start: Box<RunStart>,
    /// When this screen began to follow it, and how long it had gone on then.
    pub began: Now,
    pub age: Duration,
    pub report: Arc<Report>,
}

impl LiveRun {
    /// How long it has gone on.
    pub fn elapsed(&self, now: Now) -> Duration {
        self.age + now.saturating_sub(self.began)
    }
}

#[derive(Clone, Debug, Default)]
pub enum Running {
    #[default]
    No,
    /// The screen asked for a run; its number is not known yet.
    Asked(Reason, Now),
    Live(LiveRun),
}

/// A run whose compiler or tools reported something: its number, its inputs, its report.
pub type Reporter<'a> = (RunId, &'a Fingerprint, &'a Report);

#[derive(Debug, Default)]
pub struct Runs {
    pub running: Running,
    /// The newest run that this screen knows of. Events of older runs are late.
    pub newest: Option<RunId>,
    /// The last run with a verdict.
    pub last: Option<FinishedRun>,
    /// The last verdict, while `last` is a run that was ended and gave none.
    pub before_void: Option<FinishedRun>,
    /// The last `lab check`. It is shown beside the verdict and never replaces it.
    pub check: Option<FinishedRun>,
    /// The bytes on disk as far as this screen knows, or why they cannot be read.
    pub present: Option<Result<Fingerprint, String>>,
    /// The last run that was asked for could not start.
    pub cannot_start: bool,
    /// What the user has not trusted yet: the subject of a sentence.
    pub untrusted: Option<&'static str>,
    /// Saves start no run.
    pub paused: bool,
    /// The screen that judges the kernel in the place of this one, which only shows it.
    pub other_screen: Option<String>,
    /// A check was asked for during a run: it follows the run.
    pub check_follows: bool,
    /// How long the stages of this kernel's earlier runs, checks and held-out checks took.
    pub stage_times: StageTimes,
    /// The screen opened with the list of kernels, and judges nothing until one is chosen.
    pub wait_for_choice: bool,
}

impl Runs {
    pub fn is_idle(&self) -> bool {
        matches!(self.running, Running::No)
    }

    /// A run was asked for and has no number yet.
    pub fn is_starting(&self) -> bool {
        matches!(self.running, Running::Asked(..))
    }

    /// The run in progress is a check.
    pub fn is_checking(&self) -> bool {
        match &self.running {
            Running::No => false,
            Running::Asked(reason, _) => *reason == Reason::Check,
            Running::Live(live) => live.start.is_check(),
        }
    }

    pub fn live(&self) -> Option<&LiveRun> {
        match &self.running {
            Running::Live(live) => Some(live),
            _ => None,
        }
    }

    /// The report of the run in progress, if it has what is wanted, else that of the last run; with
    /// the run's number.
    pub fn report_if(&self, is_wanted: impl Fn(&Report) -> bool) -> Option<(RunId, &Report)> {
        let live = self.live().map(|live| (live.start.id, &*live.report));
        let last = || {
            self.last
                .as_ref()
                .map(|last| (last.start.id, &*last.report))
        };
        live.filter(|(_, report)| is_wanted(report)).or_else(last)
    }

    /// The report of the run in progress once it names its device, else of the last run.
    pub fn report(&self) -> Option<&Report> {
        let named = self.report_if(|report| report.device().is_some());
        named.map(|(_, report)| report)
    }

    /// Takes the run that has just ended. One without a verdict leaves the verdict before it beside it.
    pub fn take_last(&mut self, ended: Option<FinishedRun>) {
        let Some(ended) = ended else { return };
        let gives_verdict = |run: &FinishedRun| run.verdict.outcome.is_verdict();
        let before = self.last.replace(ended);
        self.before_void = match &self.last {
            Some(last) if gives_verdict(last) => None,
            _ => before.filter(gives_verdict).or(self.before_void.take()),
        };
    }

    /// The last run, if it has this number.
    pub fn last_of(&mut self, run: RunId) -> Option<&mut FinishedRun> {
        self.last.as_mut().filter(|last| last.start.id == run)
    }

    /// The last run, if it is this one.
    pub fn last_if(&self, run: RunId) -> Option<&FinishedRun> {
        self.last
            .as_ref()
            .filter(|last| last.start.id == run && !last.is_not_judged())
    }

    /// Takes note that a run was not judged: the next run may have its number.
    pub fn free_number(&mut self, run: RunId) {
        if self.newest == Some(run) {
            self.newest = run.0.checked_sub(1).filter(|before| *before > 0).map(RunId);
        }
    }

    /// The present bytes could not be judged, and this is what the screen shows. An older verdict
    /// does not replace it.
    pub fn shows_not_judged(&self) -> bool {
        !self.is_stale() && self.last.as_ref().is_some_and(FinishedRun::is_not_judged)
    }

    /// The check of the bytes on disk. A check of other bytes does not count.
    pub fn checked(&self) -> Option<&FinishedRun> {
        let present = self.present.as_ref()?.as_ref().ok()?;
        self.check
            .as_ref()
            .filter(|check| check.start.fingerprint == *present)
    }

    /// The last verdict belongs to other bytes than those on disk.
    pub fn is_stale(&self) -> bool {
        match (&self.last, &self.present) {
            (Some(last), Some(Ok(present))) => last.start.fingerprint != *present,
            (Some(_), Some(Err(_))) => true,
            _ => false,
        }
    }

    /// UUID of the GPU that the shown run is on. `None` for the emulated device and before any run.
    pub fn gpu(&self) -> Option<&str> {
        let of_live = self
            .live()
            .and_then(|live| live.report.value("device_uuid"));
        of_live.or_else(|| self.last.as_ref()?.report.value("device_uuid"))
    }

    /// Takes the state of the bytes on disk; returns an earlier error that no longer holds.
    pub fn set_present(&mut self, present: Result<Fingerprint, String>) -> Option<String> {
        let is_readable = present.is_ok();
        let before = self.present.replace(present)?;
        before.err().filter(|_| is_readable)
    }

    /// The event is about another run than the present one. Once a newer run is asked for, events
    /// of the older one are dropped.
    pub fn is_late(&self, event: &RunEvent) -> bool {
        let is_live = |id: RunId| self.live().is_some_and(|live| live.start.id == id);
        match event {
            RunEvent::Started(start) => self.newest.is_some_and(|newest| start.id <= newest),
            RunEvent::Progress(id, _) | RunEvent::Left(id) => !is_live(*id),
            // A loop may judge its bytes once more, after a run that was ended.
            RunEvent::Joined(start) => match &self.running {
                Running::No => true,
                Running::Asked(..) => false,
                Running::Live(live) => start.id <= live.start.id,
            },
            RunEvent::Ended(record) => !is_live(record.start.id),
            RunEvent::NoStandby { .. } => false,
            RunEvent::NotStarted { .. } | RunEvent::NeedsTrust { .. } | RunEvent::Withdrawn => {
                !self.is_starting()
            }
        }
    }

    /// The runs whose messages belong beside the source: the run in progress once its build has
    /// ended, else the last one; and the last check, unless a newer verdict makes it old.
    pub fn reporters<'r>(&'r self) -> Vec<Reporter<'r>> {
        let live = self.live().map(|live| (&*live.start, &*live.report));
        let is_built = |report: &Report| {
            !report.diagnostics().is_empty()
                || report.stage().is_some_and(|stage| stage > Stage::Build)
        };
        let choose = |ended: Option<&'r FinishedRun>, check: bool| {
            let live = live.filter(|(start, report)| start.is_check() == check && is_built(report));
            live.or_else(|| ended.map(|run| (&run.start, &*run.report)))
        };
        let all = [
            choose(self.last.as_ref(), false),
            choose(self.current_check(), true),
        ];
        let all = all
            .into_iter()
            .flatten()
            .map(|(start, report)| (start.id, &start.fingerprint, report));
        all.filter(|(.., report)| !report.diagnostics().is_empty())
            .collect()
    }

    /// The check of the bytes on disk, or one that is newer than the last verdict.
    fn current_check(&self) -> Option<&FinishedRun> {
        let last = self.last.as_ref().map(|last| last.start.id);
        self.checked().or(self
            .check
            .as_ref()
            .filter(|check| Some(check.start.id) > last))
    }

    /// Where the compiler reported the first error in the kernel's file. An external harness does
    /// not say that the build failed, but its log shows a compiler's errors.
    pub fn first_error(&self, kernel: &str) -> Option<Spot> {
        let failed = |run: &&FinishedRun| run.failed();
        let run = self
            .last
            .as_ref()
            .filter(failed)
            .or(self.checked().filter(failed))?;
        let mut errors = run
            .report
            .diagnostics()
            .iter()
            .filter(|d| d.severity == Severity::Error);
        errors.find(|d| of_kernel(&d.file, kernel)).map(|d| Spot {
            line: d.line,
            column: d.column,
        })
    }

    /// The run to copy the result of: a check that failed, else the last.
    pub fn to_copy(&self) -> Option<&FinishedRun> {
        self.checked()
            .filter(|run| run.failed())
            .or(self.last.as_ref())
    }
}

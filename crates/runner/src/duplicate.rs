//! A run of the same inputs by another process: a `lab run` beside a screen. It is followed, and
//! the inputs are not judged a second time. A screen that only shows a kernel follows every run.
//!
//! A process holds `.lab/begin.lock` while it creates a run and looks for others, so that of two
//! that begin at once exactly one judges.

use crate::event::RunEvent;
use crate::follow::Follow;
use crate::process::Control;
use jiff::Timestamp;
use lab_git::Repo;
use lab_project::Project;
use lab_run::record::{Origin, Record};
use lab_run::verdict::Outcome;
use lab_run::{Reason, RunId, RunStart};
use lab_store::{RunIndex, RunStore, RunSummary, decision_lock};
use lab_system::file_lock::{self, LockedFile};
use lab_system::root::Access;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

/// So many runs before the own one are looked at. Others are older than the present inputs.
const LOOK_BACK: u64 = 16;

/// How often the log of the other run is read.
const READ_EVERY: Duration = Duration::from_millis(30);

/// A run that judges, or has just judged, the inputs of the run that was to begin.
pub struct Duplicate {
    store: RunStore,
    start: RunStart,
    log: File,
}

/// What came of following a run.
pub enum Followed {
    /// It has a verdict, or it was not judged.
    Ended(Box<Record>),
    /// It ended without one: its process was killed, or a newer save ended it.
    Gone,
    /// The follower was told to end.
    Left,
}

/// The lock under which a run begins. `None` if it cannot be taken: the inputs are then judged
/// twice at worst.
pub fn lock(project: &Project) -> Option<LockedFile> {
    let files = project.files();
    files.create_dir_all(&project.lab_dir).ok()?;
    files
        .wait_for_lock(&project.lab_dir.join("begin.lock"), Access::ReadAppend)
        .ok()
}

/// The run that `own` would repeat, if there is one. A run that the caller itself began (`begun`)
/// is repeated if it is asked for. A loop puts the incumbent back after each turn, so a run beside it
/// does not judge the incumbent again.
pub fn find(
    project: &Project,
    repo: &Repo,
    store: &RunStore,
    own: &Record,
    begun: &[RunId],
    is_beside_loop: bool,
) -> Option<Duplicate> {
    let newest = own.start.id.0;
    let recent = (newest.saturating_sub(LOOK_BACK).max(1)..newest)
        .rev()
        .map(RunId);
    let changed = changed_at(project);
    // A run that has ended counts only if it began after the kernel's last change. Its record is no
    // older, so most are not read.
    let may_count = |id: &RunId| {
        changed.is_some_and(|at| store.was_written_since(*id, at)) || store.is_in_progress(*id)
    };
    let recent = recent.filter(|id| !begun.contains(id)).filter(may_count);
    let found = recent.filter_map(|id| store.read(id).ok()).find(|record| {
        let counts = match &record.verdict {
            None => true,
            Some(_) => {
                has_verdict(record)
                    && changed.is_some_and(|changed| record.start.started >= changed)
            }
        };
        counts && is_same(own, record) && gives_way(own.start.reason, record)
    });
    let puts_back = is_beside_loop || matches!(own.start.reason, Reason::Saved | Reason::Restored);
    let of_incumbent = || puts_back.then(|| of_incumbent(project, repo, store, own))?;
    let start = found.or_else(of_incumbent)?.start;
    let log = store.open_log(start.id).ok()?;
    Some(Duplicate {
        store: store.clone(),
        start,
        log,
    })
}

/// Whether a run for `reason` gives way to this one. A save is judged once, whoever asked for it. A
/// command gives way to a run that a screen has in progress, and to the one that it made for the
/// save, but only once: a second `lab run` judges again.
fn gives_way(reason: Reason, other: &Record) -> bool {
    let in_progress = other.verdict.is_none();
    match (reason, other.start.reason) {
        (Reason::Opened | Reason::Saved | Reason::Restored, _) => true,
        (Reason::Command, Reason::Opened | Reason::Restored) => in_progress,
        (Reason::Command, Reason::Saved) => other.decision.is_none(),
        (Reason::Command, _) => false,
        (Reason::Rerun | Reason::Check | Reason::Measure, _) => false,
    }
}

/// The two runs have the same inputs, harness and device.
fn is_same(own: &Record, other: &Record) -> bool {
    other.start.kernel == own.start.kernel
        && other.start.fingerprint == own.start.fingerprint
        && other.command == own.command
        && other.target == own.target
        && !other.start.is_check()
        && other.origin == Origin::Own
}

fn has_verdict(record: &Record) -> bool {
    record.ending.is_some()
        && record
            .verdict
            .as_ref()
            .is_some_and(|v| v.outcome.is_verdict())
}

/// A discard beside this screen, or a loop, puts the incumbent on disk, which was judged already.
fn of_incumbent(project: &Project, repo: &Repo, store: &RunStore, own: &Record) -> Option<Record> {
    let incumbent = lab_git::incumbent(repo).ok().flatten()?;
    if incumbent != own.start.blob {
        return None;
    }
    let judged = |b: &RunSummary| {
        b.judges(project)
            && b.fingerprint == own.start.fingerprint
            && b.outcome().is_some_and(Outcome::is_verdict)
    };
    let index = RunIndex::open(project);
    let runs = index
        .newest_of(&own.start.fingerprint)
        .filter(|summary| judged(summary));
    runs.filter_map(|summary| store.read(summary.id).ok())
        .find(|record| has_verdict(record) && is_same(own, record))
}

/// When the kernel's file changed last, by the clock of the file system.
fn changed_at(project: &Project) -> Option<Timestamp> {
    let file = fs::metadata(&project.kernel).ok()?;
    Timestamp::new(file.ctime(), i32::try_from(file.ctime_nsec()).ok()?).ok()
}

/// Follows a run that another process judges.
pub fn follow(
    project: &Project,
    run: RunId,
    control: &Control,
    tell: &mut dyn FnMut(RunEvent),
) -> Followed {
    let store = RunStore::of(project);
    let (Ok(record), Ok(log)) = (store.read(run), store.open_log(run)) else {
        return Followed::Gone;
    };
    let start = record.start;
    Duplicate { store, start, log }.follow(project, control, tell)
}

impl Duplicate {
    pub fn start(&self) -> &RunStart {
        &self.start
    }

    /// Tells the lines of the run as its own process does, and returns how the run ended.
    #[allow(
        clippy::disallowed_methods,
        reason = "/dev/null is no file of a repository"
    )]
    pub fn follow(
        mut self,
        project: &Project,
        control: &Control,
        tell: &mut dyn FnMut(RunEvent),
    ) -> Followed {
        // The lines are in the log of the run already.
        let nowhere = File::options().write(true).open("/dev/null");
        let Ok(nowhere) = nowhere else {
            return Followed::Gone;
        };
        let mut lines = Follow::new(nowhere, u64::MAX)
            .judging_by(&project.config)
            .begun(self.start.started);
        loop {
            // Asked before the log is read, so that nothing is printed after the last read.
            let has_ended = self.has_ended();
            if self.read(&mut lines).is_err() {
                return Followed::Gone;
            }
            if has_ended {
                let _ = lines.finish();
            }
            if lines.has_news() {
                tell(RunEvent::Progress(self.start.id, lines.batch()));
            }
            if has_ended {
                return self
                    .record()
                    .map_or(Followed::Gone, |record| Followed::Ended(Box::new(record)));
            }
            if control.wait(READ_EVERY) {
                return Followed::Left;
            }
        }
    }

    /// The other process holds the lock of the log until its record is written. The folder may be
    /// moved meanwhile.
    fn has_ended(&self) -> bool {
        !file_lock::is_held_by_others(&self.log)
    }

    fn read(&mut self, lines: &mut Follow) -> std::io::Result<()> {
        let mut buffer = vec![0; 64 * 1024];
        loop {
            match self.log.read(&mut buffer)? {
                0 => return Ok(()),
                n => lines.take(&buffer[..n]),
            }
        }
    }

    fn record(&self) -> Option<Record> {
        let of_run = self.store.read(self.start.id).ok().filter(has_verdict);
        let mut found = [of_run, self.store.read_not_judged().ok()]
            .into_iter()
            .flatten();
        // Another run may have the number by now.
        found.find(|record| {
            record.start.blob == self.start.blob && record.start.started == self.start.started
        })
    }
}

/// Marks the run of a screen as that of a command, so that the next command judges again. While a
/// decision is in progress the record stays as it is.
pub fn claim(project: &Project, record: &mut Record) {
    let Ok(Some(_lock)) = decision_lock::hold_if_free(project) else {
        return;
    };
    let store = RunStore::of(project);
    let Ok(mut now) = store.read(record.start.id) else {
        return;
    };
    if now.start == record.start && now.verdict == record.verdict {
        now.start.reason = Reason::Command;
        if store.write(&now).is_ok() {
            *record = now;
        }
    }
}

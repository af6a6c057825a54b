//! The folder `.lab/runs`: one folder a run. A run's record is written before each step that it
//! describes.

mod cells;

use crate::signature::{self, Purpose};
use crate::summary::RunSummary;
use anyhow::{Context, Result, anyhow, ensure};
use jiff::{SignedDuration, Timestamp};
use lab_project::Project;
use lab_protocol::Language;
use lab_run::RunId;
use lab_run::inputs::SIZE_LIMIT;
use lab_run::peers;
use lab_run::record::{Origin, Record, is_inside};
use lab_run::verdict::{Outcome, Verdict};
use lab_system::failure::Failure;
use lab_system::leftovers;
use lab_system::root::{Access, OpenFolder, Root};
use lab_system::stamp::{Stamp, stamp_in};
use lab_text::sanitise;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const RECORD: &str = "record.json";

/// The log's name in a run's folder, and of the link beside lab.toml that points to the last run's
/// log.
pub const LOG: &str = "run.log";

/// The folder in `.lab` with the record and the log of the last run that was not judged.
const NOT_JUDGED: &str = "not-judged";

/// Folders inside a run's folder that exist only while the built-in harness judges: the files to
/// judge, and the incumbent's files.
pub const TREE: &str = "tree";
pub const INCUMBENT: &str = "incumbent";

/// The folder in `.lab` with all cells of the outputs that the newest runs got wrong.
const CELLS: &str = "cells";

/// By so much the times of files are at most behind the clock.
const TICK: SignedDuration = SignedDuration::from_millis(20);

/// Reads and writes the folders of runs.
#[derive(Clone, Debug)]
pub struct RunStore {
    /// The folder that holds `.lab`.
    files: Root,
    runs: PathBuf,
    not_judged: PathBuf,
    cells: PathBuf,
}

/// Most bytes of a record that are read. A run with every result line and workload that the lab
/// records has far fewer.
const RECORD_LIMIT: u64 = 16 << 20;

impl RunStore {
    /// The store of a project.
    pub fn of(project: &Project) -> Self {
        RunStore::new(&project.lab_dir)
    }

    /// The store in this `.lab` folder. Creates nothing.
    pub fn new(lab_dir: &Path) -> Self {
        RunStore {
            files: Root::around(lab_dir),
            runs: lab_dir.join("runs"),
            not_judged: lab_dir.join(NOT_JUDGED),
            cells: lab_dir.join(CELLS),
        }
    }

    /// Opens the files of the folder that holds `.lab`, without following links.
    pub fn files(&self) -> &Root {
        &self.files
    }

    /// The folder of all runs.
    pub fn runs(&self) -> &Path {
        &self.runs
    }

    /// The file with the run of the newest profile. It is replaced with each profile, so a screen
    /// sees a profile of any run.
    pub fn profiled(&self) -> PathBuf {
        self.runs.with_file_name("profiled")
    }

    pub fn folder(&self, id: RunId) -> PathBuf {
        self.runs.join(id.to_string())
    }

    /// Path of the run's record.json.
    pub fn record(&self, id: RunId) -> PathBuf {
        self.folder(id).join(RECORD)
    }

    /// Opens the folder of all runs, to look at many records with [`RunStore::stamp`].
    pub(super) fn open_to_look(&self) -> Option<OpenFolder> {
        self.files.open_to_look(&self.runs).ok()
    }

    /// The stamp of a run's record in the folder of [`RunStore::open_to_look`].
    pub(super) fn stamp(runs: &OpenFolder, id: RunId) -> Option<Stamp> {
        stamp_in(runs, id.to_string().as_ref(), RECORD.as_ref())
    }

    /// Path of the run's run.log.
    pub fn log(&self, id: RunId) -> PathBuf {
        self.folder(id).join(LOG)
    }

    /// Path of the kernel as the run judged it. Its extension is that of the kernel.
    pub fn kernel(&self, id: RunId) -> PathBuf {
        let there = |file: &PathBuf| self.files.metadata(file).is_ok();
        let python = self.new_kernel(id, Language::Python);
        if there(&python) {
            python
        } else {
            self.new_kernel(id, Language::Cuda)
        }
    }

    /// The path at which a new run keeps its kernel.
    pub fn new_kernel(&self, id: RunId, language: Language) -> PathBuf {
        self.folder(id).join(language.kernel_name())
    }

    /// The kernel as the run judged it.
    pub fn judged_kernel(&self, id: RunId) -> io::Result<Vec<u8>> {
        self.files.read(&self.kernel(id), SIZE_LIMIT)
    }

    /// Opens the run's log for reading.
    pub fn open_log(&self, id: RunId) -> io::Result<File> {
        self.files.open(&self.log(id), Access::Read)
    }

    /// Creates the folder of a new run. Two processes at once get two ids: creating a folder
    /// succeeds for only one of them.
    pub fn create(&self) -> Result<RunId> {
        self.create_after(self.ids().first().copied())
    }

    /// [`RunStore::create`] for a caller that knows the newest run.
    pub fn create_after(&self, newest: Option<RunId>) -> Result<RunId> {
        let failed = || {
            format!(
                "cannot make a folder for the run in {}",
                self.runs.display()
            )
        };
        self.files.create_dir_all(&self.runs).with_context(failed)?;
        if let Some(newest) = newest {
            // Left by a lab that was killed while it wrote the record.
            leftovers::sweep(&self.files, &self.folder(newest));
            if !self.is_in_progress(newest) {
                self.remove_copies(&self.folder(newest));
            }
        }
        let mut newest = newest.map_or(0, |newest| newest.0);
        loop {
            let next = newest.checked_add(1).map(RunId);
            let id = next.with_context(|| {
                format!(
                    "{} is the last number: remove that folder",
                    self.folder(RunId(newest)).display()
                )
            })?;
            match self.files.create_dir(&self.folder(id)) {
                Ok(()) => return Ok(id),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => newest = id.0,
                Err(error) => return Err(error).with_context(failed),
            }
        }
    }

    /// Removes the copies of files that a run's folder holds while the run is in progress. A copy
    /// that stays costs disk space and nothing else.
    pub fn remove_copies(&self, folder: &Path) {
        for copies in [TREE, INCUMBENT] {
            let _ = self.files.remove_dir_all(&folder.join(copies));
        }
    }

    /// Removes the folder of a run that failed before it had a record.
    pub fn remove(&self, id: RunId) {
        let _ = self.files.remove_dir_all(&self.folder(id));
    }

    /// Moves the folder of a run that was not judged out of the runs, so that its number is free
    /// again. The folder of the last such run is replaced. Returns the new folder.
    pub fn set_aside(&self, id: RunId) -> io::Result<PathBuf> {
        self.files.remove_dir_all(&self.not_judged)?;
        self.files.rename(&self.folder(id), &self.not_judged)?;
        Ok(self.not_judged.clone())
    }

    /// Path of the run.log that tells about this verdict of the run.
    pub fn log_of(&self, id: RunId, verdict: Option<&Verdict>) -> PathBuf {
        let is_aside = verdict.is_some_and(|verdict| verdict.outcome == Outcome::NotJudged);
        let has_folder = || self.files.metadata(&self.folder(id)).is_ok();
        if is_aside && !has_folder() {
            self.not_judged.join(LOG)
        } else {
            self.log(id)
        }
    }

    /// Opens that run.log.
    pub fn open_log_of(&self, id: RunId, verdict: Option<&Verdict>) -> io::Result<File> {
        self.files.open(&self.log_of(id, verdict), Access::Read)
    }

    /// Reads the record of the last run that was not judged.
    pub fn read_not_judged(&self) -> Result<Record> {
        let (record, origin) = self.parse_at::<Record>(&self.not_judged.join(RECORD))?;
        Ok(Record { origin, ..record })
    }

    /// All runs, newest first; none of a folder that cannot be listed.
    pub fn ids(&self) -> Vec<RunId> {
        self.list().unwrap_or_default()
    }

    /// All runs, newest first. A folder that is not there has none.
    pub(super) fn list(&self) -> io::Result<Vec<RunId>> {
        let numbers = self.files.numbers(&self.runs)?;
        Ok(numbers.into_iter().map(RunId).collect())
    }

    /// The newest run of a folder that held `count` runs, `last` the newest of them, and into which
    /// only runs with the following numbers came since. `None` where the folder holds others, or
    /// does not tell. Reads no list of the folder: most file systems count the folders in a folder
    /// as links.
    pub(super) fn newest_after(&self, last: RunId, count: u64) -> Option<RunId> {
        // A folder may have any number for its name.
        if last.0 > u64::MAX / 2 {
            return None;
        }
        let is_run = |id: u64| {
            let about = self.files.metadata(&self.folder(RunId(id)));
            about.is_ok_and(|about| about.is_dir())
        };
        let newer = (last.0 + 1..).take_while(|id| is_run(*id)).count() as u64;
        let links = self.files.metadata(&self.runs).ok()?.nlink();
        (links == 2 + count + newer && is_run(last.0)).then_some(RunId(last.0 + newer))
    }

    /// Replaces the record in one step. It is on disk before this returns.
    pub fn write(&self, record: &Record) -> Result<()> {
        self.write_in(&self.folder(record.start.id), record)
    }

    /// Writes the record of a run that begins, and does not wait for the disk: if the machine loses
    /// power, the run has no verdict, and nobody was told one.
    pub fn write_begun(&self, record: &Record) -> Result<()> {
        let path = self.record(record.start.id);
        let text = text_of(record)?;
        let written = self.files.replace_with(&path, |out| out.write_all(&text));
        written.cannot("write", &path)
    }

    /// The same, in a folder that [`RunStore::set_aside`] returned.
    pub fn write_in(&self, folder: &Path, record: &Record) -> Result<()> {
        let path = folder.join(RECORD);
        let written = self.files.replace(&path, &text_of(record)?);
        let written = written.cannot("write", &path);
        let what = format!("the record of run {} was not written", record.start.id);
        written.and_so(&what)
    }

    /// Reads one record. A run whose lab died before the verdict was not judged.
    pub fn read(&self, id: RunId) -> Result<Record> {
        let mut record = self.parse_record(id)?;
        if record.verdict.is_none() && !self.is_in_progress(id) {
            // The run may have ended between the two looks.
            record = self.parse_record(id)?;
            record.verdict.get_or_insert_with(abandoned);
        }
        Ok(record)
    }

    /// Reads the part of a record that lists need, with the same rule as [`RunStore::read`].
    pub(super) fn read_summary(&self, id: RunId) -> Result<RunSummary> {
        let mut summary = self.parse_summary(id)?;
        if summary.verdict.is_none() && !self.is_in_progress(id) {
            summary = self.parse_summary(id)?;
            summary.verdict.get_or_insert_with(|| (&abandoned()).into());
        }
        Ok(summary)
    }

    fn parse_record(&self, id: RunId) -> Result<Record> {
        let (mut record, origin) = self.parse::<Record>(id)?;
        self.check(id, record.start.id, &record.start.kernel)?;
        let emulated = record.emulated();
        peers::forget_emulated(&mut record.peers, emulated);
        Ok(Record { origin, ..record })
    }

    fn parse_summary(&self, id: RunId) -> Result<RunSummary> {
        let (mut summary, origin) = self.parse::<RunSummary>(id)?;
        self.check(id, summary.id, &summary.kernel)?;
        let emulated = summary.emulated();
        peers::forget_emulated(&mut summary.peers, emulated);
        Ok(RunSummary { origin, ..summary })
    }

    /// Refuses a record of another folder, and one of a kernel outside of the repository.
    fn check(&self, id: RunId, named: RunId, kernel: &str) -> Result<()> {
        let path = self.record(id);
        ensure!(
            named == id,
            "{} is the record of run {named}, not of run {id}",
            path.display()
        );
        ensure!(
            is_inside(kernel),
            "{} names a kernel outside of the repository: {}",
            path.display(),
            sanitise::text(kernel)
        );
        Ok(())
    }

    fn parse<T: DeserializeOwned>(&self, id: RunId) -> Result<(T, Origin)> {
        let read = self.parse_at(&self.record(id));
        read.map_err(|error| match self.has_no_record(id) {
            true => {
                anyhow!("there is no run {id}: `lab log` lists the experiments with their runs")
            }
            false => error,
        })
    }

    fn parse_at<T: DeserializeOwned>(&self, path: &Path) -> Result<(T, Origin)> {
        let text = self.files.read(path, RECORD_LIMIT);
        let text = text.cannot("read", path)?;
        signature::read_file(Purpose::Record, path, &text, "")
    }

    /// Whether the run failed before its first record was written. Such a folder is no run and no
    /// problem.
    pub(super) fn has_no_record(&self, id: RunId) -> bool {
        match self.files.metadata(&self.record(id)) {
            Ok(file) => file.len() == 0,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    /// Whether the lab that started this run still follows it: that process holds the lock of
    /// run.log until the record with the verdict is written.
    pub fn is_in_progress(&self, id: RunId) -> bool {
        self.files.is_locked(&self.log(id))
    }

    /// Whether the run's record was written at this time of the file system or later.
    pub fn was_written_since(&self, id: RunId, time: Timestamp) -> bool {
        let Ok(about) = self.files.metadata(&self.record(id)) else {
            return false;
        };
        let written = i32::try_from(about.mtime_nsec())
            .ok()
            .and_then(|ns| Timestamp::new(about.mtime(), ns).ok());
        written.is_none_or(|written| written.duration_since(time) >= -TICK)
    }
}

/// The bytes of record.json. A record that came from elsewhere does not become this user's by a
/// change. Without a key the record is written all the same: it can be read, but it permits no
/// decision ([`signature::key_problem`] says why).
fn text_of(record: &Record) -> Result<Vec<u8>> {
    let signed = match record.origin {
        Origin::Own => signature::signed(Purpose::Record, record).ok(),
        Origin::Foreign | Origin::Listed => None,
    };
    let text = signed.map_or_else(|| serde_json::to_vec_pretty(record), Ok)?;
    // JSON has no number that is not finite: a record that nobody can read must not be on the disk.
    let read: serde_json::Result<Record> = serde_json::from_slice(&text);
    read.map(|_| text)
        .context("the record would not be read back, which is a bug of lab")
}

fn abandoned() -> Verdict {
    Verdict::bare(
        Outcome::NotJudged,
        "the lab itself ended before this run did: judge the bytes again",
    )
}

#[cfg(test)]
mod tests;

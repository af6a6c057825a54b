//! The folder `.lab/runs`: one folder a run. A run's record is written before each step that it describes.

use crate::disk::space;
use crate::run::RunId;
use crate::run::record::Record;
use crate::run::verdict::{Outcome, Verdict};
use crate::store::summary::RunSummary;
use anyhow::{Context, Result};
use lab_system::atomic_file;
use lab_system::file_lock;
use serde::de::DeserializeOwned;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

const RECORD: &str = "record.json";

/// The log's name in a run's folder, and of the link beside lab.toml that points to the last run's log.
pub const LOG: &str = "run.log";

/// Reads and writes the folders of runs.
#[derive(Clone, Debug)]
pub struct RunStore {
    runs: PathBuf,
}

impl RunStore {
    /// The store in this `.lab` folder. Creates nothing.
    pub fn new(lab_dir: &Path) -> Self {
        RunStore { runs: lab_dir.join("runs") }
    }

    pub fn folder(&self, id: RunId) -> PathBuf {
        self.runs.join(id.to_string())
    }

    /// Path of the run's record.json.
    pub fn record(&self, id: RunId) -> PathBuf {
        self.folder(id).join(RECORD)
    }

    /// Path of the run's run.log.
    pub fn log(&self, id: RunId) -> PathBuf {
        self.folder(id).join(LOG)
    }

    /// Creates the folder of a new run. Two processes at once get two ids: creating a folder succeeds for only one of
    /// them.
    pub fn create(&self) -> Result<RunId> {
        self.create_after(self.ids().first().copied())
    }

    /// [`RunStore::create`] for a caller that knows the newest run.
    pub fn create_after(&self, newest: Option<RunId>) -> Result<RunId> {
        let failed = || format!("cannot make a folder for the run in {}", self.runs.display());
        fs::create_dir_all(&self.runs).with_context(failed)?;
        let mut id = RunId(newest.map_or(1, |newest| newest.0 + 1));
        loop {
            match fs::create_dir(self.folder(id)) {
                Ok(()) => return Ok(id),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => id.0 += 1,
                Err(error) => return Err(error).with_context(failed),
            }
        }
    }

    /// Removes the folder of a run that failed before it had a record.
    pub fn remove(&self, id: RunId) {
        let _ = fs::remove_dir_all(self.folder(id));
    }

    /// All runs, newest first.
    pub fn ids(&self) -> Vec<RunId> {
        let names = fs::read_dir(&self.runs).into_iter().flatten().flatten().map(|e| e.file_name());
        let mut ids: Vec<RunId> = names.filter_map(|n| n.to_str()?.parse().ok().map(RunId)).collect();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ids
    }

    /// Replaces the record in one step. It is on disk before this returns.
    pub fn write(&self, record: &Record) -> Result<()> {
        let path = self.record(record.start.id);
        let write = || atomic_file::replace(&path, &serde_json::to_vec_pretty(record)?);
        write().with_context(|| format!("cannot write {}", path.display())).map_err(|error| {
            space::explain(error, &format!("the record of run {} was not written", record.start.id))
        })
    }

    /// Reads one record. A run whose lab died before the verdict has the verdict of a crash.
    pub fn read(&self, id: RunId) -> Result<Record> {
        let mut record: Record = self.parse(id)?;
        if record.verdict.is_none() && !self.is_in_progress(id) {
            // The run may have ended between the two looks.
            record = self.parse(id)?;
            record.verdict.get_or_insert_with(abandoned);
        }
        Ok(record)
    }

    /// Reads the part of a record that lists need, with the same rule as [`RunStore::read`].
    pub(super) fn read_summary(&self, id: RunId) -> Result<RunSummary> {
        let mut summary: RunSummary = self.parse(id)?;
        if summary.verdict.is_none() && !self.is_in_progress(id) {
            summary = self.parse(id)?;
            summary.verdict.get_or_insert_with(|| (&abandoned()).into());
        }
        Ok(summary)
    }

    fn parse<T: DeserializeOwned>(&self, id: RunId) -> Result<T> {
        let path = self.record(id);
        let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("{} is damaged", path.display()))
    }

    /// Whether the run failed before its first record was written. Such a folder is no run and no problem.
    pub(super) fn has_no_record(&self, id: RunId) -> bool {
        match fs::metadata(self.record(id)) {
            Ok(file) => file.len() == 0,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    /// Whether the lab that started this run still follows it: that process holds the lock of run.log until the record
    /// with the verdict is written.
    pub(super) fn is_in_progress(&self, id: RunId) -> bool {
        file_lock::is_held(&self.log(id))
    }
}

fn abandoned() -> Verdict {
    Verdict::bare(Outcome::Crash, "the lab itself ended before this run did: judge the bytes again")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::run::{Fingerprint, Reason, RunStart};
    use std::fs::File;

    /// A record without a verdict.
    pub fn record(id: RunId) -> Record {
        let start = RunStart {
            id,
            reason: Reason::Command,
            kernel: "kernel.cu".into(),
            blob: "0".repeat(40),
            fingerprint: Fingerprint("f".into()),
            started: jiff::Timestamp::UNIX_EPOCH,
            external: true,
        };
        Record::begun(start, Vec::new(), "true".into())
    }

    #[test]
    fn a_run_is_in_progress_while_its_lab_lives_and_is_a_crash_after() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let store = RunStore::new(temp.path());
        let id = store.create().expect("a folder");
        store.write(&record(id)).expect("written");
        let log = File::create(store.log(id)).expect("a log");
        log.lock().expect("locked");
        assert_eq!(store.read(id).expect("read").verdict, None);
        drop(log);
        let verdict = store.read(id).expect("read").verdict.expect("a verdict");
        assert_eq!(verdict.outcome, Outcome::Crash);
        assert!(verdict.why.contains("the lab itself ended"));
    }

    #[test]
    fn ids_are_never_used_twice() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let store = RunStore::new(temp.path());
        let ids: Vec<RunId> = (0..3).map(|_| store.create().expect("a folder")).collect();
        assert_eq!(ids, [RunId(1), RunId(2), RunId(3)]);
        assert_eq!(store.ids(), [RunId(3), RunId(2), RunId(1)]);
    }
}

//! The folder `.lab/runs`: one folder a run, its record written ahead of each step.

pub mod decision_lock;
pub mod index;

use crate::disk::space as room;
use crate::run::RunId;
use crate::run::record::Record;
use crate::run::verdict::{Outcome, Verdict};
use crate::store::index::Brief;
use anyhow::{Context, Result};
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const RECORD: &str = "record.json";
pub const LOG: &str = "run.log";

#[derive(Clone, Debug)]
pub struct Records {
    runs: PathBuf,
}

impl Records {
    pub fn new(lab_dir: &Path) -> Self {
        Records { runs: lab_dir.join("runs") }
    }

    pub fn folder(&self, id: RunId) -> PathBuf {
        self.runs.join(id.to_string())
    }

    pub fn record(&self, id: RunId) -> PathBuf {
        self.folder(id).join(RECORD)
    }

    pub fn log(&self, id: RunId) -> PathBuf {
        self.folder(id).join(LOG)
    }

    /// Makes the folder of a new run. Two labs at once get two ids: the folder is made, or is not.
    pub fn create(&self) -> Result<RunId> {
        let failed = || format!("cannot make a folder for the run in {}", self.runs.display());
        fs::create_dir_all(&self.runs).with_context(failed)?;
        let mut id = RunId(self.ids().first().map_or(1, |newest| newest.0 + 1));
        loop {
            match fs::create_dir(self.folder(id)) {
                Ok(()) => return Ok(id),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => id.0 += 1,
                Err(error) => return Err(error).with_context(failed),
            }
        }
    }

    /// Takes the folder of a run back that came to nothing before it had a record.
    pub fn take_back(&self, id: RunId) {
        let _ = fs::remove_dir_all(self.folder(id));
    }

    /// Every run there is, newest first.
    pub fn ids(&self) -> Vec<RunId> {
        let names = fs::read_dir(&self.runs).into_iter().flatten().flatten().map(|e| e.file_name());
        let mut ids: Vec<RunId> = names.filter_map(|n| n.to_str()?.parse().ok().map(RunId)).collect();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ids
    }

    /// Replaces the record in one step, on disk before this returns.
    pub fn write(&self, record: &Record) -> Result<()> {
        let folder = self.folder(record.start.id);
        let write = || -> io::Result<()> {
            let mut file = tempfile::Builder::new()
                .prefix(".record")
                // As any other file: the user's umask decides who may read it.
                .permissions(fs::Permissions::from_mode(0o666))
                .tempfile_in(&folder)?;
            file.write_all(&serde_json::to_vec_pretty(record)?)?;
            file.as_file().sync_data()?;
            file.persist(folder.join(RECORD)).map_err(|e| e.error)?;
            Ok(())
        };
        write().with_context(|| format!("cannot write {}", folder.join(RECORD).display())).map_err(|error| {
            room::in_words(error, &format!("the record of run {} was not written", record.start.id))
        })
    }

    /// One record. A run that a dead lab left behind reads as a crash.
    pub fn read(&self, id: RunId) -> Result<Record> {
        let path = self.folder(id).join(RECORD);
        let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut record: Record =
            serde_json::from_slice(&text).with_context(|| format!("{} is damaged", path.display()))?;
        if record.verdict.is_none() && !self.goes_on(id) {
            // It may have ended between the two looks.
            record = serde_json::from_slice(&fs::read(&path)?)?;
            if record.verdict.is_none() {
                record.verdict = Some(abandoned());
            }
        }
        Ok(record)
    }

    /// [`Records::read`] of what lists need.
    pub(crate) fn read_brief(&self, id: RunId) -> Result<Brief> {
        let path = self.record(id);
        let read = || -> Result<Brief> {
            let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            serde_json::from_slice(&text).with_context(|| format!("{} is damaged", path.display()))
        };
        let mut brief = read()?;
        if brief.verdict.is_none() && !self.goes_on(id) {
            // It may have ended between the two looks.
            brief = read()?;
            brief.verdict.get_or_insert_with(|| (&abandoned()).into());
        }
        Ok(brief)
    }

    /// Whether the run failed before its record was written: it was none, and owes nobody a word.
    pub(crate) fn unborn(&self, id: RunId) -> bool {
        match fs::metadata(self.folder(id).join(RECORD)) {
            Ok(about) => about.len() == 0,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    /// Whether the lab that started this run still watches it: it holds a lock on run.log, which
    /// ends with its process, however that ends.
    pub(crate) fn goes_on(&self, id: RunId) -> bool {
        File::open(self.log(id))
            .is_ok_and(|log| matches!(log.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }
}

fn abandoned() -> Verdict {
    Verdict::bare(Outcome::Crash, "the lab itself ended before this run did: judge the bytes again")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::run::{Fingerprint, Reason, RunStart};

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
    fn a_run_goes_on_while_its_lab_lives_and_is_a_crash_after() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let records = Records::new(temp.path());
        let id = records.create().expect("a folder");
        records.write(&record(id)).expect("written");
        let log = File::create(records.log(id)).expect("a log");
        log.lock().expect("locked");
        assert_eq!(records.read(id).expect("read").verdict, None);
        drop(log);
        let verdict = records.read(id).expect("read").verdict.expect("a verdict");
        assert_eq!(verdict.outcome, Outcome::Crash);
        assert!(verdict.why.contains("the lab itself ended"));
    }

    #[test]
    fn ids_are_never_used_twice() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let records = Records::new(temp.path());
        let ids: Vec<RunId> = (0..3).map(|_| records.create().expect("a folder")).collect();
        assert_eq!(ids, [RunId(1), RunId(2), RunId(3)]);
        assert_eq!(records.ids(), [RunId(3), RunId(2), RunId(1)]);
    }
}

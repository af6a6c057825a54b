//! One decision at a time, even if commands run beside a screen; and the list of records that
//! decisions wrote.
//!
//! The file `.lab/decide.lock` is both: processes lock it, and it holds one line with the run's
//! number for every record written under the lock. So the index finds the changed records among ten
//! thousand without looking at each. Two further lines say that a decision began and that it ended:
//! without the second, its process was killed.

use crate::run_store::RunStore;
use anyhow::Result;
use lab_project::Project;
use lab_run::RunId;
use lab_run::record::Record;
use lab_system::failure::Failure;
use lab_system::file_lock::LockedFile;
use lab_system::root::{Access, Root};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

fn path(lab_dir: &Path) -> PathBuf {
    lab_dir.join("decide.lock")
}

/// The lines around the numbers of one decision's records.
const BEGAN: &str = "began\n";
const ENDED: &str = "ended\n";

/// The lock, held while something is decided. Dropping it releases it.
pub struct DecisionLock {
    file: LockedFile,
    pub store: RunStore,
    /// The process that held the lock before did not release it: it was killed, and may have left
    /// temporary files.
    pub was_killed: bool,
    has_ended: Cell<bool>,
}

impl DecisionLock {
    /// Waits until no other process decides.
    pub fn take(project: &Project) -> Result<DecisionLock> {
        let (path, files) = (path(&project.lab_dir), project.files());
        let open = || -> io::Result<LockedFile> {
            files.create_dir_all(&project.lab_dir)?;
            files.wait_for_lock(&path, Access::ReadAppend)
        };
        let file = open().cannot("lock", &path);
        let file = file.and_so("nothing was decided")?;
        Ok(DecisionLock::held(project, file))
    }

    /// The same without waiting: `None` while another process decides.
    pub fn try_take(project: &Project) -> Result<Option<DecisionLock>> {
        let path = path(&project.lab_dir);
        let file = project.files().take_lock(&path, Access::ReadAppend);
        let file = file.cannot("lock", &path)?;
        Ok(file.map(|file| DecisionLock::held(project, file)))
    }

    fn held(project: &Project, file: LockedFile) -> DecisionLock {
        let mut text = String::new();
        let mut last = || -> io::Result<bool> {
            let length = file.metadata()?.len();
            (&*file).seek(SeekFrom::Start(length.saturating_sub(ENDED.len() as u64)))?;
            (&*file).read_to_string(&mut text)?;
            Ok(length == 0 || text == ENDED)
        };
        let was_killed = !last().unwrap_or(false);
        // Where this cannot be written, the next decision looks for temporary files in vain.
        let _ = (&*file).write_all(BEGAN.as_bytes());
        let store = RunStore::of(project);
        DecisionLock {
            file,
            store,
            was_killed,
            has_ended: Cell::new(false),
        }
    }

    /// Replaces the record in one step and notes that it changed.
    pub fn write(&self, record: &Record) -> Result<()> {
        self.has_ended.set(false);
        let written = self.store.write(record);
        // The run is noted even if the write failed: one more look does no harm. If the note fails,
        // other processes see an older record; that is no reason not to decide.
        let _ = (&*self.file).write_all(format!("{}\n", record.start.id).as_bytes());
        written
    }
}

impl DecisionLock {
    /// Notes that everything is done but for removing the intent. That comes last, so that no
    /// process is killed after it and before its end: its decision would be done, and nobody would
    /// know.
    pub fn end(&self) {
        if !self.has_ended.replace(true) {
            // Where this cannot be written, the next decision looks for temporary files in vain.
            let _ = (&*self.file).write_all(ENDED.as_bytes());
        }
    }
}

impl Drop for DecisionLock {
    fn drop(&mut self) {
        self.end();
    }
}

/// Keeps others from deciding while the returned value lives; `None` while another process decides.
/// For a change of a record that is no decision: nothing is noted in the file.
pub fn hold_if_free(project: &Project) -> io::Result<Option<LockedFile>> {
    project
        .files()
        .take_lock(&path(&project.lab_dir), Access::ReadAppend)
}

/// The runs whose records decisions wrote, in the order in which they were written: a run may stand
/// there several times.
pub fn written(files: &Root, lab_dir: &Path) -> Vec<RunId> {
    let text = files
        .read_text(&path(lab_dir), READ_LIMIT)
        .unwrap_or_default();
    text.lines()
        .filter_map(|line| line.parse().ok().map(RunId))
        .collect()
}

/// A position in the file, in bytes.
pub type Position = u64;

/// Most bytes of the file that are read at once. After more, every record is looked at.
const READ_LIMIT: u64 = 16 << 20;

/// Returns the runs whose records decisions wrote after `seen`, and the position to ask from the
/// next time. `None` where the file does not tell: any record may have changed.
pub fn changed_since(
    files: &Root,
    lab_dir: &Path,
    seen: Position,
) -> (Position, Option<BTreeSet<RunId>>) {
    let read = || -> io::Result<Result<String, Position>> {
        let mut file = files.open(&path(lab_dir), Access::Read)?;
        let length = file.metadata()?.len();
        match length.checked_sub(seen) {
            None => return Ok(Err(0)),
            Some(new) if new > READ_LIMIT => return Ok(Err(length)),
            Some(_) => {}
        }
        let mut text = String::new();
        file.seek(SeekFrom::Start(seen))?;
        file.take(READ_LIMIT).read_to_string(&mut text)?;
        Ok(Ok(text))
    };
    let text = match read() {
        Ok(Ok(text)) => text,
        Ok(Err(position)) => return (position, None),
        // No file now, and none the last time: nothing was decided.
        Err(_) => return (0, (seen == 0).then(BTreeSet::new)),
    };
    // A line that is only half written is read whole the next time.
    let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
    let ids = whole
        .lines()
        .filter_map(|line| line.parse().ok().map(RunId))
        .collect();
    (seen + whole.len() as u64, Some(ids))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_whole_lines_are_taken_and_a_new_file_says_nothing_of_before() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let (lab, files) = (temp.path(), Root::new(temp.path()));
        let ids = |list: &[u64]| Some(list.iter().copied().map(RunId).collect::<BTreeSet<_>>());
        assert_eq!(changed_since(&files, lab, 0), (0, ids(&[])));
        fs::write(path(lab), "3\n12\n4").expect("written");
        assert_eq!(changed_since(&files, lab, 0), (5, ids(&[3, 12])));
        fs::write(path(lab), "3\n12\n41\n").expect("written");
        assert_eq!(changed_since(&files, lab, 5), (8, ids(&[41])));
        fs::write(path(lab), "1\n").expect("written");
        assert_eq!(changed_since(&files, lab, 8), (0, None));
    }
}

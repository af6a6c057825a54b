//! One decision at a time, even if commands run beside a screen; and the journal of the records that
//! decisions wrote.
//!
//! The file `.lab/decide.lock` is both: processes lock it, and it holds one entry for every record
//! written under the lock. So the index finds the changed records among ten thousand without looking
//! at each, and an undo knows the last decision even if its record is gone. Two further lines say that
//! a decision began and that it ended: without the second, its process was killed.

use crate::checked;
use crate::run_store::RunStore;
use anyhow::Result;
use lab_project::Project;
use lab_run::RunId;
use lab_run::record::Record;
use lab_system::failure::Failure;
use lab_system::file_lock::LockedFile;
use lab_system::root::{Access, Root};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
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
        let written = self.store.write(record);
        // The run is noted even if the write failed: one more look does no harm.
        self.note(record);
        written
    }

    /// Notes that a record was written. If this fails, other processes see an older record; that is no
    /// reason not to decide.
    pub fn note(&self, record: &Record) {
        self.has_ended.set(false);
        if let Ok(text) = serde_json::to_string(&Entry::of(record)) {
            let line = checked::line(&text);
            let _ = (&*self.file).write_all(format!("{line}\n").as_bytes());
        }
    }

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

/// What one line of the journal says of a record that was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Entry {
    run: RunId,
    kernel: String,
    /// The [`order`](lab_run::record::Decision::order) of the run's decision; `None` if it is
    /// undecided.
    order: Option<u64>,
    /// The orders of the run's decisions that were taken back.
    undone: Vec<u64>,
}

impl Entry {
    fn of(record: &Record) -> Entry {
        Entry {
            run: record.start.id,
            kernel: record.start.kernel.clone(),
            order: record.decision.as_ref().map(|decision| decision.order),
            undone: record
                .undone
                .iter()
                .map(|decision| decision.order)
                .collect(),
        }
    }
}

/// A line of the file.
enum Line {
    Entry(Entry),
    /// A decision began or ended.
    Bound,
}

impl Line {
    /// Reads a line; `None` if it is damaged.
    fn read(line: &str) -> Option<Line> {
        if [BEGAN, ENDED].iter().any(|bound| bound.trim_end() == line) {
            return Some(Line::Bound);
        }
        serde_json::from_str(checked::read(line)?)
            .ok()
            .map(Line::Entry)
    }
}

/// No lab makes so many decisions: a file of a stranger may name any number, and the next decision
/// needs a greater one.
pub const MOST_DECISIONS: u64 = 1 << 53;

/// The decisions that stand, as the journal has them. A process that works for days reads what is new.
#[derive(Default)]
pub struct Journal {
    seen: Position,
    /// By kernel and order.
    standing: BTreeMap<(String, u64), RunId>,
}

impl Journal {
    /// Reads what was written since the last time.
    pub fn refresh(&mut self, files: &Root, lab_dir: &Path) {
        let (mut seen, mut lines) = lines_since(files, lab_dir, self.seen);
        if lines.is_none() && self.seen > 0 {
            // Another file is there, or none: what the earlier one said may not hold.
            *self = Journal::default();
            (seen, lines) = lines_since(files, lab_dir, 0);
        }
        self.seen = seen;
        for line in lines.unwrap_or_default().lines() {
            if let Some(Line::Entry(entry)) = Line::read(line) {
                self.add(entry);
            }
        }
    }

    fn add(&mut self, entry: Entry) {
        for order in entry.undone {
            self.standing.remove(&(entry.kernel.clone(), order));
        }
        if let Some(order) = entry.order.filter(|order| *order < MOST_DECISIONS) {
            self.standing.insert((entry.kernel, order), entry.run);
        }
    }

    /// The last decision about a kernel that was not taken back: its order and its run.
    pub fn last(&self, kernel: &str) -> Option<(u64, RunId)> {
        let of_kernel = (kernel.to_owned(), 0)..=(kernel.to_owned(), u64::MAX);
        let (key, run) = self.standing.range(of_kernel).next_back()?;
        Some((key.1, *run))
    }

    /// The greatest order of all decisions that stand; 0 if there is none.
    pub fn greatest_order(&self) -> u64 {
        self.standing.keys().map(|key| key.1).max().unwrap_or(0)
    }
}

/// A position in the file, in bytes.
pub type Position = u64;

/// Most bytes of the file that are read at once. After more, every record is looked at.
const READ_LIMIT: u64 = 16 << 20;

/// Reads the whole lines after `seen`, and the position to ask from the next time. `None` where the
/// file does not tell.
fn lines_since(files: &Root, lab_dir: &Path, seen: Position) -> (Position, Option<String>) {
    let read = || -> io::Result<Result<Vec<u8>, Position>> {
        let mut file = files.open(&path(lab_dir), Access::Read)?;
        let length = file.metadata()?.len();
        match length.checked_sub(seen) {
            None => return Ok(Err(0)),
            Some(new) if new > READ_LIMIT => return Ok(Err(length)),
            Some(_) => {}
        }
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(seen))?;
        file.take(READ_LIMIT).read_to_end(&mut bytes)?;
        Ok(Ok(bytes))
    };
    match read() {
        Ok(Ok(bytes)) => {
            // A line that is only half written is read whole the next time.
            let end = bytes.iter().rposition(|byte| *byte == b'\n');
            let whole = &bytes[..end.map_or(0, |end| end + 1)];
            let text = String::from_utf8_lossy(whole).into_owned();
            (seen + whole.len() as u64, Some(text))
        }
        Ok(Err(position)) => (position, None),
        // No file now, and none the last time: nothing was decided.
        Err(_) if seen == 0 => (0, Some(String::new())),
        Err(_) => (0, None),
    }
}

/// Returns the runs whose records decisions wrote after `seen`, and the position to ask from the
/// next time. `None` where the file does not tell, or a line of it is damaged: any record may have
/// changed.
pub fn changed_since(
    files: &Root,
    lab_dir: &Path,
    seen: Position,
) -> (Position, Option<BTreeSet<RunId>>) {
    let (position, lines) = lines_since(files, lab_dir, seen);
    let Some(text) = lines else {
        return (position, None);
    };
    let mut runs = BTreeSet::new();
    for line in text.lines() {
        match Line::read(line) {
            Some(Line::Entry(entry)) => runs.insert(entry.run),
            Some(Line::Bound) => false,
            None => return (position, None),
        };
    }
    (position, Some(runs))
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
        let [first, last] = [
            entry(3, None, &[]) + &entry(12, None, &[]),
            entry(41, None, &[]),
        ];
        let (read, all) = (first.len() as u64, first.clone() + &last);
        fs::write(path(lab), first + &last[..9]).expect("written");
        assert_eq!(changed_since(&files, lab, 0), (read, ids(&[3, 12])));
        fs::write(path(lab), &all).expect("written");
        let end = all.len() as u64;
        assert_eq!(changed_since(&files, lab, read), (end, ids(&[41])));
        fs::write(path(lab), last).expect("written");
        assert_eq!(changed_since(&files, lab, end), (0, None));
    }

    fn entry(run: u64, order: Option<u64>, undone: &[u64]) -> String {
        let entry = Entry {
            run: RunId(run),
            kernel: "a b\n.cu".to_owned(),
            order,
            undone: undone.to_vec(),
        };
        let text = serde_json::to_string(&entry).expect("text");
        format!("{}\n", checked::line(&text))
    }

    #[test]
    fn a_flipped_bit_of_the_journal_is_no_other_decision() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let (lab, files) = (temp.path(), Root::new(temp.path()));
        let whole = [
            BEGAN.to_owned(),
            entry(1, Some(1), &[]),
            entry(2, Some(2), &[]),
            // A failed check of run 1, and an undo of run 2's first decision.
            entry(1, Some(1), &[]),
            entry(2, None, &[2]),
            entry(2, Some(3), &[2]),
            ENDED.to_owned(),
        ]
        .concat();
        let read = |text: &[u8]| {
            fs::write(path(lab), text).expect("written");
            let mut journal = Journal::default();
            journal.refresh(&files, lab);
            journal.refresh(&files, lab);
            (journal.last("a b\n.cu"), changed_since(&files, lab, 0).1)
        };
        let both: BTreeSet<_> = [RunId(1), RunId(2)].into();
        let last = Some((3, RunId(2)));
        assert_eq!(read(whole.as_bytes()), (last, Some(both)));
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.clone().into_bytes();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let (found, changed) = read(&flipped);
            let known = [last, Some((2, RunId(2))), Some((1, RunId(1)))];
            assert!(known.contains(&found), "bit {bit}: {found:?}");
            // The last line break makes the last line a half one.
            let is_last = bit / 8 == whole.len() - 1;
            assert!(changed.is_none() || is_last, "bit {bit}: {changed:?}");
        }
    }

    #[test]
    fn a_journal_that_was_replaced_or_removed_says_nothing_of_before() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let (lab, files) = (temp.path(), Root::new(temp.path()));
        let mut journal = Journal::default();
        let mut last = |text: Option<String>| {
            match text {
                Some(text) => fs::write(path(lab), text).expect("written"),
                None => fs::remove_file(path(lab)).expect("removed"),
            }
            journal.refresh(&files, lab);
            journal.last("a b\n.cu").map(|(order, _)| order)
        };
        let two = entry(1, Some(1), &[]) + &entry(2, Some(2), &[]);
        assert_eq!(last(Some(two.clone())), Some(2));
        assert_eq!(last(Some(two + &entry(2, None, &[2]))), Some(1));
        assert_eq!(last(Some(entry(3, Some(9), &[]))), Some(9));
        assert_eq!(last(None), None);
        assert_eq!(last(Some(entry(1, Some(1), &[]))), Some(1));
    }
}

//! What lists and searches need of every run, so that ten thousand runs are known at once: a [`Brief`] of each
//! record, read anew only where the record is another one, and an index of them all on disk.
//!
//! The index (`.lab/index.json`) is a copy that may be deleted: an entry counts only while the record's file is the
//! one that it was made of.

use super::project::Project;
use super::record::{Decision, Record};
use super::records::Records;
use super::repo::Notes;
use super::run::{Ending, Fingerprint, Reason, RunId};
use super::verdict::Outcome;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A record without its measures: its fields have the record's names, so that one reads as the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Brief {
    pub id: RunId,
    pub reason: Reason,
    /// Repository-relative path of the kernel.
    pub kernel: String,
    /// Git blob id of the judged bytes, hex.
    pub blob: String,
    pub fingerprint: Fingerprint,
    pub ending: Option<Ending>,
    /// `None` while the run goes on.
    pub verdict: Option<Ruling>,
    /// Device name as the harness gave it.
    pub device: Option<String>,
    pub decision: Option<Decision>,
}

/// What a list shows of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ruling {
    pub outcome: Outcome,
    pub emulated: bool,
}

impl Brief {
    pub fn is_check(&self) -> bool {
        self.reason == Reason::Check
    }

    pub fn outcome(&self) -> Option<Outcome> {
        self.verdict.map(|v| v.outcome)
    }

    /// Measured on an emulated device.
    pub fn emulated(&self) -> bool {
        self.verdict.is_some_and(|v| v.emulated)
    }

    /// A run of this kernel that was to judge it.
    pub fn judges(&self, project: &Project) -> bool {
        self.kernel == project.kernel_name && !self.is_check()
    }
}

/// Inode, size, and when it was last written.
type Stamp = (u64, u64, i64, i64);

#[derive(Serialize, Deserialize)]
struct Shelved {
    stamp: Stamp,
    brief: Brief,
}

/// So many records must be new before the index is written anew: reading them takes no longer than writing it.
const WORTH_WRITING: usize = 64;

pub struct Shelf {
    records: Records,
    index: PathBuf,
    is_loaded: bool,
    shelved: BTreeMap<RunId, Shelved>,
    /// What is wrong with damaged records, and the file that was read so.
    damaged: BTreeMap<RunId, (Option<Stamp>, String)>,
    noted: Noted,
}

impl Shelf {
    /// Nothing is read yet.
    pub fn new(project: &Project) -> Self {
        Shelf {
            records: Records::new(&project.lab_dir),
            index: project.lab_dir.join("index.json"),
            is_loaded: false,
            shelved: BTreeMap::new(),
            damaged: BTreeMap::new(),
            noted: Noted::default(),
        }
    }

    /// The shelf as it is now.
    pub fn open(project: &Project) -> Self {
        let mut shelf = Shelf::new(project);
        shelf.refresh();
        shelf
    }

    /// Reads what is new or changed since, and forgets what is gone.
    pub fn refresh(&mut self) {
        if !std::mem::replace(&mut self.is_loaded, true) {
            self.shelved = load(&self.index);
        }
        let ids = self.records.ids();
        let mut read = 0;
        let mut before = std::mem::take(&mut self.shelved);
        let mut damaged = std::mem::take(&mut self.damaged);
        for id in ids {
            let stamp = stamp(&self.records.record(id));
            // What goes on may have ended without a word: a dead lab writes no record.
            let fresh = |s: &Shelved| Some(s.stamp) == stamp && s.brief.verdict.is_some();
            if let Some(known) = before.remove(&id).filter(fresh) {
                self.shelved.insert(id, known);
                continue;
            }
            if let Some(known) = damaged.remove(&id).filter(|(seen, _)| stamp.is_some() && *seen == stamp) {
                self.damaged.insert(id, known);
                continue;
            }
            read += 1;
            match (self.records.read_brief(id), stamp) {
                (Ok(brief), Some(stamp)) => drop(self.shelved.insert(id, Shelved { stamp, brief })),
                (Err(_), _) if self.records.goes_on(id) || self.records.unborn(id) => {}
                (Err(error), _) => {
                    let problem = format!("run {id} is left out: {error:#}");
                    self.damaged.insert(id, (stamp, problem));
                }
                // It came into being between the two looks.
                (Ok(_), None) => {}
            }
        }
        if read >= WORTH_WRITING {
            // Without an index the next opening takes longer, no more.
            let _ = store(&self.index, &self.shelved);
        }
    }

    /// Every run that has a record, newest first.
    pub fn newest(&self) -> impl Iterator<Item = &Brief> {
        self.shelved.values().rev().map(|s| &s.brief)
    }

    pub fn brief(&self, id: RunId) -> Option<&Brief> {
        self.shelved.get(&id).map(|s| &s.brief)
    }

    /// What is wrong with damaged records, newest first.
    pub fn problems(&self) -> Vec<String> {
        self.damaged.values().rev().map(|(_, problem)| problem.clone()).collect()
    }

    /// The newest run that `wanted` accepts, with its whole record.
    pub fn find(&self, wanted: impl Fn(&Brief) -> bool) -> Option<Record> {
        self.newest().filter(|b| wanted(b)).find_map(|b| self.records.read(b.id).ok())
    }

    pub fn records(&self) -> &Records {
        &self.records
    }

    /// The brief of the record that the commit's note holds, where notes were fetched: in another clone that is all
    /// there is.
    pub fn noted(&mut self, notes: &Notes, commit: &str) -> Option<&Brief> {
        if self.noted.tip != notes.tip() {
            self.noted = Noted { tip: notes.tip(), briefs: HashMap::new() };
        }
        let read = || serde_json::from_str(&notes.of(commit)?).ok();
        self.noted.briefs.entry(commit.to_owned()).or_insert_with(read).as_ref()
    }
}

/// What the notes say, as long as they are the same ones.
#[derive(Default)]
struct Noted {
    tip: Option<String>,
    briefs: HashMap<String, Option<Brief>>,
}

fn stamp(path: &Path) -> Option<Stamp> {
    let m = fs::metadata(path).ok()?;
    Some((m.ino(), m.size(), m.mtime(), m.mtime_nsec()))
}

/// An index that cannot be read, or is another lab's, is none.
fn load(index: &Path) -> BTreeMap<RunId, Shelved> {
    let read = || -> Option<Vec<Shelved>> {
        let file: Index<Vec<Shelved>> = serde_json::from_slice(&fs::read(index).ok()?).ok()?;
        (file.version == VERSION).then_some(file.runs)
    };
    read().unwrap_or_default().into_iter().map(|s| (s.brief.id, s)).collect()
}

fn store(index: &Path, shelved: &BTreeMap<RunId, Shelved>) -> std::io::Result<()> {
    let text = serde_json::to_vec(&Index { version: VERSION, runs: shelved.values().collect::<Vec<_>>() })?;
    let folder = index.parent().unwrap_or(Path::new("."));
    let file = tempfile::Builder::new().prefix(".index").tempfile_in(folder)?;
    fs::write(file.path(), text)?;
    file.persist(index).map_err(|e| e.error)?;
    Ok(())
}

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Index<R> {
    version: u32,
    runs: R,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::records::tests::record;
    use crate::session::verdict::Verdict;

    fn shelf(lab_dir: &Path) -> Shelf {
        Shelf {
            records: Records::new(lab_dir),
            index: lab_dir.join("index.json"),
            is_loaded: false,
            shelved: BTreeMap::new(),
            damaged: BTreeMap::new(),
            noted: Noted::default(),
        }
    }

    fn ended(records: &Records, id: RunId, device: &str) {
        let verdict = Verdict {
            outcome: Outcome::Pass,
            why: String::new(),
            build_failed: false,
            objective: None,
            kernel_us: None,
            change: None,
            emulated: false,
            caveats: Vec::new(),
        };
        let of = Record { verdict: Some(verdict), device: Some(device.into()), ..record(id) };
        records.write(&of).expect("written");
    }

    fn seen(shelf: &Shelf) -> Vec<(u64, &str)> {
        shelf.newest().map(|b| (b.id.0, b.device.as_deref().unwrap_or("-"))).collect()
    }

    #[test]
    fn a_record_that_changes_is_read_anew_and_one_that_is_gone_is_forgotten() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let mut shelf = shelf(temp.path());
        let records = shelf.records.clone();
        for _ in 0..WORTH_WRITING {
            let id = records.create().expect("a folder");
            ended(&records, id, "a");
        }
        shelf.refresh();
        assert_eq!(shelf.newest().count(), WORTH_WRITING);
        assert_eq!(shelf.newest().next().map(|b| b.id.0), Some(WORTH_WRITING as u64));

        // A shelf made anew starts from the index, and finds out what is another by now.
        ended(&records, RunId(2), "b");
        fs::remove_dir_all(records.folder(RunId(1))).expect("removed");
        fs::write(records.record(RunId(3)), "{ half").expect("damaged");
        let mut again = self::shelf(temp.path());
        assert!(again.index.exists());
        for shelf in [&mut shelf, &mut again] {
            shelf.refresh();
            assert!(seen(shelf).ends_with(&[(4, "a"), (2, "b")]), "{:?}", seen(shelf));
            assert_eq!(shelf.problems().len(), 1, "{:?}", shelf.problems());
            shelf.refresh();
            assert_eq!(shelf.problems().len(), 1, "it stays one");
        }
        fs::write(&shelf.index, "nonsense").expect("damaged");
        let mut third = self::shelf(temp.path());
        third.refresh();
        assert_eq!(seen(&third), seen(&shelf));
    }

    #[test]
    fn a_run_that_goes_on_is_looked_at_again() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let mut shelf = shelf(temp.path());
        let records = shelf.records.clone();
        let id = records.create().expect("a folder");
        records.write(&record(id)).expect("written");
        let log = fs::File::create(records.log(id)).expect("a log");
        log.lock().expect("locked");
        shelf.refresh();
        assert_eq!(shelf.newest().next().and_then(Brief::outcome), None);
        drop(log);
        shelf.refresh();
        assert_eq!(shelf.newest().next().and_then(Brief::outcome), Some(Outcome::Crash));
        assert!(shelf.find(|b| b.outcome() == Some(Outcome::Crash)).is_some());
    }
}

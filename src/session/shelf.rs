//! What lists and searches need of every run, so that ten thousand runs are known at once: a [`Brief`] of each
//! record, and an index of them all on disk (`.lab/runs/index.json`, a copy that may be deleted).
//!
//! A record is read anew where it can be another: while its run goes on, where a decision wrote it ([`deciding`] tells
//! which), and, of the newest, whenever its file is not the one that was read: those are what people touch by hand,
//! and their numbers can come again. An older one that was judged stays as it is.

use super::deciding::{self, Seen};
use super::experiment::Measured;
use super::project::Project;
use super::record::{Decision, Record};
use super::records::Records;
use super::repo::Notes;
use super::run::{Ending, Fingerprint, Reason, RunId};
use super::stamp::{Stamp, stamp};
use super::verdict::{Change, Outcome, Verdict};
use harness::report::Measure;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ruling {
    pub outcome: Outcome,
    pub emulated: bool,
    #[serde(default)]
    pub objective: Option<Measure>,
    #[serde(default)]
    pub change: Option<Change>,
    #[serde(default, rename = "caveats", deserialize_with = "any")]
    pub caveated: bool,
}

/// A verdict lists its caveats; what is remembered of them is whether there are any.
fn any<'de, D: Deserializer<'de>>(caveats: D) -> Result<bool, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Caveats {
        Any(bool),
        All(Vec<IgnoredAny>),
    }
    Ok(match Caveats::deserialize(caveats)? {
        Caveats::Any(any) => any,
        Caveats::All(all) => !all.is_empty(),
    })
}

impl Ruling {
    pub fn measured(&self) -> Measured {
        Measured { objective: self.objective, change: self.change, caveated: self.caveated }
    }
}

impl From<&Verdict> for Ruling {
    fn from(verdict: &Verdict) -> Self {
        let Measured { objective, change, caveated } = verdict.into();
        Ruling { outcome: verdict.outcome, emulated: verdict.emulated, objective, change, caveated }
    }
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

#[derive(Serialize, Deserialize)]
struct Shelved {
    stamp: Stamp,
    brief: Brief,
}

/// So many records must be new before the index is written anew.
const WORTH_WRITING: usize = 64;

/// The files of so many of the newest records are looked at each time.
const NEWEST: usize = 64;

pub struct Shelf {
    lab_dir: PathBuf,
    records: Records,
    index: PathBuf,
    is_loaded: bool,
    /// The folder of runs as it was listed, and what was in it, newest first.
    listed: Option<Stamp>,
    ids: Vec<RunId>,
    seen: Seen,
    shelved: BTreeMap<RunId, Shelved>,
    /// What is wrong with damaged records, and the file that was read so.
    damaged: BTreeMap<RunId, (Option<Stamp>, String)>,
    noted: Noted,
}

impl Shelf {
    /// Nothing is read yet.
    pub fn new(project: &Project) -> Self {
        Shelf::of(&project.lab_dir)
    }

    fn of(lab_dir: &Path) -> Self {
        Shelf {
            lab_dir: lab_dir.to_owned(),
            records: Records::new(lab_dir),
            index: lab_dir.join("runs/index.json"),
            is_loaded: false,
            listed: None,
            ids: Vec::new(),
            seen: 0,
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
        if !std::mem::replace(&mut self.is_loaded, true)
            && let Some(index) = load(&self.index)
        {
            self.seen = index.seen;
            self.shelved = index.runs.into_iter().map(|s| (s.brief.id, s)).collect();
        }
        let (seen, decided) = deciding::since(&self.lab_dir, self.seen);
        self.seen = seen;
        // Before it is listed: what comes in between is seen the next time.
        let listed = stamp(&self.lab_dir.join("runs"));
        if listed.is_none() || self.listed != listed {
            self.ids = self.records.ids();
            self.listed = listed;
            let here: BTreeSet<RunId> = self.ids.iter().copied().collect();
            self.shelved.retain(|id, _| here.contains(id));
            self.damaged.retain(|id, _| here.contains(id));
        }
        let as_it_was = |at: usize, id: RunId| {
            let stays = |known: &Shelved| {
                known.brief.verdict.is_some() && decided.as_ref().is_some_and(|ids| !ids.contains(&id))
            };
            let known = self.shelved.get(&id);
            let stamp = || stamp(&self.records.record(id));
            match (known, self.damaged.get(&id)) {
                (Some(known), _) if at < NEWEST => stays(known) && Some(known.stamp) == stamp(),
                (Some(known), _) => stays(known),
                (None, Some((seen, _))) => seen.is_some() && *seen == stamp(),
                (None, None) => false,
            }
        };
        let ids = self.ids.iter().enumerate();
        let anew: Vec<RunId> = ids.filter(|(at, id)| !as_it_was(*at, **id)).map(|(_, id)| *id).collect();
        for (id, found) in read(&self.records, &anew) {
            self.shelved.remove(&id);
            self.damaged.remove(&id);
            match found {
                Found::Brief(shelved) => drop(self.shelved.insert(id, *shelved)),
                Found::Damaged(stamp, problem) => drop(self.damaged.insert(id, (stamp, problem))),
                Found::Nothing => {}
            }
        }
        if anew.len() >= WORTH_WRITING {
            // Without an index the next opening takes longer, no more.
            let _ = store(&self.index, self.seen, self.shelved.values().collect());
        }
    }

    /// Every run that has a record, newest first.
    pub fn newest(&self) -> impl Iterator<Item = &Brief> {
        self.shelved.values().rev().map(|s| &s.brief)
    }

    /// The newest run that has ended. A damaged record is of none that goes on.
    pub fn ended(&self) -> Option<RunId> {
        let judged = self.newest().find(|brief| brief.verdict.is_some()).map(|brief| brief.id);
        judged.max(self.damaged.keys().next_back().copied())
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

enum Found {
    Brief(Box<Shelved>),
    Damaged(Option<Stamp>, String),
    /// A run that is being born, or never was.
    Nothing,
}

/// Reads many records at once, as many threads as there are processors.
fn read(records: &Records, ids: &[RunId]) -> Vec<(RunId, Found)> {
    const WORTH_A_THREAD: usize = 256;
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    let share = ids.len().div_ceil(threads).max(WORTH_A_THREAD);
    let one = |id: &RunId| (*id, find(records, *id));
    std::thread::scope(|scope| {
        let mut shares = ids.chunks(share);
        let first = shares.next().unwrap_or_default();
        let others: Vec<_> = shares
            .map(|share| {
                let reading = std::thread::Builder::new()
                    .name("records".into())
                    .spawn_scoped(scope, move || share.iter().map(one).collect::<Vec<_>>());
                (share, reading)
            })
            .collect();
        let mut found: Vec<(RunId, Found)> = first.iter().map(one).collect();
        for (share, reading) in others {
            // Where no thread could be had, or it broke, this one reads.
            let read = reading.ok().and_then(|thread| thread.join().ok());
            found.extend(read.unwrap_or_else(|| share.iter().map(one).collect()));
        }
        found
    })
}

fn find(records: &Records, id: RunId) -> Found {
    // Before it is read: a record that is replaced in between is read again the next time.
    let stamp = stamp(&records.record(id));
    match (records.read_brief(id), stamp) {
        (Ok(brief), Some(stamp)) => Found::Brief(Box::new(Shelved { stamp, brief })),
        // It came into being between the two looks.
        (Ok(_), None) => Found::Nothing,
        (Err(_), _) if records.goes_on(id) || records.unborn(id) => Found::Nothing,
        (Err(error), _) => Found::Damaged(stamp, format!("run {id} is left out: {error:#}")),
    }
}

#[derive(Serialize, Deserialize)]
struct Index<R> {
    version: u32,
    seen: Seen,
    runs: Vec<R>,
}

const VERSION: u32 = 2;

/// An index that cannot be read, or is another lab's, is none.
fn load(index: &Path) -> Option<Index<Shelved>> {
    let index: Index<Shelved> = serde_json::from_slice(&fs::read(index).ok()?).ok()?;
    (index.version == VERSION).then_some(index)
}

fn store(index: &Path, seen: Seen, runs: Vec<&Shelved>) -> std::io::Result<()> {
    let text = serde_json::to_vec(&Index { version: VERSION, seen, runs })?;
    let folder = index.parent().unwrap_or(Path::new("."));
    let file = tempfile::Builder::new().prefix(".index").tempfile_in(folder)?;
    fs::write(file.path(), text)?;
    file.persist(index).map_err(|e| e.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::records::tests::record;

    fn ended(records: &Records, id: RunId, device: &str) {
        let verdict = Verdict::bare(Outcome::Pass, "");
        let of = Record { verdict: Some(verdict), device: Some(device.into()), ..record(id) };
        records.write(&of).expect("written");
    }

    fn seen(shelf: &Shelf) -> Vec<(u64, &str)> {
        shelf.newest().map(|b| (b.id.0, b.device.as_deref().unwrap_or("-"))).collect()
    }

    #[test]
    fn a_record_that_changes_is_read_anew_and_one_that_is_gone_is_forgotten() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let mut shelf = Shelf::of(temp.path());
        let records = shelf.records.clone();
        for _ in 0..NEWEST + 4 {
            let id = records.create().expect("a folder");
            ended(&records, id, "a");
        }
        shelf.refresh();
        assert_eq!(shelf.newest().count(), NEWEST + 4);
        assert_eq!(shelf.newest().next().map(|b| b.id.0), Some(NEWEST as u64 + 4));

        // A shelf made anew starts from the index, and finds out what is another by now.
        ended(&records, RunId(2), "b");
        fs::write(temp.path().join("decide.lock"), "2\n").expect("what a decision says of it");
        fs::remove_dir_all(records.folder(RunId(1))).expect("removed");
        ended(&records, RunId(NEWEST as u64), "by hand");
        fs::write(records.record(RunId(NEWEST as u64 + 1)), "{ half").expect("damaged");
        let mut again = Shelf::of(temp.path());
        assert!(again.index.exists());
        for shelf in [&mut shelf, &mut again] {
            shelf.refresh();
            assert!(seen(shelf).ends_with(&[(3, "a"), (2, "b")]), "{:?}", seen(shelf));
            assert_eq!(seen(shelf)[3], (NEWEST as u64, "by hand"));
            assert_eq!(shelf.problems().len(), 1, "{:?}", shelf.problems());
            shelf.refresh();
            assert_eq!(shelf.problems().len(), 1, "it stays one");
            assert_eq!(shelf.ended(), Some(RunId(NEWEST as u64 + 4)));
        }
        fs::write(&shelf.index, "nonsense").expect("damaged");
        let mut third = Shelf::of(temp.path());
        third.refresh();
        assert_eq!(seen(&third), seen(&shelf));
    }

    #[test]
    fn a_run_that_goes_on_is_looked_at_again() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let mut shelf = Shelf::of(temp.path());
        let records = shelf.records.clone();
        let id = records.create().expect("a folder");
        records.write(&record(id)).expect("written");
        let log = fs::File::create(records.log(id)).expect("a log");
        log.lock().expect("locked");
        shelf.refresh();
        assert_eq!(shelf.newest().next().and_then(Brief::outcome), None);
        assert_eq!(shelf.ended(), None);
        drop(log);
        shelf.refresh();
        assert_eq!(shelf.ended(), Some(id));
        assert_eq!(shelf.newest().next().and_then(Brief::outcome), Some(Outcome::Crash));
        assert!(shelf.find(|b| b.outcome() == Some(Outcome::Crash)).is_some());
    }
}

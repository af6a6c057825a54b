//! What lists and searches need of every run, so that ten thousand runs are known at once: a [`Brief`] of each
//! record, and an index of them all on disk (`.lab/runs/index.jsonl`, a copy that may be deleted).
//!
//! A record is read anew where it can be another: while its run goes on, where a decision wrote it ([`deciding`] tells
//! which), and, of the newest, whenever its file is not the one that was read: those are what people touch by hand,
//! and their numbers can come again. An older one that was judged stays as it is.

mod file;
mod scan;

use crate::disk::stamp::{Stamp, stamp};
use crate::project::Project;
use crate::repo::Notes;
use crate::run::experiment::Measured;
use crate::run::record::{Decision, Record};
use crate::run::verdict::{Change, Outcome, Verdict};
use crate::run::{Ending, Fingerprint, Reason, RunId};
use crate::store::Records;
use crate::store::decision_lock as deciding;
use crate::store::decision_lock::Seen;
use file::Shelved;
use lab_protocol::report::Measure;
use scan::{Found, read};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
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

/// What is kept of a record that was read.
struct Known {
    stamp: Stamp,
    has_verdict: bool,
    /// `None` where it was not wanted.
    brief: Option<Box<Brief>>,
}

impl Known {
    fn new(Shelved { stamp, mut brief }: Shelved, mut wanted: impl FnMut(&Brief) -> bool) -> Self {
        // Of ten thousand it counts that a list was made for more than it holds.
        brief.decision.iter_mut().for_each(|decision| decision.trailers.shrink_to_fit());
        Known { stamp, has_verdict: brief.verdict.is_some(), brief: wanted(&brief).then(|| Box::new(brief)) }
    }
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
    known: BTreeMap<RunId, Known>,
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
            index: lab_dir.join("runs/index.jsonl"),
            is_loaded: false,
            listed: None,
            ids: Vec::new(),
            seen: 0,
            known: BTreeMap::new(),
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

    /// The runs that `wanted` accepts as they are now, newest first. For who asks once: ten thousand need not be in
    /// memory a second time.
    pub fn runs(project: &Project, wanted: impl Fn(&Brief) -> bool) -> Vec<RunId> {
        Shelf::new(project).seek(wanted)
    }

    fn seek(mut self, wanted: impl Fn(&Brief) -> bool) -> Vec<RunId> {
        let mut found = BTreeSet::new();
        self.read_anew(|brief| {
            // What the index says of a run may be said anew by its record.
            if wanted(brief) {
                found.insert(brief.id);
            } else {
                found.remove(&brief.id);
            }
            false
        });
        found.into_iter().rev().filter(|id| self.known.contains_key(id)).collect()
    }

    /// Reads what is new or changed since, and forgets what is gone.
    pub fn refresh(&mut self) {
        if self.read_anew(|_| true) >= WORTH_WRITING {
            // Without an index the next opening takes longer, no more.
            let _ = file::store(&self.index, self.seen, &self.known);
        }
    }

    /// Keeps the briefs that are `wanted`; returns how many records were read.
    fn read_anew(&mut self, mut wanted: impl FnMut(&Brief) -> bool) -> usize {
        if !std::mem::replace(&mut self.is_loaded, true)
            && let Some((seen, known)) = file::load(&self.index, &mut wanted)
        {
            self.seen = seen;
            self.known = known;
        }
        let (seen, decided) = deciding::since(&self.lab_dir, self.seen);
        self.seen = seen;
        // Before it is listed: what comes in between is seen the next time.
        let listed = stamp(&self.lab_dir.join("runs"));
        if listed.is_none() || self.listed != listed {
            self.ids = self.records.ids();
            self.listed = listed;
            let here: BTreeSet<RunId> = self.ids.iter().copied().collect();
            self.known.retain(|id, _| here.contains(id));
            self.damaged.retain(|id, _| here.contains(id));
        }
        let as_it_was = |at: usize, id: RunId| {
            let stays =
                |known: &Known| known.has_verdict && decided.as_ref().is_some_and(|ids| !ids.contains(&id));
            let known = self.known.get(&id);
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
            self.known.remove(&id);
            self.damaged.remove(&id);
            match found {
                Found::Brief(shelved) => drop(self.known.insert(id, Known::new(*shelved, &mut wanted))),
                Found::Damaged(stamp, problem) => drop(self.damaged.insert(id, (stamp, problem))),
                Found::Nothing => {}
            }
        }
        anew.len()
    }

    /// Every run that has a record, newest first.
    pub fn newest(&self) -> impl Iterator<Item = &Brief> {
        self.known.values().rev().filter_map(|known| known.brief.as_deref())
    }

    /// The newest run that has ended. A damaged record is of none that goes on.
    pub fn ended(&self) -> Option<RunId> {
        let judged = self.newest().find(|brief| brief.verdict.is_some()).map(|brief| brief.id);
        judged.max(self.damaged.keys().next_back().copied())
    }

    pub fn brief(&self, id: RunId) -> Option<&Brief> {
        self.known.get(&id)?.brief.as_deref()
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
        let read = || serde_json::from_str(&notes.note(commit)?).ok();
        self.noted.briefs.entry(commit.to_owned()).or_insert_with(read).as_ref()
    }
}

/// What the notes say, as long as they are the same ones.
#[derive(Default)]
struct Noted {
    tip: Option<String>,
    briefs: HashMap<String, Option<Brief>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::record;
    use std::fs;

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
        let whole = fs::read_to_string(&shelf.index).expect("an index");
        for broken in ["nonsense", &whole[..whole.len() - 9]] {
            fs::write(&shelf.index, broken).expect("damaged");
            let mut third = Shelf::of(temp.path());
            third.refresh();
            assert_eq!(seen(&third), seen(&shelf));
        }
        let of = |device| Shelf::of(temp.path()).seek(|brief| brief.device.as_deref() == Some(device));
        assert_eq!(of("by hand"), [RunId(NEWEST as u64)]);
        assert_eq!(of("b"), [RunId(2)]);
        let all: Vec<RunId> = shelf.newest().map(|brief| brief.id).collect();
        assert_eq!(Shelf::of(temp.path()).seek(|_| true), all);
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

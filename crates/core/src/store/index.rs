//! A [`RunSummary`] of every run, so that ten thousand runs are known at once, and a copy of them on disk
//! (`.lab/runs/index.jsonl`), which may be deleted.
//!
//! A refresh reads a record again where the record may have changed: while its run is in progress, where a decision
//! wrote the record ([`decision_lock::changed_since`] tells which), and, among the newest runs, where the file's stamp
//! differs. People edit the newest records by hand, and the number of a deleted newest run is used again. An older
//! record with a verdict stays as it was read.

mod file;
mod scan;

use crate::disk::stamp::{Stamp, stamp};
use crate::project::Project;
use crate::repo::Notes;
use crate::run::RunId;
use crate::run::record::{Origin, Record, is_inside};
use crate::store::decision_lock::{self, Position};
use crate::store::run_store::RunStore;
use crate::store::summary::RunSummary;
use file::Entry;
use scan::{Found, read};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// What is kept of a record that was read.
struct Known {
    stamp: Stamp,
    has_verdict: bool,
    /// `None` where the caller did not want the summary.
    summary: Option<Box<RunSummary>>,
}

impl Known {
    fn new(Entry { stamp, mut summary }: Entry, mut wanted: impl FnMut(&RunSummary) -> bool) -> Self {
        // A list keeps room for more items than it has; with ten thousand runs that adds up.
        summary.decision.iter_mut().for_each(|decision| decision.trailers.shrink_to_fit());
        Known {
            stamp,
            has_verdict: summary.verdict.is_some(),
            summary: wanted(&summary).then(|| Box::new(summary)),
        }
    }
}

/// Rewrite the index after this many new records.
const WORTH_WRITING: usize = 64;

/// Each refresh looks at the files of this many newest records.
const NEWEST: usize = 64;

/// Knows a summary of every run; [`RunIndex::refresh`] brings it up to date.
pub struct RunIndex {
    lab_dir: PathBuf,
    store: RunStore,
    index: PathBuf,
    is_loaded: bool,
    /// Stamp of the folder of runs when it was listed, and the runs in it, newest first.
    listed: Option<Stamp>,
    ids: Vec<RunId>,
    /// How much of the decision lock's file was read.
    seen: Position,
    known: BTreeMap<RunId, Known>,
    /// Messages about damaged records, with the stamps of their files.
    damaged: BTreeMap<RunId, (Option<Stamp>, String)>,
    in_notes: InNotes,
}

impl RunIndex {
    /// An index that has read nothing yet.
    pub fn new(project: &Project) -> Self {
        RunIndex::of(&project.lab_dir)
    }

    fn of(lab_dir: &Path) -> Self {
        RunIndex {
            lab_dir: lab_dir.to_owned(),
            store: RunStore::new(lab_dir),
            index: lab_dir.join("runs/index.jsonl"),
            is_loaded: false,
            listed: None,
            ids: Vec::new(),
            seen: 0,
            known: BTreeMap::new(),
            damaged: BTreeMap::new(),
            in_notes: InNotes::default(),
        }
    }

    /// An index that is up to date.
    pub fn open(project: &Project) -> Self {
        let mut index = RunIndex::new(project);
        index.refresh();
        index
    }

    /// The runs that `wanted` accepts, newest first. One-shot variant that does not keep the index in memory.
    pub fn search(project: &Project, wanted: impl Fn(&RunSummary) -> bool) -> Vec<RunId> {
        RunIndex::new(project).seek(wanted)
    }

    fn seek(mut self, wanted: impl Fn(&RunSummary) -> bool) -> Vec<RunId> {
        let mut found = BTreeSet::new();
        self.read_changed(|summary| {
            // A run comes twice where its record changed after the index was written.
            if wanted(summary) {
                found.insert(summary.id);
            } else {
                found.remove(&summary.id);
            }
            false
        });
        found.into_iter().rev().filter(|id| self.known.contains_key(id)).collect()
    }

    /// Reads new and changed records, and forgets the runs that were deleted.
    pub fn refresh(&mut self) {
        if self.read_changed(|_| true) >= WORTH_WRITING {
            // Where the index cannot be written, the next start takes longer and nothing else happens.
            let _ = file::store(self.store.files(), &self.index, self.seen, &self.known);
        }
    }

    /// Keeps the summaries that are `wanted`. Returns how many records were read.
    fn read_changed(&mut self, mut wanted: impl FnMut(&RunSummary) -> bool) -> usize {
        if !std::mem::replace(&mut self.is_loaded, true)
            && let Some((seen, known)) = file::load(self.store.files(), &self.index, &mut wanted)
        {
            self.seen = seen;
            self.known = known;
        }
        let (seen, decided) = decision_lock::changed_since(self.store.files(), &self.lab_dir, self.seen);
        self.seen = seen;
        // Taken before the folder is listed: a run that comes in between is found by the next refresh.
        let files = self.store.files().clone();
        let listed = stamp(&files, self.store.runs());
        if listed.is_none() || self.listed != listed {
            self.ids = self.store.ids();
            self.listed = listed;
            let here: BTreeSet<RunId> = self.ids.iter().copied().collect();
            self.known.retain(|id, _| here.contains(id));
            self.damaged.retain(|id, _| here.contains(id));
        }
        let is_unchanged = |at: usize, id: RunId| {
            let stays =
                |known: &Known| known.has_verdict && decided.as_ref().is_some_and(|ids| !ids.contains(&id));
            let known = self.known.get(&id);
            let stamp = || stamp(&files, &self.store.record(id));
            match (known, self.damaged.get(&id)) {
                (Some(known), _) if at < NEWEST => stays(known) && Some(known.stamp) == stamp(),
                (Some(known), _) => stays(known),
                (None, Some((seen, _))) => seen.is_some() && *seen == stamp(),
                (None, None) => false,
            }
        };
        let ids = self.ids.iter().enumerate();
        let changed: Vec<RunId> =
            ids.filter(|(at, id)| !is_unchanged(*at, **id)).map(|(_, id)| *id).collect();
        for (id, found) in read(&self.store, &changed) {
            self.known.remove(&id);
            self.damaged.remove(&id);
            match found {
                Found::Summary(entry) => drop(self.known.insert(id, Known::new(*entry, &mut wanted))),
                Found::Damaged(stamp, problem) => drop(self.damaged.insert(id, (stamp, problem))),
                Found::Nothing => {}
            }
        }
        changed.len()
    }

    /// Every run that has a record, newest first.
    pub fn newest(&self) -> impl Iterator<Item = &RunSummary> {
        self.known.values().rev().filter_map(|known| known.summary.as_deref())
    }

    /// The newest run that has ended. A run with a damaged record counts as ended.
    pub fn ended(&self) -> Option<RunId> {
        let judged = self.newest().find(|summary| summary.verdict.is_some()).map(|summary| summary.id);
        judged.max(self.damaged.keys().next_back().copied())
    }

    pub fn summary(&self, id: RunId) -> Option<&RunSummary> {
        self.known.get(&id)?.summary.as_deref()
    }

    /// Messages about damaged records, newest first.
    pub fn problems(&self) -> Vec<String> {
        self.damaged.values().rev().map(|(_, problem)| problem.clone()).collect()
    }

    /// The runs with damaged records, newest first.
    pub fn damaged(&self) -> impl Iterator<Item = RunId> {
        self.damaged.keys().rev().copied()
    }

    /// The newest run that `wanted` accepts, with its whole record.
    pub fn find(&self, wanted: impl Fn(&RunSummary) -> bool) -> Option<Record> {
        self.newest().filter(|b| wanted(b)).find_map(|b| self.store.read(b.id).ok())
    }

    pub fn store(&self) -> &RunStore {
        &self.store
    }

    /// The summary of the record in the commit's note, where notes were fetched. Another clone's runs are known only
    /// from notes.
    pub fn summary_in_note(&mut self, notes: &Notes, commit: &str) -> Option<&RunSummary> {
        if self.in_notes.tip != notes.tip() {
            self.in_notes = InNotes { tip: notes.tip(), summaries: HashMap::new() };
        }
        // A note is another clone's, whatever it says of itself.
        let read = || {
            let summary: RunSummary = serde_json::from_str(&notes.note(commit)?).ok()?;
            is_inside(&summary.kernel).then_some(RunSummary { origin: Origin::Unsigned, ..summary })
        };
        self.in_notes.summaries.entry(commit.to_owned()).or_insert_with(read).as_ref()
    }
}

/// Summaries read from notes, valid while the notes' ref is at `tip`.
#[derive(Default)]
struct InNotes {
    tip: Option<String>,
    summaries: HashMap<String, Option<RunSummary>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::verdict::{Outcome, Verdict};
    use crate::store::run_store::tests::record;
    use std::fs;

    fn ended(store: &RunStore, id: RunId, device: &str) {
        let verdict = Verdict::bare(Outcome::Pass, "");
        let of = Record { verdict: Some(verdict), device: Some(device.into()), ..record(id) };
        store.write(&of).expect("written");
    }

    fn seen(index: &RunIndex) -> Vec<(u64, &str)> {
        index.newest().map(|b| (b.id.0, b.device.as_deref().unwrap_or("-"))).collect()
    }

    #[test]
    fn a_record_that_changes_is_read_again_and_one_that_is_gone_is_forgotten() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let mut index = RunIndex::of(temp.path());
        let store = index.store.clone();
        for _ in 0..NEWEST + 4 {
            let id = store.create().expect("a folder");
            ended(&store, id, "a");
        }
        index.refresh();
        assert_eq!(index.newest().count(), NEWEST + 4);
        assert_eq!(index.newest().next().map(|b| b.id.0), Some(NEWEST as u64 + 4));

        // A new object starts from the index on disk, and finds what changed since.
        ended(&store, RunId(2), "b");
        fs::write(temp.path().join("decide.lock"), "2\n").expect("what a decision says of it");
        fs::remove_dir_all(store.folder(RunId(1))).expect("removed");
        ended(&store, RunId(NEWEST as u64), "by hand");
        fs::write(store.record(RunId(NEWEST as u64 + 1)), "{ half").expect("damaged");
        let mut again = RunIndex::of(temp.path());
        assert!(again.index.exists());
        for index in [&mut index, &mut again] {
            index.refresh();
            assert!(seen(index).ends_with(&[(3, "a"), (2, "b")]), "{:?}", seen(index));
            assert_eq!(seen(index)[3], (NEWEST as u64, "by hand"));
            assert_eq!(index.problems().len(), 1, "{:?}", index.problems());
            index.refresh();
            assert_eq!(index.problems().len(), 1, "it stays one");
            assert_eq!(index.ended(), Some(RunId(NEWEST as u64 + 4)));
        }
        let whole = fs::read_to_string(&index.index).expect("an index");
        for broken in ["nonsense", &whole[..whole.len() - 9]] {
            fs::write(&index.index, broken).expect("damaged");
            let mut third = RunIndex::of(temp.path());
            third.refresh();
            assert_eq!(seen(&third), seen(&index));
        }
        let of = |device| RunIndex::of(temp.path()).seek(|summary| summary.device.as_deref() == Some(device));
        assert_eq!(of("by hand"), [RunId(NEWEST as u64)]);
        assert_eq!(of("b"), [RunId(2)]);
        let all: Vec<RunId> = index.newest().map(|summary| summary.id).collect();
        assert_eq!(RunIndex::of(temp.path()).seek(|_| true), all);
    }

    #[test]
    fn a_run_in_progress_is_read_again() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let mut index = RunIndex::of(temp.path());
        let store = index.store.clone();
        let id = store.create().expect("a folder");
        store.write(&record(id)).expect("written");
        let log = fs::File::create(store.log(id)).expect("a log");
        log.lock().expect("locked");
        index.refresh();
        assert_eq!(index.newest().next().and_then(RunSummary::outcome), None);
        assert_eq!(index.ended(), None);
        drop(log);
        index.refresh();
        assert_eq!(index.ended(), Some(id));
        assert_eq!(index.newest().next().and_then(RunSummary::outcome), Some(Outcome::NotJudged));
        assert!(index.find(|b| b.outcome() == Some(Outcome::NotJudged)).is_some());
    }
}

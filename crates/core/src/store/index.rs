//! A [`RunSummary`] of every run, so that ten thousand runs are known at once, and a copy of them on disk (module
//! `file`), which may be deleted.
//!
//! A refresh reads a record again where the record may have changed: while its run is in progress, where a decision
//! wrote the record ([`decision_lock::changed_since`] tells which), and, among the newest runs, where the file's stamp
//! differs. People edit the newest records by hand, and the number of a deleted newest run is used again. An older
//! record with a verdict stays as it was read.
//!
//! A summary from the copy on disk is parsed when somebody asks for it. Searches look at its [`Keys`] first.

mod file;
mod keys;
mod listing;
mod scan;

use crate::disk::stamp::{Stamp, stamp};
use crate::project::Project;
use crate::repo::Notes;
use crate::run::experiment::Row;
use crate::run::record::{Origin, Record, is_inside};
use crate::run::{Fingerprint, RunId};
use crate::store::decision_lock::{self, Position};
use crate::store::kernel_names::KernelNames;
use crate::store::run_store::RunStore;
use crate::store::summary::RunSummary;
use file::{Entry, Paths, Place};
pub use keys::{Fact, Keys};
use scan::{Found, read};
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// What is kept of a record that was read.
struct Known {
    stamp: Stamp,
    keys: Keys,
    /// `None` if the record was read since the copy on disk was written.
    place: Option<Place>,
    /// Filled when somebody asks; holds `None` if the summary cannot be read.
    summary: OnceCell<Option<Box<RunSummary>>>,
}

impl Known {
    /// A summary on disk, which is not read yet.
    fn at(stamp: Stamp, keys: Keys, place: Place) -> Self {
        Known { stamp, keys, place: Some(place), summary: OnceCell::new() }
    }

    /// A summary that was read from its record.
    fn read(Entry { stamp, mut summary }: Entry) -> Self {
        // A list keeps room for more items than it has; with ten thousand runs that adds up.
        summary.decision.iter_mut().for_each(|decision| decision.trailers.shrink_to_fit());
        summary.peers.shrink_to_fit();
        let keys = Keys::of(&summary);
        Known { stamp, keys, place: None, summary: OnceCell::from(Some(Box::new(summary))) }
    }

    fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    fn in_memory(&self) -> Option<&RunSummary> {
        self.summary.get()?.as_deref()
    }

    fn has_verdict(&self) -> bool {
        self.keys.is(Fact::HasVerdict)
    }
}

/// Forgets the runs that are not among `ids`, which are sorted, newest first. Both are walked once, because each command does
/// this with 10,000 runs.
fn retain<V>(known: &mut BTreeMap<RunId, V>, ids: &[RunId]) {
    let mut here = ids.iter().rev().peekable();
    known.retain(|id, _| {
        while here.next_if(|here| *here < id).is_some() {}
        here.next_if(|here| *here == id).is_some()
    });
}

/// Write the new summaries down after this many new records.
const WORTH_WRITING: usize = 8;

/// Write all summaries anew when this many are not in the file of all.
const WORTH_MERGING: usize = 512;

/// Each refresh looks at the files of this many newest records.
const NEWEST: usize = 64;

/// Knows a summary of every run; [`RunIndex::refresh`] brings it up to date.
pub struct RunIndex {
    lab_dir: PathBuf,
    store: RunStore,
    paths: Paths,
    is_loaded: bool,
    /// The stamp of the file with all summaries that `known` was loaded from.
    base: Option<Stamp>,
    /// The runs that are not in that file as they are known.
    unmerged: BTreeSet<RunId>,
    /// Records that were read since something was written.
    unwritten: usize,
    /// Stamp of the folder of runs when it was listed, and the runs in it, newest first.
    listed: Option<Stamp>,
    ids: Vec<RunId>,
    /// How much of the decision lock's file was read.
    seen: Position,
    known: BTreeMap<RunId, Known>,
    /// Messages about damaged records, with the stamps of their files.
    damaged: BTreeMap<RunId, (Option<Stamp>, String)>,
    in_notes: InNotes,
    kernel_names: KernelNames,
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
            paths: Paths::new(lab_dir),
            is_loaded: false,
            base: None,
            unmerged: BTreeSet::new(),
            unwritten: 0,
            listed: None,
            ids: Vec::new(),
            seen: 0,
            known: BTreeMap::new(),
            damaged: BTreeMap::new(),
            in_notes: InNotes::default(),
            kernel_names: KernelNames::default(),
        }
    }

    /// An index that is up to date.
    pub fn open(project: &Project) -> Self {
        let mut index = RunIndex::new(project);
        index.refresh();
        index
    }

    /// The newest run of all, read from the copy on disk and the number of folders; `None` where these do not tell.
    pub fn newest_run(project: &Project) -> Option<RunId> {
        let paths = Paths::new(&project.lab_dir);
        let store = RunStore::new(&project.lab_dir);
        let base = file::base(store.files(), &paths)?;
        let (mut count, mut newest) = file::extent(store.files(), &paths.whole)?;
        if let Some(newer) = file::load(store.files(), &paths.newer, Some(base)) {
            count += newer.known.range(RunId(newest.0.saturating_add(1))..).count() as u64;
            newest = newest.max(newer.known.keys().next_back().copied().unwrap_or(newest));
        }
        listing::newest(&store, newest, count)
    }

    /// Reads new and changed records, and forgets the runs that were deleted.
    pub fn refresh(&mut self) {
        if !std::mem::replace(&mut self.is_loaded, true) {
            self.load();
        }
        self.read_changed();
        if self.unwritten >= WORTH_WRITING {
            // Where the index cannot be written, the next start takes longer and nothing else happens.
            let _ = self.write();
        }
    }

    fn load(&mut self) {
        let files = self.store.files();
        let base = file::base(files, &self.paths);
        if let Some(whole) = file::load(files, &self.paths.whole, None) {
            (self.seen, self.known, self.base) = (whole.seen, whole.known, base);
            if let Some(newer) = file::load(files, &self.paths.newer, base) {
                self.seen = newer.seen;
                self.unmerged.extend(newer.known.keys());
                self.known.extend(newer.known);
            }
        } else if let Some(lines) = file::load_lines(files, &self.paths.lines) {
            (self.seen, self.known) = (lines.seen, lines.known);
            self.unmerged.extend(self.known.keys());
        }
    }

    fn write(&mut self) -> std::io::Result<()> {
        self.unwritten = 0;
        let files = self.store.files();
        if self.base.is_some() && self.unmerged.len() < WORTH_MERGING {
            let newer = self.unmerged.iter().filter_map(|id| Some((id, self.known.get(id)?)));
            return file::store(files, &self.paths.newer, self.base, self.seen, newer);
        }
        file::store(files, &self.paths.whole, None, self.seen, self.known.iter())?;
        file::remove(files, &self.paths.newer);
        file::remove(files, &self.paths.lines);
        self.base = file::base(files, &self.paths);
        self.unmerged.clear();
        Ok(())
    }

    fn read_changed(&mut self) {
        let (seen, decided) = decision_lock::changed_since(self.store.files(), &self.lab_dir, self.seen);
        self.seen = seen;
        // Taken before the folder is listed: a run that comes in between is found by the next refresh.
        let listed = stamp(self.store.files(), self.store.runs());
        if listed.is_none() || self.listed != listed {
            self.ids = listing::runs(&self.store, self.known.keys().copied());
            self.listed = listed;
            if self.ids.len() != self.known.len() || !self.damaged.is_empty() {
                retain(&mut self.known, &self.ids);
                retain(&mut self.damaged, &self.ids);
            }
        }
        let runs = self.store.open_to_look();
        let mut known = self.known.iter().rev().peekable();
        let mut changed = Vec::new();
        for (at, &id) in self.ids.iter().enumerate() {
            while known.next_if(|(other, _)| **other > id).is_some() {}
            let known = known.next_if(|(other, _)| **other == id).map(|(_, known)| known);
            let stays =
                |known: &Known| known.has_verdict() && decided.as_ref().is_some_and(|ids| !ids.contains(&id));
            let stamp = || RunStore::stamp(runs.as_ref()?, id);
            let is_unchanged = match (known, self.damaged.get(&id)) {
                (Some(known), _) if at < NEWEST => stays(known) && Some(known.stamp) == stamp(),
                (Some(known), _) => stays(known),
                (None, Some((seen, _))) => seen.is_some() && *seen == stamp(),
                (None, None) => false,
            };
            if !is_unchanged {
                changed.push(id);
            }
        }
        for (id, found) in read(&self.store, &changed) {
            self.known.remove(&id);
            self.damaged.remove(&id);
            match found {
                Found::Summary(entry) => {
                    self.known.insert(id, Known::read(*entry));
                    self.unmerged.insert(id);
                    self.unwritten += 1;
                }
                Found::Damaged(stamp, problem) => drop(self.damaged.insert(id, (stamp, problem))),
                Found::Nothing => {}
            }
        }
    }

    /// The summary of a run, read from the copy on disk if it was not before.
    fn get<'k>(&'k self, id: RunId, known: &'k Known) -> Option<&'k RunSummary> {
        let read = || {
            let summary = known.place().and_then(Place::read);
            // The copy is damaged there: the record itself tells.
            summary.or_else(|| self.store.read_summary(id).ok()).map(Box::new)
        };
        known.summary.get_or_init(read).as_deref()
    }

    /// Every run that has a record, newest first.
    pub fn newest(&self) -> impl Iterator<Item = &RunSummary> {
        self.newest_with(|_| true)
    }

    /// The runs whose keys `may` be wanted, newest first. Only these are parsed.
    pub fn newest_with(&self, may: impl Fn(&Keys) -> bool) -> impl Iterator<Item = &RunSummary> {
        let known = self.known.iter().rev().filter(move |(_, known)| may(&known.keys));
        known.filter_map(|(id, known)| self.get(*id, known))
    }

    /// The runs that judged these inputs, newest first.
    pub fn newest_of(&self, fingerprint: &Fingerprint) -> impl Iterator<Item = &RunSummary> {
        let hash = keys::hash(&[&fingerprint.0]);
        self.newest_with(move |keys| keys.fingerprint == hash)
    }

    /// The runs that judged this blob of any kernel, newest first.
    pub fn newest_of_blob(&self, blob: &str) -> impl Iterator<Item = &RunSummary> {
        let hash = keys::hash(&[blob]);
        self.newest_with(move |keys| keys.blob == hash)
    }

    /// The runs of a kernel whose keys `may` be wanted, newest first.
    pub fn newest_of_kernel(
        &self,
        kernel: &str,
        may: impl Fn(&Keys) -> bool,
    ) -> impl Iterator<Item = &RunSummary> {
        let hash = keys::hash(&[kernel]);
        self.newest_with(move |keys| keys.kernel == hash && may(keys))
    }

    /// The decided runs with a row, newest first: their ids and the hashes of their rows.
    pub fn rows(&self, emulated: bool) -> impl Iterator<Item = (RunId, u64)> {
        let known = self.known.iter().rev();
        let has_row = move |keys: &Keys| keys.row != 0 && keys.is(Fact::IsEmulated) == emulated;
        known.filter(move |(_, known)| has_row(&known.keys)).map(|(id, known)| (*id, known.keys.row))
    }

    /// The last decision about a kernel that a commit holds. A foreign one is the last only if there is none of this user's:
    /// a folder could bring decisions of any date.
    pub fn last_decided(&self, kernel: &str) -> Option<&RunSummary> {
        let hash = keys::hash(&[kernel]);
        let ours = |keys: &Keys| keys.kernel == hash && keys.is(Fact::IsDecided) && !keys.is(Fact::IsCheck);
        let decided = self.known.iter().filter(|(_, known)| ours(&known.keys));
        let is_own = |known: &Known| known.keys.is(Fact::IsOwn);
        let (id, known) = decided.max_by_key(|(id, known)| (is_own(known), known.keys.position(), **id))?;
        self.get(*id, known)
    }

    /// What [`RunIndex::rows`] says of a row.
    pub fn hash_of(row: &Row) -> u64 {
        keys::of_row(row)
    }

    /// The newest run that has ended. A run with a damaged record counts as ended.
    pub fn ended(&self) -> Option<RunId> {
        let judged = self.known.iter().rev().find(|(_, known)| known.has_verdict()).map(|(id, _)| *id);
        judged.max(self.damaged.keys().next_back().copied())
    }

    pub fn summary(&self, id: RunId) -> Option<&RunSummary> {
        self.get(id, self.known.get(&id)?)
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

    /// The newest run that judged these inputs and that `wanted` accepts, with its whole record.
    pub fn find_of(&self, fingerprint: &Fingerprint, wanted: impl Fn(&RunSummary) -> bool) -> Option<Record> {
        self.newest_of(fingerprint).filter(|b| wanted(b)).find_map(|b| self.store.read(b.id).ok())
    }

    pub fn store(&self) -> &RunStore {
        &self.store
    }

    /// The summary of the record in the commit's note, where notes were fetched. Another clone's runs are known only
    /// from notes.
    pub fn summary_in_note(&self, commit: &str) -> Option<&RunSummary> {
        self.in_notes.summaries.get(commit)?.as_ref()
    }

    /// Reads the notes of these rows' commits, for [`RunIndex::summary_in_note`].
    pub fn read_notes<'c>(&mut self, notes: &Notes, commits: impl Iterator<Item = &'c str>) {
        let tip = notes.tip();
        if self.in_notes.tip != tip {
            self.in_notes = InNotes { tip, summaries: HashMap::new() };
        }
        if self.in_notes.tip.is_none() {
            return;
        }
        // A note is another clone's, whatever it says of itself.
        let read = |note: String| {
            let summary: RunSummary = serde_json::from_str(&note).ok()?;
            is_inside(&summary.kernel).then_some(RunSummary { origin: Origin::Unsigned, ..summary })
        };
        for commit in commits {
            if !self.in_notes.summaries.contains_key(commit)
                && let Some(note) = notes.note_of_row(commit)
            {
                self.in_notes.summaries.insert(commit.to_owned(), read(note));
            }
        }
    }

    /// The kernels that decided runs and notes name, relative to the work tree.
    pub fn kernels(&self) -> BTreeSet<String> {
        let decided = self.known.iter().filter(|(_, known)| known.keys.is(Fact::IsDecided));
        // Of the runs of one kernel only one is parsed.
        let one_of_each: HashMap<u64, RunId> = decided.map(|(id, known)| (known.keys.kernel, *id)).collect();
        let here = one_of_each.values().filter_map(|id| self.summary(*id));
        let in_notes = self.in_notes.summaries.values().flatten();
        let kernels = here.chain(in_notes).map(|summary| summary.kernel.clone());
        kernels.filter(|kernel| is_inside(kernel)).collect()
    }

    /// What the kernels are called today, as far as it was looked up.
    pub fn kernel_names(&self) -> &KernelNames {
        &self.kernel_names
    }

    pub fn kernel_names_mut(&mut self) -> &mut KernelNames {
        &mut self.kernel_names
    }

    /// The greatest order of all decisions; 0 if there is none.
    pub fn greatest_order(&self) -> u64 {
        self.known.values().map(|known| known.keys.order).max().unwrap_or(0)
    }

    /// Where each decision of this clone stands among all: at its time in microseconds since 1970, but never before the
    /// decision that was made before it. The clock may have been set back in between. The second number orders decisions of
    /// the same time.
    pub fn positions(&self) -> HashMap<RunId, (i64, u64)> {
        let decided = self.known.iter().filter(|(_, known)| known.keys.decided != 0);
        let mut decided: Vec<_> = decided.map(|(id, known)| (known.keys.position(), *id)).collect();
        decided.sort_unstable();
        let mut latest = i64::MIN;
        let position = |((order, at), run): ((u64, i64), RunId)| {
            latest = latest.max(at);
            (run, (latest, order))
        };
        decided.into_iter().map(position).collect()
    }
}

/// Summaries read from notes, valid while the notes' ref is at `tip`.
#[derive(Default)]
struct InNotes {
    tip: Option<String>,
    summaries: HashMap<String, Option<RunSummary>>,
}

#[cfg(test)]
mod tests;

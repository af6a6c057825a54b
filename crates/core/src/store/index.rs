//! A [`RunSummary`] of every run, so that ten thousand runs are known at once, and a copy of them
//! on disk (module `file`), which may be deleted.
//!
//! A refresh reads a record again where the record may have changed: while its run is in progress,
//! where a decision wrote the record ([`decision_lock::changed_since`] tells which), and, among the
//! newest runs, where the file's stamp differs. People edit the newest records by hand, and the
//! number of a deleted newest run is used again. An older record with a verdict stays as it was
//! read.
//!
//! A summary from the copy on disk is parsed when somebody asks for it. Searches look at its
//! [`Keys`] first.

mod file;
mod forget;
mod in_notes;
mod keys;
mod known;
mod listing;
mod scan;

use crate::disk::stamp::{Stamp, stamp};
use crate::project::Project;
use crate::run::experiment::Row;
use crate::run::record::{Record, is_inside};
use crate::run::{Fingerprint, RunId};
use crate::store::decision_lock::{self, Position};
use crate::store::kernel_names::KernelNames;
use crate::store::run_store::RunStore;
use crate::store::summary::RunSummary;
use file::{OpenFiles, Paths};
use in_notes::InNotes;
pub use keys::{Fact, Keys};
use known::{Known, Part, Runs};
use scan::{Found, read};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// Write the new summaries down after this many new records.
const WORTH_WRITING: usize = 8;
/// Write all summaries anew when this many are not in the file of all.
const WORTH_MERGING: usize = 512;

/// Each refresh looks at the files of this many newest records. A look takes three system calls.
const NEWEST: usize = 16;

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
    /// Stamp of the folder of runs when it was listed.
    listed: Option<Stamp>,
    /// The runs in that folder that had no record yet.
    without_record: BTreeSet<RunId>,
    /// How much of the decision lock's file was read.
    seen: Position,
    known: Runs,
    /// What the summaries of `known` are read from.
    open: OpenFiles,
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
            without_record: BTreeSet::new(),
            seen: 0,
            known: Runs::default(),
            open: OpenFiles::default(),
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

    /// The newest run of all, read from the copy on disk and the number of folders; `None` where
    /// these do not tell.
    pub fn newest_run(project: &Project) -> Option<RunId> {
        let paths = Paths::new(&project.lab_dir);
        let store = RunStore::new(&project.lab_dir);
        let base = file::base(store.files(), &paths)?;
        let (mut count, mut newest) = file::extent(store.files(), &paths.whole)?;
        if let Some(newer) = file::load(store.files(), &paths.newer, Part::Newer, Some(base)) {
            count += newer
                .known
                .iter()
                .rev()
                .take_while(|known| known.id > newest)
                .count() as u64;
            newest = newest.max(
                newer
                    .known
                    .iter()
                    .next_back()
                    .map_or(newest, |known| known.id),
            );
        }
        listing::newest(&store, newest, count)
    }

    /// Reads new and changed records, and forgets the runs that were deleted.
    pub fn refresh(&mut self) {
        self.refresh_newest(NEWEST);
    }

    /// [`RunIndex::refresh`] for a caller that holds the decision lock and has refreshed the index
    /// under it: reads what was decided since, and new runs.
    pub fn catch_up(&mut self) {
        self.refresh_newest(0);
    }

    /// Looks at the files of this many newest records.
    fn refresh_newest(&mut self, newest: usize) {
        if !std::mem::replace(&mut self.is_loaded, true) {
            self.load();
        }
        self.read_changed(newest);
        if self.unwritten >= WORTH_WRITING {
            // Where the index cannot be written, the next start takes longer and nothing else
            // happens.
            let _ = self.write();
        }
    }

    fn load(&mut self) {
        let files = self.store.files();
        let base = file::base(files, &self.paths);
        if let Some(whole) = file::load(files, &self.paths.whole, Part::Whole, None) {
            (self.seen, self.known, self.base) = (whole.seen, whole.known, base);
            self.open.whole = Some(whole.file);
            if let Some(newer) = file::load(files, &self.paths.newer, Part::Newer, base) {
                self.seen = newer.seen;
                self.unmerged
                    .extend(newer.known.iter().map(|known| known.id));
                newer
                    .known
                    .into_iter()
                    .for_each(|known| self.known.insert(known));
                self.open.newer = Some(newer.file);
            }
        } else if let Some((seen, known)) = file::load_lines(files, &self.paths.lines) {
            self.unmerged.extend(known.iter().map(|known| known.id));
            (self.seen, self.known) = (seen, known);
        }
    }

    fn write(&mut self) -> std::io::Result<()> {
        self.unwritten = 0;
        let files = self.store.files();
        if self.base.is_some() && self.unmerged.len() < WORTH_MERGING {
            let newer = self.unmerged.iter().filter_map(|id| self.known.get(*id));
            return file::store(
                files,
                &self.paths.newer,
                self.base,
                self.seen,
                &self.open,
                newer,
            );
        }
        file::store(
            files,
            &self.paths.whole,
            None,
            self.seen,
            &self.open,
            self.known.iter(),
        )?;
        file::remove(files, &self.paths.newer);
        file::remove(files, &self.paths.lines);
        self.base = file::base(files, &self.paths);
        self.unmerged.clear();
        Ok(())
    }

    fn read_changed(&mut self, newest: usize) {
        let (seen, decided) =
            decision_lock::changed_since(self.store.files(), &self.lab_dir, self.seen);
        self.seen = seen;
        // Taken before the folder is listed: the next refresh finds a run that comes in between.
        let listed = stamp(self.store.files(), self.store.runs());
        if listed.is_none() || self.listed != listed {
            self.list();
            self.listed = listed;
        }
        let runs = self.store.open_to_look();
        let stamp = |id| RunStore::stamp(runs.as_ref()?, id);
        let may_stay = |known: &Known| {
            known.has_verdict()
                && decided
                    .as_ref()
                    .is_some_and(|decided| !decided.contains(&known.id))
        };
        let others =
            |id| self.without_record.range(id..).count() + self.damaged.range(id..).count();
        let is_newest = |at, id| at < newest && at + others(id) < newest;
        let is_changed = |(at, known): &(usize, &Known)| {
            !may_stay(known) || (is_newest(*at, known.id) && Some(known.stamp) != stamp(known.id))
        };
        let known = self.known.iter().rev().enumerate().filter(is_changed);
        let mut changed: BTreeSet<RunId> = known.map(|(_, known)| known.id).collect();
        let is_mended = |(id, (seen, _)): &(&RunId, &(Option<Stamp>, String))| {
            seen.is_none() || *seen != stamp(**id)
        };
        changed.extend(self.damaged.iter().filter(is_mended).map(|(id, _)| *id));
        changed.append(&mut self.without_record);
        let changed: Vec<RunId> = changed.into_iter().rev().collect();
        for (id, found) in read(&self.store, &changed) {
            self.damaged.remove(&id);
            match found {
                Found::Summary(entry) => {
                    self.known.insert(Known::read(*entry));
                    self.unmerged.insert(id);
                    self.unwritten += 1;
                }
                Found::Damaged(stamp, problem) => {
                    self.known.remove(id);
                    self.damaged.insert(id, (stamp, problem));
                }
                Found::Nothing => {
                    self.known.remove(id);
                    self.without_record.insert(id);
                }
            }
        }
    }

    /// Finds the runs in the folder that are not known, and forgets those that are gone.
    fn list(&mut self) {
        let newest = self.known.iter().next_back().map(|known| known.id);
        let newer =
            newest.and_then(|last| listing::newest(&self.store, last, self.known.len() as u64));
        if let (Some(last), Some(newest)) = (newest, newer) {
            self.damaged.clear();
            self.without_record = (last.0 + 1..=newest.0).map(RunId).collect();
            return;
        }
        let ids = self.store.ids();
        self.known.retain(&ids);
        let here: BTreeSet<RunId> = ids.into_iter().collect();
        self.damaged.retain(|id, _| here.contains(id));
        let is_new = |id: &RunId| self.known.get(*id).is_none() && !self.damaged.contains_key(id);
        self.without_record = here.into_iter().filter(is_new).collect();
    }

    /// The summary of a run, read from the copy on disk if it was not before.
    fn get<'k>(&'k self, known: &'k Known) -> Option<&'k RunSummary> {
        let read = || {
            let summary = known.place.and_then(|place| self.open.summary(place));
            // The copy is damaged there: the record itself tells.
            summary
                .or_else(|| self.store.read_summary(known.id).ok())
                .map(Box::new)
        };
        known.summary.get_or_init(read).as_deref()
    }

    /// Every run that has a record, newest first.
    pub fn newest(&self) -> impl Iterator<Item = &RunSummary> {
        self.newest_with(|_| true)
    }

    /// The runs whose keys `may` be wanted, newest first. Only these are parsed.
    pub fn newest_with(&self, may: impl Fn(&Keys) -> bool) -> impl Iterator<Item = &RunSummary> {
        let known = self
            .known
            .iter()
            .rev()
            .filter(move |known| may(&known.keys));
        known.filter_map(|known| self.get(known))
    }

    /// The runs that judged these inputs, newest first.
    pub fn newest_of(&self, fingerprint: &Fingerprint) -> impl Iterator<Item = &RunSummary> {
        let hash = keys::hash(&[&fingerprint.0]);
        self.newest_with(move |keys| keys.fingerprint == hash)
    }

    /// The runs that judged inputs with this fingerprint by tokens, newest first.
    pub fn newest_of_tokens(&self, tokens: &Fingerprint) -> impl Iterator<Item = &RunSummary> {
        let hash = keys::hash(&[&tokens.0]);
        self.newest_with(move |keys| keys.tokens == hash)
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
        known
            .filter(move |known| has_row(&known.keys))
            .map(|known| (known.id, known.keys.row))
    }

    /// The last decision about a kernel that a commit holds. A foreign one is the last only if
    /// there is none of this user's: a folder could bring decisions of any date.
    pub fn last_decided(&self, kernel: &str) -> Option<&RunSummary> {
        let hash = keys::hash(&[kernel]);
        let ours = |keys: &Keys| {
            keys.kernel == hash && keys.is(Fact::IsDecided) && !keys.is(Fact::IsCheck)
        };
        let decided = self.known.iter().filter(|known| ours(&known.keys));
        let is_own = |known: &Known| known.keys.is(Fact::IsOwn);
        self.get(decided.max_by_key(|known| (is_own(known), known.keys.position(), known.id))?)
    }

    /// What [`RunIndex::rows`] says of a row.
    pub fn hash_of(row: &Row) -> u64 {
        keys::of_row(row)
    }

    /// The newest run that has ended. A run with a damaged record counts as ended.
    pub fn ended(&self) -> Option<RunId> {
        let judged = self
            .known
            .iter()
            .rev()
            .find(|known| known.has_verdict())
            .map(|known| known.id);
        judged.max(self.damaged.keys().next_back().copied())
    }

    pub fn summary(&self, id: RunId) -> Option<&RunSummary> {
        self.get(self.known.get(id)?)
    }

    /// Messages about damaged records, newest first.
    pub fn problems(&self) -> Vec<String> {
        self.damaged
            .values()
            .rev()
            .map(|(_, problem)| problem.clone())
            .collect()
    }

    /// The runs with damaged records, newest first.
    pub fn damaged(&self) -> impl Iterator<Item = RunId> {
        self.damaged.keys().rev().copied()
    }

    /// The newest run that `wanted` accepts, with its whole record.
    pub fn find(&self, wanted: impl Fn(&RunSummary) -> bool) -> Option<Record> {
        self.newest()
            .filter(|b| wanted(b))
            .find_map(|b| self.store.read(b.id).ok())
    }

    /// The newest run that judged these inputs and that `wanted` accepts, with its whole record.
    pub fn find_of(
        &self,
        fingerprint: &Fingerprint,
        wanted: impl Fn(&RunSummary) -> bool,
    ) -> Option<Record> {
        self.newest_of(fingerprint)
            .filter(|b| wanted(b))
            .find_map(|b| self.store.read(b.id).ok())
    }

    pub fn store(&self) -> &RunStore {
        &self.store
    }

    /// The kernels that decided runs and notes name, relative to the work tree.
    pub fn kernels(&self) -> BTreeSet<String> {
        let decided = self
            .known
            .iter()
            .filter(|known| known.keys.is(Fact::IsDecided));
        // Of the runs of one kernel only one is parsed.
        let one_of_each: HashMap<u64, RunId> =
            decided.map(|known| (known.keys.kernel, known.id)).collect();
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
        self.known
            .iter()
            .map(|known| known.keys.order)
            .max()
            .unwrap_or(0)
    }

    /// Where each decision of this clone stands among all: at its time in microseconds since 1970,
    /// but never before the decision that was made before it. The clock may have been set back in
    /// between. The second number orders decisions of the same time.
    pub fn positions(&self) -> HashMap<RunId, (i64, u64)> {
        let decided = self.known.iter().filter(|known| known.keys.decided != 0);
        let mut decided: Vec<_> = decided
            .map(|known| (known.keys.position(), known.id))
            .collect();
        decided.sort_unstable();
        let mut latest = i64::MIN;
        let position = |((order, at), run): ((u64, i64), RunId)| {
            latest = latest.max(at);
            (run, (latest, order))
        };
        decided.into_iter().map(position).collect()
    }
}

#[cfg(test)]
mod tests;

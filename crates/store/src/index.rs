//! A [`RunSummary`](super::RunSummary) of every run, so that ten thousand runs are known at once, and a copy of them
//! on disk (module `file`), which may be deleted.
//!
//! A refresh reads a record again where the record may have changed: while its run is in progress,
//! where a decision wrote the record ([`decision_lock::changed_since`] lists these runs), and, among
//! the newest runs, where the file's stamp differs. People edit the newest records by hand, and the
//! number of a deleted newest run is used again. An older record with a verdict stays as it was
//! read.
//!
//! A summary from the copy on disk is parsed when somebody asks for it. Searches look at its
//! [`Keys`] first.

mod file;
mod in_notes;
mod keys;
mod queries;
mod scan;

use crate::decision_lock::{self, Journal, Position};
use crate::row_kernels::KernelNames;
use crate::run_store::RunStore;
use anyhow::{Result, bail};
use file::Known;
use in_notes::InNotes;
pub use keys::{Fact, Keys};
use lab_project::Project;
use lab_run::RunId;
use lab_system::stamp::{Stamp, stamp};
use scan::{Found, read};
use std::cell::{Ref, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Write the file anew after this many new summaries: with 10,000 runs, writing the file takes as
/// long as reading this many records.
const WORTH_WRITING: usize = 16;

/// Each refresh looks at the files of the records with this many newest numbers. A look takes three
/// system calls.
const NEWEST: u64 = 16;

/// Knows a summary of every run; [`RunIndex::refresh`] brings it up to date.
pub struct RunIndex {
    lab_dir: PathBuf,
    store: RunStore,
    is_loaded: bool,
    /// The file that summaries of `known` are read from, as it was when it was loaded.
    file: Option<File>,
    /// Records that were read since the file was loaded or written.
    unwritten: usize,
    /// Stamp of the folder of runs when it was listed.
    listed: Option<Stamp>,
    /// The runs in that folder that had no record yet.
    without_record: BTreeSet<RunId>,
    /// How much of the decision lock's file was read.
    seen: Position,
    known: BTreeMap<RunId, Known>,
    /// Why the folder of runs could not be listed.
    unlisted: Option<String>,
    /// Messages about damaged records, with the stamps of their files.
    damaged: BTreeMap<RunId, (Option<Stamp>, String)>,
    in_notes: InNotes,
    journal: RefCell<Journal>,
    /// What the kernels are called today, as far as it was looked up.
    pub kernel_names: KernelNames,
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
            is_loaded: false,
            file: None,
            unwritten: 0,
            listed: None,
            without_record: BTreeSet::new(),
            seen: 0,
            known: BTreeMap::new(),
            unlisted: None,
            damaged: BTreeMap::new(),
            in_notes: InNotes::default(),
            journal: RefCell::default(),
            kernel_names: KernelNames::default(),
        }
    }

    /// An index that is up to date.
    pub fn open(project: &Project) -> Self {
        let mut index = RunIndex::new(project);
        index.refresh();
        index
    }

    fn path(&self) -> PathBuf {
        self.store.runs().join("index.bin")
    }

    /// The newest run of all, by the copy on disk and the number of folders; `None` where these do
    /// not tell.
    pub fn newest_run(project: &Project) -> Option<RunId> {
        let index = RunIndex::new(project);
        let (count, newest) = file::extent(index.store.files(), &index.path())?;
        index.store.newest_after(newest, count)
    }

    /// An error if the folder of runs could not be listed, for who decides: runs may be missing.
    pub fn require_listed(&self) -> Result<()> {
        match &self.unlisted {
            Some(why) => bail!("{why}"),
            None => Ok(()),
        }
    }

    /// The journal of decisions, up to date. It is read when somebody asks for it.
    pub fn journal(&self) -> Ref<'_, Journal> {
        let mut journal = self.journal.borrow_mut();
        journal.refresh(self.store.files(), &self.lab_dir);
        drop(journal);
        self.journal.borrow()
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

    /// Looks at the files of the records with this many newest numbers.
    fn refresh_newest(&mut self, newest: u64) {
        if !std::mem::replace(&mut self.is_loaded, true)
            && let Some(loaded) = file::load(self.store.files(), &self.path())
        {
            (self.seen, self.known) = (loaded.seen, loaded.known);
            self.file = Some(loaded.file);
        }
        self.read_changed(newest);
        if self.unwritten >= WORTH_WRITING {
            // Where the index cannot be written, the next start takes longer and nothing else
            // happens.
            let _ = self.write();
        }
    }

    fn write(&mut self) -> std::io::Result<()> {
        self.unwritten = 0;
        let (path, open) = (self.path(), self.file.as_ref());
        file::store(self.store.files(), &path, self.seen, open, &self.known)
    }

    /// How many summaries are in memory.
    pub fn in_memory(&self) -> usize {
        let in_memory = |known: &&Known| known.in_memory().is_some();
        self.known.values().filter(in_memory).count()
    }

    /// Frees the memory of the summaries, for a process that works for days. They are read from the
    /// file when somebody asks. Where the file cannot be written, nothing is freed.
    pub fn forget_summaries(&mut self) {
        if self.write().is_ok() {
            *self = RunIndex {
                in_notes: std::mem::take(&mut self.in_notes),
                kernel_names: std::mem::take(&mut self.kernel_names),
                ..RunIndex::of(&self.lab_dir)
            };
            self.refresh();
        }
    }

    fn read_changed(&mut self, newest: u64) {
        let files = self.store.files();
        let (seen, decided) = decision_lock::changed_since(files, &self.lab_dir, self.seen);
        self.seen = seen;
        // Taken before the folder is listed: the next refresh finds a run that comes in between.
        let listed = stamp(files, self.store.runs());
        if listed.is_none() || self.listed != listed {
            self.list();
            self.listed = listed.filter(|_| self.unlisted.is_none());
        }
        for (id, found) in read(&self.store, &self.changed(newest, decided.as_ref())) {
            self.damaged.remove(&id);
            self.without_record.remove(&id);
            self.known.remove(&id);
            match found {
                Found::Summary(stamp, summary) => {
                    self.known.insert(id, Known::new(stamp, *summary));
                    self.unwritten += 1;
                }
                Found::Damaged(stamp, problem) => {
                    self.damaged.insert(id, (stamp, problem));
                }
                Found::Nothing => {
                    self.without_record.insert(id);
                }
            }
        }
    }

    /// The runs whose records may have changed. `decided` are those that decisions
    /// wrote; `None` if these are not known.
    fn changed(&self, newest: u64, decided: Option<&BTreeSet<RunId>>) -> Vec<RunId> {
        let runs = self.store.open_to_look();
        let stamp = |id| RunStore::stamp(runs.as_ref()?, id);
        let last = |ids: Option<&RunId>| ids.map_or(0, |id| id.0);
        let last = last(self.known.keys().next_back())
            .max(last(self.damaged.keys().next_back()))
            .max(last(self.without_record.last()));
        let is_newest = |id: RunId| id.0 > last.saturating_sub(newest);
        let is_changed = |(id, known): &(&RunId, &Known)| {
            !known.keys.is(Fact::HasVerdict)
                || decided.is_none_or(|decided| decided.contains(id))
                || (is_newest(**id) && Some(known.stamp) != stamp(**id))
        };
        let is_mended = |(id, (seen, _)): &(&RunId, &(Option<Stamp>, String))| {
            seen.is_none() || *seen != stamp(**id)
        };
        let known = self.known.iter().filter(is_changed).map(|(id, _)| id);
        let mended = self.damaged.iter().filter(is_mended).map(|(id, _)| id);
        let all = known.chain(mended).chain(&self.without_record);
        all.copied().collect()
    }

    /// Finds the runs in the folder that are not known, and forgets those that are gone.
    fn list(&mut self) {
        self.unlisted = None;
        let count = self.known.len() as u64;
        if let Some(last) = self.known.keys().next_back().copied()
            && let Some(newest) = self.store.newest_after(last, count)
        {
            self.damaged.clear();
            self.without_record = (last.0 + 1..=newest.0).map(RunId).collect();
            return;
        }
        let here: BTreeSet<RunId> = match self.store.list() {
            Ok(ids) => ids.into_iter().collect(),
            Err(error) => {
                let folder = self.store.runs().display();
                self.unlisted = Some(format!("cannot list the runs in {folder}: {error}"));
                return;
            }
        };
        self.known.retain(|id, _| here.contains(id));
        self.damaged.retain(|id, _| here.contains(id));
        let is_new = |id: &RunId| !self.known.contains_key(id) && !self.damaged.contains_key(id);
        self.without_record = here.into_iter().filter(is_new).collect();
    }
}

#[cfg(test)]
mod tests;

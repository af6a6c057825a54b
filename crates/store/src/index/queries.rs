//! What the index answers. Only the summaries that an answer needs are parsed.

use super::keys;
use super::{Fact, Keys, Known, RunIndex};
use crate::checked::sum;
use crate::decision_lock::MOST_DECISIONS;
use crate::run_store::RunStore;
use crate::summary::RunSummary;
use lab_run::experiment::Row;
use lab_run::record::{Record, is_inside};
use lab_run::{Fingerprint, RunId};
use std::collections::{BTreeSet, HashMap};

impl RunIndex {
    pub fn store(&self) -> &RunStore {
        &self.store
    }

    /// The summary of a run; `None` if the run has no record that can be read.
    pub fn summary(&self, id: RunId) -> Option<&RunSummary> {
        self.read(id, self.known.get(&id)?)
    }

    fn read<'i>(&'i self, id: RunId, known: &'i Known) -> Option<&'i RunSummary> {
        let otherwise = || self.store.read_summary(id).ok();
        known.summary(self.file.as_ref(), otherwise)
    }

    /// Every run that has a record, newest first.
    pub fn newest(&self) -> impl Iterator<Item = &RunSummary> {
        self.newest_with(|_| true)
    }

    /// The runs whose keys `may` be wanted, newest first.
    pub fn newest_with(&self, may: impl Fn(&Keys) -> bool) -> impl Iterator<Item = &RunSummary> {
        let wanted = self.known.iter().rev().filter(move |(_, k)| may(&k.keys));
        wanted.filter_map(|(id, known)| self.read(*id, known))
    }

    /// The runs that judged these inputs, newest first.
    pub fn newest_of(&self, fingerprint: &Fingerprint) -> impl Iterator<Item = &RunSummary> {
        let hash = sum(&fingerprint.0);
        self.newest_with(move |keys| keys.fingerprint == hash)
    }

    /// The runs that judged inputs with this fingerprint by tokens, newest first.
    pub fn newest_of_tokens(&self, tokens: &Fingerprint) -> impl Iterator<Item = &RunSummary> {
        let hash = sum(&tokens.0);
        self.newest_with(move |keys| keys.tokens == hash)
    }

    /// The runs that judged this blob of any kernel, newest first.
    pub fn newest_of_blob(&self, blob: &str) -> impl Iterator<Item = &RunSummary> {
        let hash = sum(blob);
        self.newest_with(move |keys| keys.blob == hash)
    }

    /// The runs of a kernel whose keys `may` be wanted, newest first.
    pub fn newest_of_kernel(
        &self,
        kernel: &str,
        may: impl Fn(&Keys) -> bool,
    ) -> impl Iterator<Item = &RunSummary> {
        let hash = sum(kernel);
        self.newest_with(move |keys| keys.kernel == hash && may(keys))
    }

    /// The newest run that `wanted` accepts, with its whole record.
    pub fn find(&self, wanted: impl Fn(&RunSummary) -> bool) -> Option<Record> {
        let found = self.newest().filter(|run| wanted(run));
        self.first_record(found)
    }

    /// The newest run that judged these inputs and that `wanted` accepts, with its whole record.
    pub fn find_of(
        &self,
        fingerprint: &Fingerprint,
        wanted: impl Fn(&RunSummary) -> bool,
    ) -> Option<Record> {
        let found = self.newest_of(fingerprint).filter(|run| wanted(run));
        self.first_record(found)
    }

    fn first_record<'i>(&self, mut runs: impl Iterator<Item = &'i RunSummary>) -> Option<Record> {
        runs.find_map(|run| self.store.read(run.id).ok())
    }

    /// The decided runs with a row, newest first: their ids and the hashes of their rows.
    pub fn rows(&self, emulated: bool) -> impl Iterator<Item = (RunId, u64)> {
        let has_row = move |keys: &Keys| keys.row != 0 && keys.is(Fact::IsEmulated) == emulated;
        let rows = self.known.iter().rev().map(|(id, known)| (id, &known.keys));
        rows.filter(move |(_, keys)| has_row(keys))
            .map(|(id, keys)| (*id, keys.row))
    }

    /// What [`RunIndex::rows`] says of a row.
    pub fn hash_of(row: &Row) -> u64 {
        keys::of_row(row)
    }

    /// The last decision about a kernel that a commit holds. A foreign decision is the last only
    /// if this user made none: a folder could bring decisions of any date.
    pub fn last_decided(&self, kernel: &str) -> Option<&RunSummary> {
        let hash = sum(kernel);
        let is_decided = |keys: &Keys| {
            keys.kernel == hash && keys.is(Fact::IsDecided) && !keys.is(Fact::IsCheck)
        };
        let decided = self.known.iter().filter(|(_, k)| is_decided(&k.keys));
        let position = |(id, k): &(&RunId, &Known)| (k.keys.is(Fact::IsOwn), k.keys.order, **id);
        self.summary(*decided.max_by_key(position)?.0)
    }

    /// The newest run that has ended. A run with a damaged record counts as ended.
    pub fn ended(&self) -> Option<RunId> {
        let has_verdict = |known: &Known| known.keys.is(Fact::HasVerdict);
        let judged = self.known.iter().rev().find(|(_, k)| has_verdict(k));
        judged.map(|(id, _)| *id).max(self.damaged().next())
    }

    /// Messages about damaged records, newest first.
    pub fn problems(&self) -> Vec<String> {
        let damaged = self.damaged.values().rev();
        let damaged = damaged.map(|(_, problem)| problem.clone());
        self.unlisted.iter().cloned().chain(damaged).collect()
    }

    /// The runs with damaged records, newest first.
    pub fn damaged(&self) -> impl Iterator<Item = RunId> {
        self.damaged.keys().rev().copied()
    }

    /// The kernels that decided runs and notes name, relative to the work tree.
    pub fn kernels(&self) -> BTreeSet<String> {
        let is_decided = |known: &Known| known.keys.is(Fact::IsDecided);
        let decided = self.known.iter().filter(|(_, k)| is_decided(k));
        // Parses one run of each kernel.
        let one_of_each: HashMap<u64, RunId> = decided
            .map(|(id, known)| (known.keys.kernel, *id))
            .collect();
        let here = one_of_each.values().filter_map(|id| self.summary(*id));
        let in_notes = self.in_notes.summaries.values().flatten();
        let kernels = here.chain(in_notes).map(|summary| summary.kernel.clone());
        kernels.filter(|kernel| is_inside(kernel)).collect()
    }

    /// The greatest order of all decisions, also of one whose record is gone; 0 if there is none.
    pub fn greatest_order(&self) -> u64 {
        let orders = self.known.values().map(|known| known.keys.order);
        let of_records = orders.filter(|order| *order < MOST_DECISIONS).max();
        of_records.unwrap_or(0).max(self.journal().greatest_order())
    }

    /// Where each decision of this clone stands among all: at its time in microseconds since 1970,
    /// but never before the decision that was made before it. The clock may have been set back in
    /// between. The second number orders decisions of the same time.
    pub fn positions(&self) -> HashMap<RunId, (i64, u64)> {
        let decided = self.known.iter().filter(|(_, k)| k.keys.decided != 0);
        let mut decided: Vec<_> = decided
            .map(|(id, known)| (known.keys.order, known.keys.decided, *id))
            .collect();
        decided.sort_unstable();
        let mut latest = i64::MIN;
        let position = |(order, at, run)| {
            latest = latest.max(at);
            (run, (latest, order))
        };
        decided.into_iter().map(position).collect()
    }
}

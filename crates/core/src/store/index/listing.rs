//! Lists the runs of a folder without reading it, where the file system counts its folders.

use crate::run::RunId;
use crate::store::run_store::RunStore;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// All runs, newest first. `known` are the runs that the index knows, oldest first: where the folder holds exactly these and
/// the ones that follow the newest of them, it is not read. Most file systems count the folders in a folder as links.
pub fn runs(folder: &Path, store: &RunStore, known: impl DoubleEndedIterator<Item = RunId>) -> Vec<RunId> {
    let mut ids: Vec<RunId> = known.rev().collect();
    let Some(newest) = ids.first().copied() else { return store.ids() };
    let is_run = |id: &RunId| store.folder(*id).is_dir();
    let mut newer: Vec<RunId> = (newest.0 + 1..).map(RunId).take_while(is_run).collect();
    let count = std::fs::metadata(folder).map_or(0, |about| about.nlink());
    if count != 2 + (ids.len() + newer.len()) as u64 || !is_run(&newest) {
        return store.ids();
    }
    newer.reverse();
    newer.append(&mut ids);
    newer
}

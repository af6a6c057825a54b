//! Lists the runs of a folder without reading it, where the file system counts its folders.

use crate::run::RunId;
use crate::store::run_store::RunStore;
use std::os::unix::fs::MetadataExt;

/// All runs, newest first. `known` are the runs that the index knows, oldest first: where the folder holds exactly these and
/// the ones that follow the newest of them, it is not read. Most file systems count the folders in a folder as links.
pub fn runs(store: &RunStore, known: impl DoubleEndedIterator<Item = RunId>) -> Vec<RunId> {
    let mut ids: Vec<RunId> = known.rev().collect();
    let newest = ids.first().and_then(|last| Some((*last, newest(store, *last, ids.len() as u64)?)));
    let Some((last, newest)) = newest else { return store.ids() };
    let mut all: Vec<RunId> = (last.0 + 1..=newest.0).rev().map(RunId).collect();
    all.append(&mut ids);
    all
}

/// The newest run, where the folder holds `count` runs, `last` the newest of them, and the runs that follow `last`. `None`
/// where it holds others, or does not tell.
pub fn newest(store: &RunStore, last: RunId, count: u64) -> Option<RunId> {
    // A folder may have any number for its name.
    if last.0 > u64::MAX / 2 {
        return None;
    }
    let is_run = |id: RunId| store.files().metadata(&store.folder(id)).is_ok_and(|about| about.is_dir());
    let newer = (last.0 + 1..).take_while(|id| is_run(RunId(*id))).count() as u64;
    let links = store.files().metadata(store.runs()).ok()?.nlink();
    (links == 2 + count + newer && is_run(last)).then_some(RunId(last.0 + newer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_folder_that_was_deleted_or_added_has_the_folder_read() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let store = RunStore::new(&temp.path().join(".lab"));
        let here = |known: &[u64]| -> Vec<u64> {
            runs(&store, known.iter().copied().map(RunId)).iter().map(|id| id.0).collect()
        };
        let newest = |last, count| newest(&store, RunId(last), count).map(|id| id.0);
        for _ in 0..6 {
            store.create().expect("a folder");
        }
        assert_eq!(here(&[]), [6, 5, 4, 3, 2, 1]);
        assert_eq!(here(&[1, 2, 3, 4]), [6, 5, 4, 3, 2, 1]);
        assert_eq!((newest(4, 4), newest(6, 6), newest(6, 5)), (Some(6), Some(6), None));
        fs::remove_dir(store.folder(RunId(2))).expect("removed");
        assert_eq!(here(&[1, 2, 3, 4]), [6, 5, 4, 3, 1]);
        assert_eq!(newest(4, 4), None);
        fs::remove_dir(store.folder(RunId(6))).expect("removed");
        assert_eq!((here(&[1, 3, 4, 5, 6]), newest(6, 5)), (vec![5, 4, 3, 1], None));
        assert_eq!(store.create_after(Some(RunId(5))).ok(), Some(RunId(6)));
    }
}

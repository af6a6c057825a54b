//! Finds the newest run of a folder without reading the folder, where the file system counts its
//! folders.

use crate::run::RunId;
use crate::store::run_store::RunStore;
use std::os::unix::fs::MetadataExt;

/// The newest run, where the folder holds `count` runs, `last` the newest of them, and the runs
/// that follow `last`. `None` where it holds others, or does not tell. Most file systems count the
/// folders in a folder as links.
pub fn newest(store: &RunStore, last: RunId, count: u64) -> Option<RunId> {
    // A folder may have any number for its name.
    if last.0 > u64::MAX / 2 {
        return None;
    }
    let is_run = |id: RunId| {
        store
            .files()
            .metadata(&store.folder(id))
            .is_ok_and(|about| about.is_dir())
    };
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
        let newest = |last, count| newest(&store, RunId(last), count).map(|id| id.0);
        for _ in 0..6 {
            store.create().expect("a folder");
        }
        assert_eq!(
            (newest(4, 4), newest(6, 6), newest(6, 5)),
            (Some(6), Some(6), None)
        );
        fs::remove_dir(store.folder(RunId(2))).expect("removed");
        assert_eq!(newest(4, 4), None);
        fs::remove_dir(store.folder(RunId(6))).expect("removed");
        assert_eq!((newest(6, 5), newest(5, 4)), (None, Some(5)));
        assert_eq!(store.create_after(Some(RunId(5))).ok(), Some(RunId(6)));
    }
}

//! The folder of runs.

use super::*;
use lab_testing::record;
use std::fs;

#[test]
fn a_run_is_in_progress_while_its_lab_lives_and_is_not_judged_after() {
    let temp = tempfile::tempdir().expect("a temporary folder");
    let store = RunStore::new(temp.path());
    let id = store.create().expect("a folder");
    store.write(&record(id)).expect("written");
    let log = File::create(store.log(id)).expect("a log");
    log.lock().expect("locked");
    assert_eq!(store.read(id).expect("read").verdict, None);
    drop(log);
    let verdict = store.read(id).expect("read").verdict.expect("a verdict");
    assert_eq!(verdict.outcome, Outcome::NotJudged);
    assert!(verdict.why.contains("the lab itself ended"));
}

#[test]
fn a_folder_that_was_deleted_or_added_has_the_folder_read() {
    let temp = tempfile::tempdir().expect("a temporary folder");
    let store = RunStore::new(&temp.path().join(".lab"));
    let newest = |last, count| store.newest_after(RunId(last), count).map(|id| id.0);
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

#[test]
fn ids_are_never_used_twice() {
    let temp = tempfile::tempdir().expect("a temporary folder");
    let store = RunStore::new(temp.path());
    let ids: Vec<RunId> = (0..3).map(|_| store.create().expect("a folder")).collect();
    assert_eq!(ids, [RunId(1), RunId(2), RunId(3)]);
    assert_eq!(store.ids(), [RunId(3), RunId(2), RunId(1)]);
}

//! The index beside the records that it sums up.

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
    assert!(again.paths.whole.exists());
    for index in [&mut index, &mut again] {
        index.refresh();
        assert!(seen(index).ends_with(&[(3, "a"), (2, "b")]), "{:?}", seen(index));
        assert_eq!(seen(index)[3], (NEWEST as u64, "by hand"));
        assert_eq!(index.problems().len(), 1, "{:?}", index.problems());
        index.refresh();
        assert_eq!(index.problems().len(), 1, "it stays one");
        assert_eq!(index.ended(), Some(RunId(NEWEST as u64 + 4)));
    }
    // A lab that knew the same wrote the same; a damaged file is as good as none.
    index.write().expect("written");
    for path in [&index.paths.whole, &index.paths.newer] {
        let whole = fs::read(path).unwrap_or_default();
        for broken in [&b"nonsense"[..], &whole[..whole.len().saturating_sub(9)]] {
            fs::write(path, broken).expect("damaged");
            let mut third = RunIndex::of(temp.path());
            third.refresh();
            assert_eq!(seen(&third), seen(&index));
        }
    }
    let newest = |index: &RunIndex| index.newest_of(&Fingerprint("f".into())).next().map(|run| run.id.0);
    assert_eq!(newest(&RunIndex::of(temp.path())), None, "nothing was read yet");
    assert_eq!(newest(&index), Some(NEWEST as u64 + 4));
    assert_eq!(index.newest_of(&Fingerprint("other".into())).count(), 0);
}

#[test]
fn catching_up_reads_what_was_decided_and_new_runs_and_no_edit_by_hand() {
    let temp = tempfile::tempdir().expect("a temporary folder");
    let mut index = RunIndex::of(temp.path());
    let store = index.store.clone();
    for id in [1, 2] {
        assert_eq!(store.create().ok(), Some(RunId(id)));
        ended(&store, RunId(id), "a");
    }
    index.refresh();
    for id in [1, 2] {
        ended(&store, RunId(id), "changed");
    }
    fs::write(temp.path().join("decide.lock"), "1\n").expect("what a decision says of it");
    ended(&store, store.create().expect("a folder"), "new");
    index.catch_up();
    assert_eq!(seen(&index), [(3, "new"), (2, "a"), (1, "changed")]);
    index.refresh();
    assert_eq!(seen(&index)[1], (2, "changed"));
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

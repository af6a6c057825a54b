//! The index beside the records that it sums up.

use super::*;
use crate::run::verdict::{Outcome, Verdict};
use crate::store::run_store::tests::record;
use std::fs;

fn ended(store: &RunStore, id: RunId, device: &str) {
    let verdict = Verdict::bare(Outcome::Pass, "");
    let of = Record {
        verdict: Some(verdict),
        device: Some(device.into()),
        ..record(id)
    };
    store.write(&of).expect("written");
}

fn seen(index: &RunIndex) -> Vec<(u64, &str)> {
    index
        .newest()
        .map(|b| (b.id.0, b.device.as_deref().unwrap_or("-")))
        .collect()
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
    assert_eq!(
        index.newest().next().map(|b| b.id.0),
        Some(NEWEST as u64 + 4)
    );

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
        assert!(
            seen(index).ends_with(&[(3, "a"), (2, "b")]),
            "{:?}",
            seen(index)
        );
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
    let newest = |index: &RunIndex| {
        index
            .newest_of(&Fingerprint("f".into()))
            .next()
            .map(|run| run.id.0)
    };
    assert_eq!(
        newest(&RunIndex::of(temp.path())),
        None,
        "nothing was read yet"
    );
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
    assert_eq!(
        index.newest().next().and_then(RunSummary::outcome),
        Some(Outcome::NotJudged)
    );
    assert!(
        index
            .find(|b| b.outcome() == Some(Outcome::NotJudged))
            .is_some()
    );
}

#[test]
fn summaries_that_are_on_disk_are_freed_and_read_again_when_somebody_asks() {
    let temp = tempfile::tempdir().expect("a temporary folder");
    let mut index = RunIndex::of(temp.path());
    let store = index.store.clone();
    let create = |count: usize| {
        for _ in 0..count {
            ended(&store, store.create().expect("a folder"), "a");
        }
    };
    create(30);
    index.refresh();
    index.forget_summaries();
    assert_eq!((index.in_memory(), index.unmerged.len()), (0, 0));
    // One that changed since, and others that the file of all does not hold.
    create(3);
    ended(&store, RunId(31), "b");
    ended(&store, RunId(30), "c");
    index.refresh();
    let unmerged = [30, 31, 32, 33].map(RunId);
    assert!(
        index.unmerged.iter().copied().eq(unmerged),
        "{:?}",
        index.unmerged
    );
    let all = |index: &RunIndex| {
        seen(index)
            .into_iter()
            .map(|(id, d)| (id, d.to_owned()))
            .collect::<Vec<_>>()
    };
    let before = all(&index);
    assert_eq!(
        (index.in_memory(), before[3].clone()),
        (33, (30, "c".to_owned()))
    );
    index.forget_summaries();
    assert!(
        index.unmerged.iter().copied().eq(unmerged),
        "they are in no file of all"
    );
    assert_eq!(index.in_memory(), 4);
    assert_eq!(all(&index), before);
    // Another lab wrote a file of all, in which a run is missing that this one knows.
    let mut other = RunIndex::of(temp.path());
    other.refresh();
    other.known.remove(RunId(7));
    file::store(
        store.files(),
        &index.paths.whole,
        None,
        other.seen,
        &other.open,
        other.known.iter(),
    )
    .expect("written");
    index.forget_summaries();
    assert_eq!(all(&index), before);
    create(10);
    index.refresh();
    assert_eq!(index.newest().count(), 43);
    let mut again = RunIndex::of(temp.path());
    again.refresh();
    assert_eq!(all(&again), all(&index));
    // Without a file nothing is freed.
    fs::remove_file(&index.paths.whole).expect("removed");
    let known = index.in_memory();
    index.forget_summaries();
    assert_eq!(index.in_memory(), known);
}

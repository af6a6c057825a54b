//! The index beside the records that it sums up.

use super::*;
use crate::{RunSummary, checked};
use lab_run::record::Record;
use lab_run::verdict::{Outcome, Verdict};
use lab_run::{Fingerprint, RunId};
use lab_testing::record;
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

/// What a decision says of a run whose record it wrote.
fn decided(lab_dir: &Path, run: u64) {
    let entry = format!(r#"{{"run":{run},"kernel":"","order":null,"undone":[]}}"#);
    let line = checked::line(&entry) + "\n";
    fs::write(lab_dir.join("decide.lock"), line).expect("written");
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
    assert_eq!(index.newest().count() as u64, NEWEST + 4);
    assert_eq!(index.newest().next().map(|b| b.id.0), Some(NEWEST + 4));

    // A new object starts from the index on disk, and finds what changed since.
    ended(&store, RunId(2), "b");
    decided(temp.path(), 2);
    fs::remove_dir_all(store.folder(RunId(1))).expect("removed");
    ended(&store, RunId(NEWEST), "by hand");
    fs::write(store.record(RunId(NEWEST + 1)), "{ half").expect("damaged");
    let mut again = RunIndex::of(temp.path());
    assert!(again.path().exists());
    for index in [&mut index, &mut again] {
        index.refresh();
        assert!(
            seen(index).ends_with(&[(3, "a"), (2, "b")]),
            "{:?}",
            seen(index)
        );
        assert_eq!(seen(index)[3], (NEWEST, "by hand"));
        assert_eq!(index.problems().len(), 1, "{:?}", index.problems());
        index.refresh();
        assert_eq!(index.problems().len(), 1, "it stays one");
        assert_eq!(index.ended(), Some(RunId(NEWEST + 4)));
    }
    // A damaged file is as good as none: one that is cut off, one of nonsense, one whose table
    // claims more runs or longer summaries, one whose summary is nonsense, and one of another version.
    index.write().expect("written");
    let path = index.path();
    let whole = fs::read(&path).expect("a file");
    let header = whole
        .iter()
        .position(|byte| *byte == b'\n')
        .expect("a line");
    let changed = |from: &str, to: &str| {
        let first = String::from_utf8_lossy(&whole[..header]).replace(from, to);
        [first.as_bytes(), &whole[header..]].concat()
    };
    let mut flipped = whole.clone();
    let last = flipped.len() - 9;
    flipped[last] = b'}';
    let mut long = whole.clone();
    long[header + 1 + 13 * 8] ^= 0xff;
    let broken = [
        b"nonsense".to_vec(),
        whole[..whole.len() - 9].to_vec(),
        whole[..header + 9].to_vec(),
        changed("\"runs\":", "\"runs\":9"),
        changed("\"version\":", "\"version\":9"),
        long,
        flipped,
    ];
    // A bit of a figure too, which leaves the summary as readable as before.
    let one_bit = (header + 1..whole.len()).step_by(89).map(|at| {
        let mut flipped = whole.clone();
        flipped[at] ^= 1;
        flipped
    });
    for broken in broken.into_iter().chain(one_bit) {
        assert_ne!(broken, whole);
        fs::write(&path, broken).expect("damaged");
        let mut third = RunIndex::of(temp.path());
        third.refresh();
        assert_eq!(seen(&third), seen(&index));
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
    assert_eq!(newest(&index), Some(NEWEST + 4));
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
    decided(temp.path(), 1);
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
    assert_eq!(index.in_memory(), 0);
    // One that changed since, and others that the file does not hold.
    create(3);
    ended(&store, RunId(31), "b");
    ended(&store, RunId(30), "c");
    index.refresh();
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
    assert_eq!(index.in_memory(), 0);
    assert_eq!(all(&index), before);
    // Another lab wrote a file in which a run is missing that this one knows.
    let mut other = RunIndex::of(temp.path());
    other.refresh();
    other.known.remove(&RunId(7));
    other.write().expect("written");
    let mut third = RunIndex::of(temp.path());
    third.refresh();
    assert_eq!(all(&third), before);
    index.forget_summaries();
    assert_eq!(all(&index), before);
    create(10);
    index.refresh();
    assert_eq!(index.newest().count(), 43);
    let mut again = RunIndex::of(temp.path());
    again.refresh();
    assert_eq!(all(&again), all(&index));
    // Where the file cannot be written, nothing is freed.
    fs::remove_file(index.path()).expect("removed");
    fs::create_dir(index.path()).expect("a folder in its place");
    let known = index.in_memory();
    index.forget_summaries();
    assert_eq!(index.in_memory(), known);
    assert_eq!(all(&index), all(&again));
}

/// Several processes write the file beside each other, and each reads what the others recorded.
#[test]
fn indexes_that_write_beside_each_other_know_every_run() {
    let temp = tempfile::tempdir().expect("a temporary folder");
    let store = RunStore::new(temp.path());
    std::thread::scope(|scope| {
        for device in ["a", "b", "c", "d"] {
            let (store, folder) = (&store, temp.path());
            scope.spawn(move || {
                for _ in 0..40 {
                    ended(store, store.create().expect("a folder"), device);
                    let mut index = RunIndex::of(folder);
                    index.refresh();
                    index.write().expect("written");
                }
            });
        }
    });
    let mut index = RunIndex::of(temp.path());
    index.refresh();
    let mut read = RunIndex::of(temp.path());
    fs::remove_file(read.path()).expect("removed");
    read.refresh();
    assert_eq!(index.newest().count(), 160);
    assert_eq!(seen(&index), seen(&read));
}

#[test]
fn a_folder_of_runs_that_cannot_be_listed_is_no_empty_one() {
    let temp = tempfile::tempdir().expect("a temporary folder");
    let lab_dir = temp.path().join(".lab");
    fs::create_dir(&lab_dir).expect("made");
    fs::write(lab_dir.join("runs"), "").expect("written");
    let mut index = RunIndex::of(&lab_dir);
    index.refresh();
    let why = index.require_listed().expect_err("no list").to_string();
    assert!(why.starts_with("cannot list the runs in "), "{why}");
    assert_eq!(index.problems(), [why]);
    fs::remove_file(lab_dir.join("runs")).expect("removed");
    index.refresh();
    assert!(index.require_listed().is_ok() && index.problems().is_empty());
}

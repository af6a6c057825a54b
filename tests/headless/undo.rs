//! Undoing the last keep or discard: nothing is lost, and later commits stay.

use crate::lab::{Lab, signed};
use lab_store::signature::Purpose;

/// The first is committed; run 1 judged better bytes.
fn judged() -> Lab {
    let lab = Lab::new();
    lab.write("kernel.cu", "// better\n");
    lab.lab("run").is(0);
    lab
}

fn kept() -> Lab {
    let lab = judged();
    lab.lab("keep -m better").is(0);
    lab
}

fn undecided(lab: &Lab) -> Option<u64> {
    lab.lab("log --json").is(0).json()["undecided_run"].as_u64()
}

/// The undo is refused for this reason, and nothing has changed.
#[track_caller]
fn refuses(lab: &Lab, why: &str) {
    let state = || {
        (
            lab.head(),
            lab.read("kernel.cu"),
            lab.rows(),
            lab.git("status --porcelain"),
        )
    };
    let before = state();
    lab.lab("undo").is(1).says(why);
    assert_eq!(state(), before);
    assert!(!lab.path(".lab/unfinished.json").exists());
}

#[test]
fn a_keep_is_undone_and_can_be_decided_again() {
    let lab = judged();
    lab.write("other", "staged by the user\n");
    lab.git("add other");
    let before = (lab.head(), lab.git("status --porcelain"));
    lab.lab("keep -m better").is(0);
    let commit = lab.head();
    lab.lab("undo")
        .is(0)
        .says("run 1 of kernel.cu is open again: keep")
        .says("the commit is kept as refs/lab/undone/1");
    assert_eq!((lab.head(), lab.git("status --porcelain")), before);
    assert_eq!(lab.git("rev-parse refs/lab/undone/1").trim(), commit);
    assert_eq!(lab.read("kernel.cu"), "// better\n");
    assert_eq!(lab.rows(), [] as [&str; 0]);
    assert_eq!(undecided(&lab), Some(1));
    assert_eq!(lab.lab("log").is(0).err, "", "no row is owed");
    let record: serde_json::Value =
        serde_json::from_str(&lab.read(".lab/runs/1/record.json")).unwrap();
    assert_eq!(record["undone"][0]["description"], "better");

    lab.lab("undo")
        .is(1)
        .says("nothing was decided about kernel.cu yet");
    lab.lab("keep -m 'better, said better'").is(0);
    assert_eq!(
        lab.rows(),
        ["1000.0 | 1000.0 | pass | keep | better, said better"]
    );
    lab.lab("undo").is(0).says("refs/lab/undone/1-2");
    lab.lab("discard -m 'after all not'").is(0);
    assert_eq!(lab.read("kernel.cu"), "// the first\n");
}

#[test]
fn a_note_that_could_not_be_written_is_told() {
    let lab = kept();
    let commit = lab.head();
    lab.git("update-ref -d refs/notes/lab");
    lab.git("update-ref refs/notes/lab/in-the-way HEAD");
    lab.lab("undo")
        .is(0)
        .says("the git note of the commit still says that it was decided: ");
    assert_eq!(undecided(&lab), Some(1));
    // The next decision writes it, as soon as that is possible.
    lab.lab("log").is(0);
    lab.git("update-ref -d refs/notes/lab/in-the-way");
    lab.lab("discard -m 'not that'")
        .is(0)
        .says("the git note that could not be written before is written");
    assert!(
        lab.git(&format!("notes --ref=lab show {commit}"))
            .contains("\"undone\"")
    );
    assert!(!lab.path(".lab/unfinished.json").exists());
}

#[test]
fn a_lock_that_a_killed_lab_left_on_its_own_refs_is_removed() {
    let lab = kept();
    for own in ["notes/lab", "lab/undone/1"] {
        std::fs::create_dir_all(lab.path(&format!(".git/refs/{own}")).parent().unwrap()).unwrap();
        lab.write(&format!(".git/refs/{own}.lock"), "");
    }
    let commit = lab.head();
    let output = lab.lab("undo").is(0);
    assert!(!output.out.contains("still says"), "{output:?}");
    assert!(
        lab.git(&format!("notes --ref=lab show {commit}"))
            .contains("\"undone\"")
    );
    assert_eq!(lab.git("rev-parse refs/lab/undone/1").trim(), commit);
    // The user's own are named.
    lab.lab("keep -m again").is(0);
    lab.write(".git/refs/heads/main.lock", "");
    refuses(
        &lab,
        "git's ref main is locked: another git command is at work",
    );
}

#[test]
fn a_discard_is_undone_and_the_bytes_on_disk_are_saved_first() {
    let lab = judged();
    lab.lab("discard -m worse").is(0);
    lab.write("kernel.cu", "// a new thought\n");
    lab.lab("undo")
        .is(0)
        .says("discard")
        .says("the bytes that were on disk are kept as");
    assert_eq!(lab.read("kernel.cu"), "// better\n");
    let saved = lab.git("for-each-ref --format=%(refname) refs/lab/saved");
    assert!(
        saved
            .lines()
            .any(|r| lab.git(&format!("show {r}:kernel.cu")) == "// a new thought\n"),
        "{saved}"
    );
    assert_eq!((lab.rows(), undecided(&lab)), (vec![], Some(1)));
    assert_eq!(
        lab.git("show refs/lab/discarded/1:kernel.cu"),
        "// better\n",
        "the attempt stays as well"
    );
    lab.lab("keep -m 'not so bad'").is(0);
    assert_eq!(lab.rows().len(), 1);
    assert_eq!(lab.lab("log").is(0).err, "");
}

#[test]
fn decisions_are_undone_one_after_the_other() {
    let lab = kept();
    lab.write("kernel.cu", "// worse\n");
    lab.lab("run").is(0);
    lab.lab("discard -m worse").is(0);
    lab.lab("undo").is(0).says("run 2").says("discard");
    lab.lab("undo").is(0).says("run 1").says("keep");
    assert_eq!(
        lab.read("kernel.cu"),
        "// worse\n",
        "undoing a keep writes no file"
    );
    assert_eq!(lab.git("log --format=%s"), "start\n");
}

#[test]
fn the_first_commit_of_all_is_undone_to_an_unborn_branch() {
    let lab = Lab::empty();
    lab.write("kernel.cu", "// the first\n");
    lab.passing(1000.0);
    lab.lab("init").is(0);
    lab.lab("trust --yes").is(0);
    lab.lab("run").is(0);
    lab.lab("keep -m baseline").is(0);
    lab.lab("undo").is(0);
    lab.sh("git rev-parse --verify -q HEAD").is(1);
    assert!(!lab.git("status --porcelain").contains("A  kernel.cu"));
    lab.lab("keep -m baseline").is(0);
    assert_eq!(lab.git("log --format=%s"), "baseline\n");
}

#[test]
fn a_keep_that_made_no_commit_moves_no_head() {
    let lab = Lab::new();
    lab.lab("run").is(0);
    lab.lab("keep -m baseline")
        .is(0)
        .says("HEAD holds these bytes already");
    let head = lab.head();
    lab.lab("undo").is(0);
    assert_eq!(
        (lab.head(), lab.rows().len(), undecided(&lab)),
        (head, 0, Some(1))
    );
}

#[test]
fn what_was_built_on_or_pushed_stays() {
    let lab = kept();
    lab.git("checkout -qb next");
    lab.write("other", "x");
    lab.git("add other");
    lab.git("commit -qm more");
    refuses(&lab, "a later commit");
    lab.git("checkout -q main");
    refuses(&lab, "more was built on it in next");
    lab.git("branch -qD next");

    lab.git("init -q --bare ../server.git");
    lab.git("remote add origin ../server.git");
    lab.git("push -q origin main");
    refuses(&lab, "run 1 (");
    refuses(&lab, "it was pushed to origin/main");
    lab.git("update-ref -d refs/remotes/origin/main");

    lab.git("checkout -q HEAD^");
    refuses(&lab, "and not at that commit: check its branch out first");
    lab.git("checkout -q main");
    lab.write(".git/index.lock", "");
    refuses(&lab, "git's index is locked");
    std::fs::remove_file(lab.path(".git/index.lock")).unwrap();
    lab.lab("undo").is(0);
}

#[test]
fn an_undo_that_later_work_blocks_names_the_remedy() {
    let lab = kept();
    let kept = lab.head();
    std::fs::create_dir(lab.path("p2")).unwrap();
    lab.write("p2/kernel.cu", "// the second's\n");
    lab.lab("run p2").is(0);
    lab.lab("keep p2 -m 'of the second'").is(0);
    let revert = format!(
        "`git revert {}` takes it back with a new commit",
        &kept[..7]
    );
    refuses(
        &lab,
        &format!("undo the keep of p2/kernel.cu first (`lab undo p2/kernel.cu`), or {revert}"),
    );
    lab.lab("undo p2/kernel.cu").is(0);
    lab.lab("undo")
        .is(0)
        .says("run 1 of kernel.cu is open again");

    let lab = self::kept();
    let revert = format!(
        "was built on it; `git revert {}` takes it back",
        &lab.head()[..7]
    );
    lab.git("commit -q --allow-empty -m more");
    refuses(&lab, &revert);
}

#[test]
fn an_undo_that_ended_halfway_is_finished_by_the_next_lab() {
    // The undo was killed at the ledger.
    let lab = kept();
    std::fs::rename(lab.path("results.tsv"), lab.path("ledger")).unwrap();
    lab.sh("mkfifo results.tsv").is(0);
    lab.lab("undo")
        .is(1)
        .says("is no plain file")
        .says("the next `lab` goes on with it");
    assert_eq!(lab.git("log --format=%s"), "start\n");
    lab.lab("keep -m again").is(1).says("is no plain file");
    std::fs::rename(lab.path("ledger"), lab.path("results.tsv")).unwrap();
    lab.lab("log")
        .is(0)
        .says("the undo of run 1 that an earlier lab began is done")
        .says("run 1 is open");
    assert_eq!(lab.rows(), [] as [&str; 0]);
    assert_eq!(lab.lab("log").is(0).err, "");

    // The undo had only written its intent.
    let lab = kept();
    lab.unfinished(&lab.intent_of("undo"));
    lab.write("kernel.cu", "// next\n");
    lab.lab("run").is(0);
    lab.lab("discard -m 'of another run'").is(0);
    assert_eq!(lab.git("log --format=%s"), "start\n", "the undo came first");
    assert_eq!(
        lab.rows(),
        ["1000.0 | 1000.0 | pass | discard | of another run"]
    );

    // Another commit was made meanwhile: nothing is undone.
    let lab = kept();
    lab.unfinished(&lab.intent_of("undo"));
    lab.git("commit -q --allow-empty -m more");
    lab.lab("log").is(0).says("is taken back: ");
    assert_eq!(
        (lab.git("log --format=%s"), lab.rows().len()),
        ("more\nbetter\nstart\n".into(), 1)
    );

    // Undoing a discard with newer bytes on disk: the newer bytes are saved.
    let lab = judged();
    lab.lab("discard -m worse").is(0);
    lab.unfinished(&lab.intent_of("undo"));
    lab.write("kernel.cu", "// newer\n");
    lab.lab("log").is(0).says("is done");
    assert_eq!(
        (lab.read("kernel.cu"), lab.rows().len()),
        ("// newer\n".into(), 0)
    );

    // The next command is about another kernel: the bytes still come back at their own path.
    let lab = judged();
    lab.lab("discard -m worse").is(0);
    std::fs::remove_file(lab.path("kernel.cu")).unwrap();
    lab.unfinished(&lab.intent_of("undo kernel.cu"));
    lab.write("other.cu", "// another\n");
    lab.lab("log other.cu").is(0).says("is done");
    assert_eq!(lab.read("kernel.cu"), lab.read(".lab/runs/1/kernel.cu"));
    assert_eq!(
        (lab.read("other.cu"), lab.rows().len()),
        ("// another\n".into(), 0)
    );

    lab.write(".lab/unfinished.json", "{ half");
    lab.lab("keep -m x")
        .is(1)
        .says("is damaged: read it, finish by hand what it says, and remove it");
}

#[test]
fn a_full_disk_undoes_nothing_by_halves() {
    let lab = kept();
    let output = lab.sh("trap '' XFSZ; ulimit -f 0; exec \"$LAB\" undo");
    assert_ne!(output.code, 0, "{output:?}");
    lab.lab("undo").is(0);
    assert_eq!(
        (lab.git("log --format=%s"), lab.rows().len()),
        ("start\n".into(), 0)
    );
}

/// Changes a run's record, as this user's lab would have written it.
fn edit(lab: &Lab, run: u32, change: impl FnOnce(&mut serde_json::Value)) {
    let path = format!(".lab/runs/{run}/record.json");
    let mut record: serde_json::Value = serde_json::from_str(&lab.read(&path)).unwrap();
    change(&mut record);
    record.as_object_mut().unwrap().remove("signature");
    lab.write(&path, signed(Purpose::Record, &record.to_string()));
}

#[test]
fn the_last_decision_is_the_last_one_whatever_the_clock_says() {
    let lab = kept();
    // The clock was ahead at the first decision, and is right now.
    edit(&lab, 1, |record| {
        record["decision"]["decided"] = "2099-01-01T00:00:00Z".into();
    });
    lab.write("kernel.cu", "// worse\n");
    lab.lab("run").is(0);
    lab.lab("discard -m worse").is(0);
    let log = lab.lab("log --json").is(0).json();
    let order: Vec<_> = log["experiments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["run"].clone())
        .collect();
    assert_eq!(order, [1, 2]);
    lab.lab("undo")
        .is(0)
        .says("run 2 of kernel.cu is open again");
    lab.lab("undo")
        .is(0)
        .says("run 1 of kernel.cu is open again");
}

#[test]
fn a_damaged_record_that_may_hold_the_last_decision_stops_the_undo() {
    let lab = kept();
    lab.write("kernel.cu", "// worse\n");
    lab.lab("run").is(0);
    lab.lab("discard -m worse").is(0);
    let whole = lab.read(".lab/runs/2/record.json");
    for damaged in ["{ half", "[]", &whole[..whole.len() / 2]] {
        lab.write(".lab/runs/2/record.json", damaged);
        refuses(
            &lab,
            "the last decision was about run 2, and its record is damaged or gone: put .lab/runs/2/record.json back",
        );
    }
    lab.write(".lab/runs/2/record.json", &whole);
    lab.lab("undo")
        .is(0)
        .says("run 2 of kernel.cu is open again");
    // The decision that was made last counts, also if it is about an older run.
    lab.write("kernel.cu", "// third\n");
    lab.lab("run").is(0);
    lab.lab("discard -m third").is(0);
    let whole = lab.read(".lab/runs/1/record.json");
    lab.write(".lab/runs/1/record.json", "{ half");
    lab.lab("undo")
        .is(0)
        .says("run 3 of kernel.cu is open again");
    lab.write(".lab/runs/1/record.json", whole);
    lab.lab("undo")
        .is(0)
        .says("run 1 of kernel.cu is open again");
    lab.lab("discard --run 2 -m second --unjudged").is(0);
    lab.write("kernel.cu", "// better\n");
    lab.lab("keep --run 1 -m again").is(0);
    lab.write(".lab/runs/1/record.json", "{ half");
    refuses(&lab, "the last decision was about run 1");
}

/// After a keep and a discard, the record of the discard is emptied, lost, or one byte of it changes.
/// The keep before it stays.
#[test]
fn an_undo_never_reaches_past_a_discard_whose_record_is_not_as_it_was_written() {
    let lab = kept();
    lab.write("kernel.cu", "// worse\n");
    lab.lab("run").is(0);
    lab.lab("discard -m worse").is(0);
    let record = ".lab/runs/2/record.json";
    let whole = lab.read(record);
    lab.write(record, "");
    refuses(
        &lab,
        "the last decision was about run 2, and its record is damaged or gone",
    );
    std::fs::remove_file(lab.path(record)).unwrap();
    refuses(
        &lab,
        "the last decision was about run 2, and its record is damaged or gone",
    );
    lab.write(record, whole.replace("\"worse\"", "\"wrrse\""));
    refuses(
        &lab,
        "'wrrse') is foreign: its record was written by somebody else's lab, or was changed since",
    );
    for (was, is) in [
        ("\"decision\"", "\"decisiom\""),
        ("\"kernel.cu\"", "\"kernel.ct\""),
    ] {
        assert!(whole.contains(was));
        lab.write(record, whole.replace(was, is));
        refuses(&lab, "run 2");
    }
    // A description that was written later does not make the keep the later decision.
    lab.write(record, &whole);
    let kept = lab.git("log -1 --format=%h");
    lab.lab(&format!("describe {} -m 'better still'", kept.trim()))
        .is(0);
    lab.write(record, "{ half");
    refuses(&lab, "the last decision was about run 2");
    lab.write(record, &whole);
    lab.lab("undo")
        .is(0)
        .says("run 2 of kernel.cu is open again");
    lab.lab("undo")
        .is(0)
        .says("run 1 of kernel.cu is open again");
}

/// The user removes the folder of a run whose record was damaged. Its discard was the last decision,
/// and the keep before it stays, also once a new run has the number of the removed one.
#[test]
fn an_undo_never_reaches_past_a_discard_whose_run_was_removed() {
    let lab = kept();
    lab.write("kernel.cu", "// worse\n");
    lab.lab("run").is(0);
    lab.lab("discard -m worse").is(0);
    lab.write(".lab/runs/2/record.json", "{ half");
    std::fs::remove_dir_all(lab.path(".lab/runs/2")).unwrap();
    let gone = "the last decision was about run 2, and its record is damaged or gone";
    refuses(&lab, gone);
    lab.write("kernel.cu", "// third\n");
    lab.lab("run").is(0);
    assert_eq!(undecided(&lab), Some(2), "the number is free again");
    refuses(&lab, gone);
    // A decision about the new run is the last one. It is undone, and the lost one is the last again.
    lab.lab("discard -m third").is(0);
    lab.lab("undo")
        .is(0)
        .says("run 2 of kernel.cu is open again");
    refuses(&lab, gone);
    // The way out that the refusal names.
    lab.lab("restore refs/lab/discarded/2").is(0);
    assert_eq!(lab.read("kernel.cu"), "// worse\n");
    // A journal that was removed, too, does not tell.
    std::fs::remove_file(lab.path(".lab/decide.lock")).unwrap();
    lab.lab("undo")
        .is(0)
        .says("run 1 of kernel.cu is open again");
}

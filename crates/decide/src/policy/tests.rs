//! What may be decided in which case, and what is said where it may not.

mod properties;
mod snapshots;

use super::*;
use crate::rules::{RuleChange, RuleDifference, Rules};
use lab_git::{Obstacle, Operation};
use lab_run::Fingerprint;
use lab_run::inputs::OutsideInclude;
use snapshots::*;
use std::fmt;

fn in_words<T: fmt::Debug>(result: &Result<T, NotAllowed>) -> String {
    match result {
        Ok(what) => format!("{what:?}"),
        Err(why) => format!("{} | {why}", why.hint()),
    }
}

#[track_caller]
fn keep_is(snapshot: &Snapshot, wanted: &str) {
    assert_eq!(in_words(&allowed(snapshot).keep), wanted);
}

#[track_caller]
fn discard_is(snapshot: &Snapshot, wanted: &str) {
    assert_eq!(in_words(&allowed(snapshot).discard), wanted);
}

#[track_caller]
fn undo_is(snapshot: &Snapshot, wanted: &str) {
    assert_eq!(in_words(&allowed(snapshot).undo), wanted);
}

const BUSY: [&str; 3] = [
    "a decision is in progress | a decision is in progress: wait until it is done",
    "a run is starting | a run is starting: wait for its verdict",
    "run 8 in progress | run 8 is in progress: wait for its verdict",
];

#[test]
fn nothing_is_decided_while_the_screen_judges_or_decides() {
    let snapshots = [
        with(|s| s.deciding = true),
        with(|s| s.running = Some(RunInProgress::Starting)),
        with(|s| s.running = Some(RunInProgress::Started(RunId(8)))),
    ];
    for (snapshot, wanted) in snapshots.iter().zip(BUSY) {
        keep_is(snapshot, wanted);
        discard_is(snapshot, wanted);
        undo_is(snapshot, wanted);
    }
}

#[test]
fn a_passing_measured_undecided_run_of_the_present_bytes_is_kept() {
    keep_is(&passed(), "CheckHeldOut");
    keep_is(&with(|s| s.external = true), "Commit");
    keep_is(
        &run(|r| r.held_out = Some((Outcome::Pass, String::new()))),
        "Commit",
    );
    // Bytes that HEAD holds already, and a first kernel.
    keep_is(&with(|s| s.incumbent = Some("new".into())), "CheckHeldOut");
    keep_is(&with(|s| s.incumbent = None), "CheckHeldOut");
    // Only the fingerprint is known, from the watcher.
    keep_is(
        &with(|s| s.present = Ok(Fingerprint("new".into()).into())),
        "CheckHeldOut",
    );
}

#[test]
fn each_thing_that_forbids_a_keep_is_named() {
    keep_is(
        &with(|s| s.candidate = None),
        "needs a verdict | no run yet: `lab run a` first",
    );
    keep_is(
        &run(|r| r.is_check = true),
        "run 7 was a check | run 7 was a check: a check gives no verdict that could be decided",
    );
    keep_is(
        &run(|r| r.kernel = "b.cu".into()),
        "run 7 judged another kernel | run 7 judged b.cu, not kernels/a/kernel.cu: name that kernel",
    );
    let foreign = "run 7 is foreign: judge again | run 7 is foreign: its record was written by somebody else's lab, or was \
                   changed since. Judge the bytes again (`lab run a`)";
    keep_is(&run(|r| r.is_foreign = true), foreign);
    discard_is(&run(|r| r.is_foreign = true), foreign);
    // If the run was decided, the reason names the decision.
    keep_is(
        &run(|r| (r.is_foreign, r.decided) = (true, Some(Status::Keep))),
        "kept already | run 7 was decided already (keep): save a change first",
    );
    keep_is(
        &run(|r| (r.outcome, r.word) = (None, "")),
        "run 7 in progress | run 7 is in progress: wait for its verdict",
    );
    for (outcome, word) in [
        (Outcome::Void, "VOID"),
        (Outcome::Fail, "FAIL"),
        (Outcome::Crash, "BUILD ERROR"),
    ] {
        keep_is(
            &run(|r| (r.outcome, r.word) = (Some(outcome), word)),
            &format!("needs a passing verdict | needs a passing verdict: run 7 came to {word}"),
        );
    }
    keep_is(
        &with(|s| s.present = Err("kernel.cu is empty: nothing to judge".into())),
        "kernel.cu cannot be read | kernel.cu is empty: nothing to judge",
    );
    keep_is(
        &with(newer),
        "kernel.cu is newer than the verdict | kernels/a/kernel.cu changed after the verdict of run 7: judge it \
         first (`lab run a`)",
    );
    keep_is(
        &with(|s| {
            newer(s);
            present(s, |p| p.files[1] = file("problem.toml", "q"));
        }),
        "2 files are newer than the verdict | kernels/a/kernel.cu, problem.toml changed after the verdict of run 7: \
         judge them first (`lab run a`)",
    );
    keep_is(
        &with(|s| s.present = Ok(Fingerprint("newer".into()).into())),
        "kernel.cu is newer than the verdict | kernels/a/kernel.cu changed after the verdict of run 7: judge it \
         first (`lab run a`)",
    );
    keep_is(
        &run(|r| r.decided = Some(Status::Keep)),
        "kept already | run 7 was decided already (keep): save a change first",
    );
    keep_is(
        &run(|r| r.decided = Some(Status::Crash)),
        "discarded already | run 7 was decided already (crash): save a change first",
    );
    for outcome in [Outcome::Fail, Outcome::Crash, Outcome::Void] {
        keep_is(
            &run(|r| r.held_out = Some((outcome, "out is 2, its limit 1".into()))),
            "failed the held-out check | keep refused: out is 2, its limit 1: save a change first. The next keep of this \
             kernel has to pass 8 sealed runs",
        );
    }
    keep_is(
        &run(|r| r.unmeasured = Some("nothing was measured".into())),
        "the run measured nothing | nothing was measured: let the harness print it, then `lab run a`",
    );
    keep_is(
        &with(|s| present(s, |p| p.uncommitted_includes = vec!["a/tile.cuh".into()])),
        "tile.cuh is not committed | a/tile.cuh is not as in HEAD, and an experiment changes kernels/a/kernel.cu \
         alone: commit it yourself first, or put its text into the kernel",
    );
    let outside = |include: &str, is_macro| OutsideInclude {
        file: KERNEL.into(),
        include: include.into(),
        is_macro,
    };
    keep_is(
        &with(|s| present(s, |p| p.outside = vec![outside("/abs/x.h", false)])),
        "x.h is outside of the repository | kernels/a/kernel.cu includes /abs/x.h, which is outside of the repository: \
         copy it into the repository, so that the commit holds what was judged",
    );
    keep_is(
        &with(|s| present(s, |p| p.outside = vec![outside("TILE_H", true)])),
        "kernel.cu includes a file by a macro | kernels/a/kernel.cu includes a file by the macro TILE_H, so lab cannot \
         see which file it is: name the file itself, so that the commit holds what was judged",
    );
    keep_is(
        &with(|s| s.obstacle = Some(Obstacle::Operation(Operation::Bisect))),
        "a bisect is in progress | a bisect is in progress: finish it, or leave it with `git bisect reset`",
    );
    keep_is(
        &with(|s| s.obstacle = Some(Obstacle::Locked("/r/.git/index.lock".into()))),
        "git's index is locked | git's index is locked: another git command is at work; try again when it is done. If \
         none runs, remove /r/.git/index.lock",
    );
    keep_is(
        &with(|s| s.obstacle = Some(Obstacle::NoIdentity)),
        "git does not know your name | git does not know your name: `git config --global user.name \"Your Name\"` and \
         `git config --global user.email you@example.com`",
    );
}

#[test]
fn the_same_keep_is_not_made_twice() {
    let again = || {
        with(|s| {
            s.incumbent = Some("new".into());
            s.kept.push(Kept {
                run: RunId(3),
                commit: "c0ffee0123456789".into(),
                fingerprint: Fingerprint("new".into()),
                device: Some("GPU".into()),
            });
        })
    };
    keep_is(
        &again(),
        "kept already | HEAD holds these bytes already: run 3 kept them as c0ffee0. Save a change first; `lab describe c0ffee0 \
         -m TEXT` changes the description of that keep",
    );
    // Another device, other rules, and bytes that came back after other ones bring a figure of
    // their own.
    let mut other = again();
    other.kept[0].device = Some("cpu".into());
    keep_is(&other, "CheckHeldOut");
    let mut other = again();
    other.kept[0].fingerprint = Fingerprint("by other rules".into());
    keep_is(&other, "CheckHeldOut");
    let mut other = again();
    other.incumbent = Some("in between".into());
    keep_is(&other, "CheckHeldOut");
}

#[test]
fn a_keep_takes_no_change_of_the_rules_along() {
    let changed = |changes: &[(&str, RuleDifference)]| {
        let changes = changes.iter().map(|(path, what)| RuleChange {
            path: (*path).into(),
            what: what.clone(),
        });
        with(|s| present(s, |p| p.rules.changed = changes.collect()))
    };
    let remedy = "and a keep takes no change of the rules along: put the file back, or commit the change on its own \
                  first (`lab rules a -m TEXT`)";
    use RuleDifference::{Content, Gone, Keys, NotInHead};
    let keys = Keys(vec!["compile.options".into(), "measure.same_within".into()]);
    for (changes, wanted) in [
        (
            vec![("a/problem.toml", Content)],
            "problem.toml is not as in HEAD | a/problem.toml is not as in HEAD",
        ),
        (
            vec![("reference.cu", NotInHead)],
            "reference.cu is not as in HEAD | reference.cu is not in HEAD",
        ),
        (
            vec![("reference.cu", Gone)],
            "reference.cu is not as in HEAD | reference.cu is in HEAD and not on disk",
        ),
        (
            vec![("lab.toml", keys.clone())],
            "lab.toml is not as in HEAD | lab.toml is not as in HEAD (compile.options, measure.same_within)",
        ),
        (
            vec![("problem.toml", Content), ("lab.toml", keys)],
            "2 files of the rules are not as in HEAD | problem.toml is not as in HEAD; lab.toml is not as in HEAD \
             (compile.options, measure.same_within)",
        ),
    ] {
        keep_is(&changed(&changes), &format!("{wanted}, {remedy}"));
    }
    // With the first keep of a problem its rules are committed.
    keep_is(
        &with(|s| present(s, |p| p.rules.first = vec!["problem.toml".into()])),
        "CheckHeldOut",
    );
    // A discard commits nothing.
    discard_is(&changed(&[("problem.toml", Content)]), "Run(RunId(7))");
}

#[test]
fn a_check_of_fewer_sealed_runs_than_are_asked_for_is_done_again() {
    let checked = |passed: u32, wanted: u32| {
        with(|s| {
            present(s, |p| p.sealed_runs = wanted);
            s.candidate.iter_mut().for_each(|run| {
                (run.held_out, run.sealed_runs) = (Some((Outcome::Pass, String::new())), passed);
            });
        })
    };
    keep_is(&checked(1, 1), "Commit");
    keep_is(&checked(1, 8), "CheckHeldOut");
    keep_is(&checked(8, 8), "Commit");
}

/// Of bytes that are newer than the verdict nothing else is said; a void verdict is about no bytes
/// at all.
#[test]
fn of_several_reasons_the_one_about_the_bytes_comes_first() {
    let all = |outcome| {
        with(|s| {
            newer(s);
            s.obstacle = Some(Obstacle::NoIdentity);
            s.candidate.iter_mut().for_each(|r| {
                (r.outcome, r.word) = (Some(outcome), "VOID");
                r.decided = Some(Status::Discard);
                r.unmeasured = Some("nothing was measured".into());
            });
        })
    };
    for outcome in [Outcome::Pass, Outcome::Fail, Outcome::Crash] {
        assert!(matches!(
            allowed(&all(outcome)).keep,
            Err(NotAllowed::Changed { .. })
        ));
    }
    assert!(matches!(
        allowed(&all(Outcome::Void)).keep,
        Err(NotAllowed::NoPass { .. })
    ));
    assert!(matches!(
        allowed(&all(Outcome::NotJudged)).keep,
        Err(NotAllowed::NotJudged { .. })
    ));
}

#[test]
fn a_discard_of_the_judged_bytes_asks_nothing() {
    for outcome in [Outcome::Pass, Outcome::Fail, Outcome::Crash] {
        discard_is(&run(|r| r.outcome = Some(outcome)), "Run(RunId(7))");
    }
    // What forbids a keep does not forbid a discard.
    discard_is(
        &with(|s| s.obstacle = Some(Obstacle::NoIdentity)),
        "Run(RunId(7))",
    );
    discard_is(
        &run(|r| r.unmeasured = Some("nothing was measured".into())),
        "Run(RunId(7))",
    );
    assert!(!Discard::Run(RunId(7)).asks());
    assert_eq!(Discard::Run(RunId(7)).question(KERNEL, ""), None);
}

#[test]
fn a_discard_of_more_than_the_judged_bytes_asks_first() {
    let ask = |snapshot: &Snapshot| {
        let discard = allowed(snapshot).discard.expect("allowed");
        assert!(discard.asks());
        discard.question("kernel.cu", " a").expect("a question")
    };
    discard_is(
        &with(newer),
        "AlsoNewer(RunId(7), Changed([\"kernels/a/kernel.cu\"]))",
    );
    assert_eq!(
        ask(&with(newer)),
        "kernels/a/kernel.cu changed after the verdict of run 7: `lab discard a -m TEXT --unjudged` discards run 7 all \
         the same, and saves the present bytes"
    );
    let gone = with(|s| s.present = Err("kernel.cu is not there".into()));
    discard_is(
        &gone,
        "AlsoNewer(RunId(7), Unreadable(\"kernel.cu is not there\"))",
    );
    assert!(ask(&gone).starts_with("kernel.cu is not there: `lab discard a"));

    let unjudged = "Unjudged { running: None, unreadable: false }";
    discard_is(&with(|s| s.candidate = None), unjudged);
    discard_is(&run(|r| r.outcome = Some(Outcome::Void)), unjudged);
    discard_is(
        &run(|r| (r.decided, r.fingerprint) = (Some(Status::Discard), Fingerprint("other".into()))),
        unjudged,
    );
    // The bytes of a decided run are in git, and have their row.
    discard_is(
        &run(|r| r.decided = Some(Status::Discard)),
        "Decided(RunId(7), Discard)",
    );
    discard_is(&run(|r| r.outcome = Some(Outcome::NotJudged)), unjudged);
    let in_progress = run(|r| r.outcome = None);
    discard_is(
        &in_progress,
        "Unjudged { running: Some(RunId(7)), unreadable: false }",
    );
    assert_eq!(
        ask(&in_progress),
        "no verdict belongs to the present bytes of kernel.cu (run 7 is in progress): `lab discard a -m TEXT \
         --unjudged` saves them and puts the incumbent back all the same, without a row"
    );
    let gone = with(|s| (s.candidate, s.present) = (None, Err("kernel.cu is not there".into())));
    discard_is(&gone, "Unjudged { running: None, unreadable: true }");
}

#[test]
fn each_thing_that_forbids_a_discard_is_named() {
    discard_is(
        &with(|s| s.incumbent = None),
        "HEAD does not hold kernel.cu | HEAD does not hold kernels/a/kernel.cu, so there is nothing to put back: keep it \
         first, or delete it yourself",
    );
    discard_is(
        &with(|s| s.incumbent = Some("new".into())),
        "the incumbent's own bytes | run 7 judged the incumbent's own bytes: there is nothing to discard",
    );
    discard_is(
        &with(|s| (s.incumbent, s.candidate) = (Some("new".into()), None)),
        "the incumbent's own bytes | kernels/a/kernel.cu is the incumbent's: there is nothing to discard",
    );
    discard_is(
        &run(|r| r.is_check = true),
        "run 7 was a check | run 7 was a check: a check gives no verdict that could be decided",
    );
    // A verdict on the incumbent's own bytes does not protect newer ones.
    let incumbents = |change: fn(&mut Snapshot)| {
        with(|s| {
            s.incumbent = Some("new".into());
            change(s);
        })
    };
    let unjudged = "Unjudged { running: None, unreadable: false }";
    discard_is(&incumbents(newer), unjudged);
    discard_is(
        &incumbents(|s| s.present = Ok(Fingerprint("newer".into()).into())),
        unjudged,
    );
    discard_is(
        &incumbents(|s| s.present = Err("gone".into())),
        "Unjudged { running: None, unreadable: true }",
    );
    // Only another input is newer.
    discard_is(
        &incumbents(|s| {
            present(s, |p| {
                p.fingerprint = Fingerprint("newer".into());
                p.files[1] = file("problem.toml", "q");
            });
        }),
        "the incumbent's own bytes | kernels/a/kernel.cu is the incumbent's: there is nothing to discard",
    );
    assert!(matches!(
        allowed(&run(|r| r.kernel = "b.cu".into())).discard,
        Err(NotAllowed::OtherKernel { .. })
    ));
}

#[test]
fn the_last_decision_is_undone_until_something_was_built_on_it() {
    for later_work in [LaterWork::Unknown, LaterWork::None] {
        undo_is(&decided(Status::Keep, Some(true), later_work), "()");
    }
    let found = || LaterWork::Found("it was pushed to origin/main".into());
    undo_is(
        &decided(Status::Keep, Some(true), found()),
        "it was pushed to origin/main | run 6 (a1b2c3d, 'two rows') cannot be undone: it was pushed to origin/main",
    );
    // It made no commit, so nothing can be built on one.
    undo_is(&decided(Status::Keep, Some(false), found()), "()");
    for status in [Status::Discard, Status::Crash] {
        undo_is(&decided(status, None, found()), "()");
    }
    undo_is(
        &passed(),
        "nothing was decided yet | nothing was decided about kernels/a/kernel.cu yet",
    );
    for status in [Status::Keep, Status::Discard] {
        let mut foreign = decided(status, Some(true), LaterWork::None);
        foreign
            .last_decision
            .iter_mut()
            .for_each(|last| last.is_foreign = true);
        assert!(
            matches!(
                allowed(&foreign).undo,
                Err(NotAllowed::ForeignDecision { .. })
            ),
            "{status}"
        );
    }
    let mut locked = decided(Status::Discard, None, LaterWork::None);
    locked.obstacle = Some(Obstacle::NoIdentity);
    assert!(matches!(allowed(&locked).undo, Err(NotAllowed::Git(_))));
}

#[test]
fn newer_knowledge_of_the_inputs_replaces_what_was_known_of_older_ones() {
    let mut snapshot = passed();
    snapshot.set_present(Ok(Fingerprint("new".into())));
    assert_eq!(snapshot, passed(), "the same inputs");
    snapshot.set_present(Ok(Fingerprint("newer".into())));
    assert_eq!(snapshot.present, Ok(Fingerprint("newer".into()).into()));
    snapshot.set_present(Err("it is gone".into()));
    assert_eq!(snapshot.present, Err("it is gone".into()));
}

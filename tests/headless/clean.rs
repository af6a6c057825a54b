//! The clean-up of git's loose objects and of the lab's refs keeps every byte.

use crate::lab::{Beside, Lab};
use std::collections::BTreeSet;

fn objects(lab: &Lab) -> BTreeSet<String> {
    lab.git("cat-file --batch-all-objects --batch-check --unordered")
        .lines()
        .map(str::to_owned)
        .collect()
}

fn loose(lab: &Lab) -> usize {
    let counted = lab.git("count-objects");
    counted.split(' ').next().unwrap().parse().unwrap()
}

/// A repository with a kept and a discarded experiment, bytes that were saved, and an object that
/// no ref reaches.
fn with_experiments() -> Lab {
    let lab = Lab::new();
    for (bytes, decision) in [("// better\n", "keep"), ("// worse\n", "discard")] {
        lab.write("kernel.cu", bytes);
        lab.lab("run").is(0);
        lab.lab(&format!("{decision} -m '{}'", bytes.trim())).is(0);
    }
    lab.write("kernel.cu", "// saved\n");
    lab.lab("restore HEAD").is(0);
    lab.sh("echo 'reached by nothing' | git hash-object -w --stdin")
        .is(0);
    lab
}

#[test]
fn every_object_stays_and_the_command_says_what_it_freed() {
    let lab = with_experiments();
    let (before, refs) = (objects(&lab), lab.git("for-each-ref"));
    let count = loose(&lab);
    assert!(count > 10);
    lab.lab("clean")
        .is(0)
        .says(&format!("{count} loose objects of git are in a pack now"))
        .says("MB freed");
    assert_eq!(
        (objects(&lab), lab.git("for-each-ref"), loose(&lab)),
        (before, refs, 0)
    );
    lab.git("fsck --no-dangling");
    lab.lab("clean").is(0).says("0 loose objects");
    lab.lab("restore 2").is(0);
    assert_eq!(lab.read("kernel.cu"), "// worse\n");
}

#[test]
fn several_at_once_wait_for_one_another() {
    let lab = with_experiments();
    let before = objects(&lab);
    for round in 0..8 {
        let more = format!(
            "for at in $(seq 150); do echo blob; echo 'data <<END'; echo {round} $at; echo END; done"
        );
        lab.sh(&format!(
            "({more}) | git -c fastimport.unpackLimit=1000 fast-import --quiet"
        ))
        .is(0);
        let cleaning = [(); 4].map(|()| Beside::spawn(lab.lab_command("clean")));
        for one in cleaning {
            one.finish().is(0).says("No object was removed");
        }
    }
    assert!(objects(&lab).is_superset(&before));
    lab.git("fsck --no-dangling");
}

#[test]
fn a_partial_clone_is_cleaned_too() {
    let lab = with_experiments();
    lab.git("config uploadpack.allowFilter true");
    lab.sh("git clone -q --filter=blob:none file://\"$PWD\" ../clone")
        .is(0);
    lab.sh("cd ../clone && git commit -q --allow-empty -m more && $LAB clean")
        .is(0)
        .says("1 loose objects of git are in a pack now");
}

#[test]
fn a_decision_packs_many_loose_objects() {
    let lab = with_experiments();
    let many =
        "for at in $(seq 6000); do echo blob; echo 'data <<END'; echo object $at; echo END; done";
    lab.sh(&format!(
        "({many}) | git -c fastimport.unpackLimit=100000 fast-import --quiet"
    ))
    .is(0);
    assert!(loose(&lab) > 6000, "{}", loose(&lab));
    let before = objects(&lab);
    lab.write("kernel.cu", "// another\n");
    lab.lab("run").is(0);
    lab.lab("discard -m another")
        .is(0)
        .says("loose objects of git are in a pack now");
    assert!(loose(&lab) < 10);
    assert!(objects(&lab).is_superset(&before));
    lab.lab("undo").is(0);
    assert_eq!(lab.read("kernel.cu"), "// another\n");
}

#[test]
fn a_discard_packs_many_loose_refs_and_each_of_them_stays() {
    let lab = with_experiments();
    let many = "for at in $(seq 100 640); do echo create refs/lab/discarded/$at HEAD; done";
    lab.sh(&format!("{many} | git update-ref --stdin")).is(0);
    let discarded = || lab.git("for-each-ref refs/lab refs/heads");
    let before = discarded();
    assert!(lab.path(".git/refs/lab/discarded/640").exists());
    lab.write("kernel.cu", "// another\n");
    lab.lab("run").is(0);
    lab.lab("discard -m another").is(0);
    assert!(
        !lab.path(".git/refs/lab/discarded").exists(),
        "all of them are packed"
    );
    assert!(
        lab.path(".git/refs/heads/main").exists(),
        "the user's branches stay as they are"
    );
    let after = discarded();
    assert!(
        before.lines().all(|line| after.contains(line))
            && after.lines().count() == before.lines().count() + 1
    );
    for (name, bytes) in [("2", "// worse\n"), ("3", "// another\n")] {
        lab.lab(&format!("restore {name}")).is(0);
        assert_eq!(lab.read("kernel.cu"), bytes);
    }
    lab.lab("undo").is(0).says("discard");
    lab.lab("discard -m again")
        .is(0)
        .says("refs/lab/discarded/3-2");
    assert!(
        lab.path(".git/refs/lab/discarded/3-2").exists(),
        "few of them stay as they are"
    );
    lab.git("fsck --no-dangling --strict");
}

/// As many loose refs as a fetch brings, in a folder of their own.
fn fetched(lab: &Lab) {
    let many =
        "for at in $(seq 600); do echo create refs/lab/fetched/other/discarded/$at HEAD; done";
    lab.sh(&format!("{many} | git update-ref --stdin")).is(0);
}

/// The refs of the lab that are files of their own.
fn loose_refs(lab: &Lab) -> usize {
    let found = lab
        .sh("find .git/refs/lab -type f 2>/dev/null | wc -l")
        .is(0)
        .out;
    found.trim().parse().unwrap()
}

#[test]
fn the_command_packs_the_refs_of_the_lab_and_each_of_them_stays() {
    let lab = with_experiments();
    fetched(&lab);
    let (before, count) = (lab.git("for-each-ref"), loose_refs(&lab));
    assert!(count > 600, "{count}");
    lab.lab("clean")
        .is(0)
        .says(&format!("{count} refs of the lab are in one file now"));
    assert_eq!((lab.git("for-each-ref"), loose_refs(&lab)), (before, 0));
    assert!(
        lab.path(".git/refs/heads/main").exists(),
        "the user's branches stay as they are"
    );
    assert!(!lab.path(".lab/unfinished.json").exists());
    lab.lab("clean").is(0).says("0 refs of the lab");
    let json = lab.lab("clean --json").is(0).json();
    assert_eq!(json["packed_refs"], 0);
}

#[test]
fn a_lock_of_the_users_git_keeps_the_refs_loose_and_the_command_says_so() {
    let lab = with_experiments();
    // As old as a lock that another git has held since before the command.
    lab.sh("touch -d '1 hour ago' .git/packed-refs.lock").is(0);
    let count = loose_refs(&lab);
    lab.lab("clean").is(1).says("packed-refs.lock");
    assert_eq!(loose_refs(&lab), count);
    assert!(
        lab.path(".git/packed-refs.lock").exists(),
        "it is not the lab's"
    );
    assert!(!lab.path(".lab/unfinished.json").exists());
    lab.sh("rm .git/packed-refs.lock").is(0);
    lab.lab("clean")
        .is(0)
        .says(&format!("{count} refs of the lab are in one file now"));
}

#[test]
fn fetched_refs_are_packed_when_they_are_many() {
    let lab = with_experiments();
    let many = "for at in $(seq 600); do echo create refs/lab/discarded/1$at HEAD; done";
    lab.sh(&format!(
        "git clone -q --bare . ../other && cd ../other && ({many}) | git update-ref --stdin"
    ))
    .is(0);
    lab.lab("fetch ../other")
        .is(0)
        .says("refs of the lab are in one file now");
    assert_eq!(loose_refs(&lab), 0);
    let fetched = lab.git("for-each-ref refs/lab/fetched --format='%(refname)'");
    assert!(fetched.lines().count() >= 600, "{fetched}");
}

#[test]
fn the_lock_of_a_git_that_was_killed_with_its_lab_is_removed_and_the_refs_are_packed() {
    let lab = with_experiments();
    fetched(&lab);
    let before = lab.git("for-each-ref");
    // The git program locks the packed refs, and both are killed.
    let real = lab.sh("command -v git").is(0).out;
    let killed =
        "case \"$*\" in *pack-refs*) : > .git/packed-refs.lock; kill -9 $PPID; kill -9 $$;; esac";
    lab.script(
        "../bin/git",
        &format!("{killed}\nexec {} \"$@\"\n", real.trim()),
    );
    let cut_off = lab.lab("clean");
    assert_eq!(cut_off.code, -1, "{cut_off:?}");
    assert!(
        lab.path(".git/packed-refs.lock").exists() && lab.path(".lab/unfinished.json").exists()
    );
    lab.sh("rm ../bin/git").is(0);
    lab.lab("clean")
        .is(0)
        .says("the packing of the refs that an earlier lab began is done");
    assert!(
        !lab.path(".git/packed-refs.lock").exists() && !lab.path(".lab/unfinished.json").exists()
    );
    assert_eq!((lab.git("for-each-ref"), loose_refs(&lab)), (before, 0));
}

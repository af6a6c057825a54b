//! The clean-up of git's loose objects and of the lab's refs keeps every byte.

use crate::lab::Lab;
use std::collections::BTreeSet;

fn objects(lab: &Lab) -> BTreeSet<String> {
    lab.git("cat-file --batch-all-objects --batch-check --unordered").lines().map(str::to_owned).collect()
}

fn loose(lab: &Lab) -> usize {
    let counted = lab.git("count-objects");
    counted.split(' ').next().unwrap().parse().unwrap()
}

/// A repository with a kept and a discarded experiment, bytes that were saved, and an object that no ref reaches.
fn with_experiments() -> Lab {
    let lab = Lab::new();
    for (bytes, decision) in [("// better\n", "keep"), ("// worse\n", "discard")] {
        lab.write("kernel.cu", bytes);
        lab.lab("run").is(0);
        lab.lab(&format!("{decision} -m '{}'", bytes.trim())).is(0);
    }
    lab.write("kernel.cu", "// saved\n");
    lab.lab("restore HEAD").is(0);
    lab.sh("echo 'reached by nothing' | git hash-object -w --stdin").is(0);
    lab
}

#[test]
fn every_object_stays_and_the_command_says_what_it_freed() {
    let lab = with_experiments();
    let (before, refs) = (objects(&lab), lab.git("for-each-ref"));
    let count = loose(&lab);
    assert!(count > 10);
    lab.lab("clean").is(0).says(&format!("{count} loose objects of git are in a pack now")).says("MB freed");
    assert_eq!((objects(&lab), lab.git("for-each-ref"), loose(&lab)), (before, refs, 0));
    lab.git("fsck --no-dangling");
    lab.lab("clean").is(0).says("0 loose objects");
    lab.lab("restore 2").is(0);
    assert_eq!(lab.read("kernel.cu"), "// worse\n");
}

#[test]
fn a_decision_packs_many_loose_objects() {
    let lab = with_experiments();
    let many = "for at in $(seq 6000); do echo blob; echo 'data <<END'; echo object $at; echo END; done";
    lab.sh(&format!("({many}) | git -c fastimport.unpackLimit=100000 fast-import --quiet")).is(0);
    assert!(loose(&lab) > 6000, "{}", loose(&lab));
    let before = objects(&lab);
    lab.write("kernel.cu", "// another\n");
    lab.lab("run").is(0);
    lab.lab("discard -m another").is(0).says("loose objects of git are in a pack now");
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
    assert!(!lab.path(".git/refs/lab/discarded").exists(), "all of them are packed");
    assert!(lab.path(".git/refs/heads/main").exists(), "the user's branches stay as they are");
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
    lab.lab("discard -m again").is(0).says("refs/lab/discarded/3-2");
    assert!(lab.path(".git/refs/lab/discarded/3-2").exists(), "few of them stay as they are");
    lab.git("fsck --no-dangling --strict");
}

//! `lab auto` with commands that leave odd files besides the kernel: each turn keeps them or says why
//! not, and the next turn begins.

use crate::auto_loop::{auto, incumbent_is_back, lab, state};

/// Changes the kernel, and in the first turn does this too.
fn in_first_turn(what: &str) -> String {
    format!("echo \"run slower $LAB_TURN\" >> kernel.cu; [ $LAB_TURN != 1 ] || {{ {what}; }}")
}

#[test]
fn a_folder_in_place_of_a_file_and_a_file_in_place_of_a_folder_are_kept() {
    let lab = lab();
    std::fs::create_dir_all(lab.path("notes/old")).unwrap();
    lab.write("notes/old/a", "a\n");
    lab.git("add notes");
    lab.git("commit -qm notes");
    let line =
        "rm -r harness.py notes; mkdir harness.py; echo x > harness.py/inner; echo y > notes";
    auto(&lab, "--experiments 2", &in_first_turn(line))
        .is(0)
        .says("turn 1: discarded run 1")
        .says("ignored: changed harness.py/inner")
        .says("ignored: changed notes")
        .says("ignored: removed harness.py")
        .says("turn 2: discarded run 2");
    assert_eq!(
        lab.git("ls-tree -r --name-only refs/lab/auto/1"),
        "harness.py/inner\nkernel.cu\nlab.toml\nnotes\n"
    );
    lab.git("fsck --strict --no-dangling");
    incumbent_is_back(&lab);
}

#[test]
fn very_many_files_are_kept_and_counted_and_not_all_are_named() {
    let lab = lab();
    // The names together are longer than the longest commit message that lab reads.
    let line = "mkdir many; cd many; seq -f %0200.0f 6000 | xargs touch";
    auto(&lab, "--experiments 2", &in_first_turn(line))
        .is(0)
        .says("turn 1: discarded run 1")
        .says("turn 2: discarded run 2");
    let kept = lab.git("ls-tree --name-only refs/lab/auto/1:many");
    assert_eq!(kept.lines().count(), 6_000);
    let message = lab.git("log -1 --format=%B refs/lab/auto/1");
    let last = message.trim_end().lines().last().unwrap_or_default();
    assert!(
        last.starts_with("and 5") && last.ends_with(" more"),
        "{last}"
    );
    assert!(message.len() < 100_000, "{}", message.len());
}

#[test]
fn more_files_than_are_kept_are_named_as_not_kept() {
    let lab = lab();
    let line = "mkdir many; cd many; seq -f file-%.0f 11000 | xargs touch; exit 1";
    auto(&lab, "--give-up 1", &in_first_turn(line)).is(4);
    let turn = &state(&lab)["last_turn"];
    let lines = turn["ignored"].as_array().unwrap();
    let last = lines.last().unwrap().as_str().unwrap();
    assert!(
        last.ends_with(" more (1001 of all 11001 are not kept)"),
        "{last}"
    );
    assert_eq!(turn["ignored_ref"], "refs/lab/auto/1");
}

#[test]
fn files_that_git_cannot_hold_are_named_and_the_others_are_kept() {
    let lab = lab();
    let line = "mkdir sub; echo 'gitdir: elsewhere' > sub/.git; echo z > sub/z; mkdir d; cd d\n\
        for at in $(seq 300); do mkdir d; cd d; done; echo deep > deep";
    auto(&lab, "--experiments 2", &in_first_turn(line))
        .is(0)
        .says("64 folders within each other")
        .says("ignored: changed sub/.git (not kept: ")
        .says("turn 2: discarded run 2");
    assert_eq!(
        lab.git("ls-tree -r --name-only refs/lab/auto/1"),
        "harness.py\nkernel.cu\nlab.toml\nsub/z\n"
    );
}

#[test]
fn a_command_that_removes_the_kernel_is_told_so() {
    let lab = lab();
    auto(&lab, "--give-up 1", "rm kernel.cu")
        .is(4)
        .says("its kernel is not taken: the command removed kernel.cu");
}

#[test]
fn a_loop_before_the_first_run_leaves_nothing_in_git_status() {
    let lab = lab();
    auto(&lab, "--give-up 1", "true").is(4);
    assert!(lab.path(".lab").is_dir());
    assert_eq!(lab.git("status --porcelain"), "");
}

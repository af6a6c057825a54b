//! `lab auto` with a command that damages git's files: the loop does not hang, reports the damage,
//! and loses no turn.

use crate::auto_loop::{auto, auto_command, incumbent_is_back, lab, state};
use crate::lab::{Beside, Lab};
use lab_testing::until;
use serde_json::json;
use std::fs;

/// A command that writes a kernel and then runs a shell line in the user's repository.
fn edits_and(lab: &Lab, step: &str) -> String {
    format!(
        "echo \"run slower $LAB_TURN\" >> kernel.cu; echo '{{\"cost\": 2}}' > $LAB_ANSWER; cd '{}'; {step}",
        lab.repo.display()
    )
}

#[test]
fn a_pipe_in_place_of_a_file_of_git_is_named_and_the_kernel_is_judged_once_it_is_gone() {
    for name in ["HEAD", "index", "config", "refs/heads/main"] {
        let lab = lab();
        let file = lab.path(".git").join(name);
        let line = edits_and(
            &lab,
            &format!("[ $LAB_TURN != 1 ] || {{ mv .git/{name} $HOME/file; mkfifo .git/{name}; }}"),
        );
        auto(&lab, "--give-up 2", &line).is(4).says(&format!(
            "gave up: 2 failures in a row, the last: .git/{name} is a pipe or a device"
        ));
        fs::remove_file(&file).unwrap();
        fs::rename(lab.path("../home/file"), &file).unwrap();
        auto(&lab, "--cost 4", &line)
            .is(0)
            .says("turn 1: discarded run 1")
            .says("turn 2: discarded run 2");
        incumbent_is_back(&lab);
    }
}

#[test]
fn an_index_that_was_split_while_the_command_worked_costs_no_turn() {
    let lab = lab();
    let line = edits_and(&lab, "[ $LAB_TURN != 1 ] || git update-index --split-index");
    auto(&lab, "--cost 4", &line)
        .is(0)
        .says("turn 1: discarded run 1")
        .says("turn 2: discarded run 2");
    assert_eq!(state(&lab)["counts"]["cost"], json!(4.0));
    incumbent_is_back(&lab);
}

#[test]
fn what_cannot_be_read_of_git_after_the_command_is_told_and_the_kernel_is_taken() {
    let lab = lab();
    let line = edits_and(
        &lab,
        "[ $LAB_TURN != 1 ] || { mv .git/index $HOME/index; echo garbage > .git/index; }",
    );
    let noticed = "  what changed in your repository while the command worked cannot be told: cannot read git's index";
    auto(&lab, "--experiments 1", &line)
        .is(0)
        .says("turn 1: discarded run 1")
        .says(noticed);
    fs::rename(lab.path("../home/index"), lab.path(".git/index")).unwrap();
    auto(&lab, "--experiments 1", &line)
        .is(0)
        .says("turn 2: discarded run 2");
    incumbent_is_back(&lab);
}

#[test]
fn a_pipe_in_the_repository_of_the_commands_own_work_tree_is_told_and_read_by_nobody() {
    let lab = lab();
    for name in [
        "config",
        "HEAD",
        "refs/heads/mine",
        "objects/info/alternates",
    ] {
        let step = format!("git checkout -qb mine; rm -f .git/{name}; mkfifo .git/{name}");
        let line = format!("echo \"run slower $LAB_TURN\" >> kernel.cu; {step}");
        auto(&lab, "--experiments 1", &line).is(0).says("discarded run ").says(&format!(
            "ignored: the git repository of its work tree is not read: .git/{name} is a pipe or a device"
        ));
    }
    incumbent_is_back(&lab);
}

#[test]
fn a_loop_without_a_commit_in_head_sees_requests_and_its_budget() {
    // With a kernel that has to be judged, and without one.
    for ends in ["true", "exit 1"] {
        let line =
            |lab: &Lab| edits_and(lab, &format!("git update-ref -d refs/heads/main; {ends}"));
        let stopped = lab();
        let head = stopped.head();
        let child = Beside::spawn(auto_command(&stopped, "--give-up 1000000", &line(&stopped)));
        until("it cannot read HEAD", || {
            state(&stopped)["trouble"]
                .as_str()
                .is_some_and(|why| why.starts_with("HEAD is on no commit"))
        });
        stopped.lab("auto stop").is(0);
        child.finish().is(0).says("ended: a person stopped it");
        stopped.git(&format!("update-ref refs/heads/main {head}"));
        incumbent_is_back(&stopped);
        let edits = "echo \"run slower $LAB_TURN\" >> kernel.cu";
        auto(&stopped, "--experiments 1", edits)
            .is(0)
            .says("discarded run 1");

        let spent = lab();
        auto(&spent, "--give-up 1000000 --hours 0.0005", &line(&spent))
            .is(0)
            .says("ended: the budget of 0.0005 hours is spent");
    }
}

#[test]
fn a_loop_that_waits_after_a_failure_sees_a_stop_at_once() {
    let lab = lab();
    // The first wait takes a minute.
    let command = lab.lab_command("auto --back-off 1000 --give-up 1000 -- false");
    let child = Beside::spawn(command);
    until("it waits", || state(&lab)["phase"] == "backing_off");
    lab.lab("auto stop").is(0);
    child.finish().is(0).says("ended: a person stopped it");
}

#[test]
fn the_work_tree_is_used_again_until_more_than_the_kernel_changes() {
    let lab = lab();
    let line = "stat -c '%i %z' harness.py >> $HOME/stamps; cat kernel.cu >> $HOME/kernels; ls >> $HOME/names\n\
        grep more harness.py >> $HOME/names; git config --get own.word >> $HOME/names\n\
        echo \"slower $LAB_TURN\" >> kernel.cu\n\
        case $LAB_TURN in 2) echo more >> harness.py ;; 3) mkdir empty ;; 4) git config own.word more ;;\n\
        6) rm kernel.cu; mkdir kernel.cu ;; esac";
    auto(&lab, "--experiments 6", line)
        .is(0)
        .says("turn 6: failed: its kernel is not taken")
        .says("6 experiments: 0 kept, 6 discarded")
        .says("ignored: changed harness.py");
    let stamps = lab.read("../home/stamps");
    let stamps: Vec<&str> = stamps.lines().collect();
    let is_again: Vec<bool> = stamps.windows(2).map(|two| two[0] == two[1]).collect();
    assert_eq!(
        is_again,
        [true, false, false, false, true, false],
        "{stamps:?}"
    );
    assert_eq!(lab.read("../home/kernels"), "// the first\n".repeat(7));
    let names = lab.read("../home/names");
    assert!(
        !names.contains("empty") && !names.contains("more"),
        "{names}"
    );
}

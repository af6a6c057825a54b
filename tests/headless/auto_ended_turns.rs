//! `lab auto`: turns that a person ends in each of their steps, and a command that starts `lab`
//! itself.

use crate::auto_loop::{auto, auto_command, body, incumbent_is_back, lab, state};
use crate::lab::Beside;
use lab_testing::until;
use serde_json::json;
use std::fs;

#[test]
fn a_command_that_uses_lab_itself_changes_nothing_of_the_loop() {
    let lab = lab();
    // In the command's work tree, which is not trusted, and in the user's, where the incumbent is
    // on disk.
    let own = env!("CARGO_BIN_EXE_lab");
    let kernel = lab.path("kernel.cu");
    let line = format!(
        "echo \"run slower $LAB_TURN\" >> kernel.cu\n{own} run; echo \"own: $?\"\n{own} run '{0}'; echo \"user's: $?\"\n\
         {own} auto --kernel '{0}' --experiments 1 -- true; echo \"second: $?\"",
        kernel.display()
    );
    auto(&lab, "--experiments 1", &line)
        .is(0)
        .says("turn 1: discarded run 2");
    incumbent_is_back(&lab);
    let output = state(&lab)["last_turn"]["output"].to_string();
    for said in [
        "own: 64",
        "user's: 0",
        "works on kernel.cu already",
        "second: 1",
    ] {
        assert!(output.contains(said), "{said}: {output}");
    }
    assert_eq!(lab.rows().len(), 1, "the command's own run decides nothing");
}

#[test]
fn a_turn_that_a_person_ends_is_told_and_the_loop_goes_on() {
    let lab = lab();
    let line = "echo \"run slower $LAB_TURN\" >> kernel.cu; [ $LAB_TURN != 1 ] || { touch $HOME/editing; exec sleep 600; }";
    let child = Beside::spawn(auto_command(&lab, "--experiments 1", line));
    until("the command edits", || lab.path("../home/editing").exists());
    lab.lab("auto pause").is(0);
    lab.lab("auto end-turn")
        .is(0)
        .says("this turn of the loop on kernel.cu ends, and the loop goes on");
    until("the pause that was asked for first", || {
        state(&lab)["phase"] == "paused"
    });
    let counts = &state(&lab)["counts"];
    assert_eq!(
        (&counts["failed"], &counts["failures_in_a_row"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(
        lab.git("show refs/lab/auto/1:kernel.cu"),
        "// the first\nrun slower 1\n"
    );
    lab.lab("auto end-turn")
        .is(1)
        .says("no turn is in progress on kernel.cu");
    lab.lab("auto resume").is(0);
    child
        .finish()
        .is(0)
        .says("turn 1: failed: a person ended the turn")
        .says("turn 2: discarded run 1");
    incumbent_is_back(&lab);
    lab.lab("auto end-turn")
        .is(1)
        .says("no `lab auto` works on kernel.cu: there is nothing to end");
}

#[test]
fn the_kernel_of_a_turn_that_a_person_ends_while_it_is_judged_is_in_git() {
    let lab = lab();
    let quick = lab.read("harness.py");
    lab.harness(&format!(
        "touch $HOME/judging; [ -e $HOME/go ] || exec sleep 600\n{}",
        body(&quick)
    ));
    lab.git("commit -qam 'waits'");
    let line = "[ $LAB_TURN != 2 ] || touch $HOME/go; [ $LAB_TURN = 2 ] || echo mine > notes.txt; echo \"run slower $LAB_TURN\" >> kernel.cu";
    let child = Beside::spawn(auto_command(&lab, "--experiments 1", line));
    until("the harness runs", || lab.path("../home/judging").exists());
    lab.lab("auto end-turn").is(0);
    child
        .finish()
        .is(0)
        .says("turn 1: failed: a person ended the turn")
        .says("turn 2: discarded run");
    incumbent_is_back(&lab);
    // The other files that the command changed have the ref of the turn, and the kernel has the
    // next one.
    assert_eq!(lab.git("show refs/lab/auto/1:notes.txt"), "mine\n");
    assert_eq!(
        lab.git("show refs/lab/auto/1-2:kernel.cu"),
        "// the first\nrun slower 1\n"
    );
    assert_eq!(
        lab.git("for-each-ref refs/lab/auto").lines().count(),
        2,
        "nothing was ended in turn 2"
    );
}

#[test]
fn a_turn_that_is_ended_before_its_kernel_is_on_disk_has_its_kernel_in_git() {
    let lab = lab();
    let line = "echo \"run slower $LAB_TURN\" >> kernel.cu; touch $HOME/editing; while ! [ -e $HOME/go ]; do sleep 0.01; done";
    let child = Beside::spawn(auto_command(&lab, "--experiments 1", line));
    until("the command edits", || lab.path("../home/editing").exists());
    // Another process decides: the loop waits before it puts the kernel on disk.
    let held = fs::File::options()
        .append(true)
        .create(true)
        .open(lab.path(".lab/decide.lock"))
        .unwrap();
    held.lock().unwrap();
    lab.write("../home/go", "");
    until("the kernel is taken", || {
        !state(&lab)["candidate"].is_null()
    });
    lab.lab("auto end-turn").is(0);
    assert_eq!(lab.read("kernel.cu"), "// the first\n");
    drop(held);
    child
        .finish()
        .is(0)
        .says("turn 1: failed: a person ended the turn")
        .says("turn 2: discarded run");
    assert_eq!(
        lab.git("show refs/lab/auto/1:kernel.cu"),
        "// the first\nrun slower 1\n"
    );
    assert_eq!(
        lab.git("for-each-ref refs/lab/auto").lines().count(),
        1,
        "turn 2 was not ended"
    );
}

#[test]
fn a_turn_that_is_ended_while_the_command_has_changed_nothing_leaves_no_ref() {
    let lab = lab();
    let line = "[ $LAB_TURN = 2 ] || { touch $HOME/editing; exec sleep 600; }; echo 'run slower' >> kernel.cu";
    let child = Beside::spawn(auto_command(&lab, "--experiments 1", line));
    until("the command works", || lab.path("../home/editing").exists());
    lab.lab("auto end-turn").is(0);
    child
        .finish()
        .is(0)
        .says("turn 1: failed: a person ended the turn")
        .says("turn 2: discarded run 1");
    assert_eq!(lab.git("for-each-ref refs/lab/auto"), "");
}

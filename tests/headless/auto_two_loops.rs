//! `lab auto`: only one loop works on a kernel, even if somebody removes its lock and state.

use crate::auto_loop::{auto, auto_command, incumbent_is_back, lab, state};
use crate::lab::{Beside, Lab};
use lab_testing::until;
use std::fs::{self, File};

/// Starts a loop whose command edits and then waits until the file `go` is there. The command notes
/// that it runs in `at`.
fn waits_in(lab: &Lab, at: &str, go: &str) -> Beside {
    let line = format!(
        "echo \"run slower {at} $LAB_TURN\" >> kernel.cu; touch $HOME/{at}; while ! [ -e $HOME/{go} ]; do sleep 0.01; done"
    );
    let child = Beside::spawn(auto_command(lab, "--experiments 1", &line));
    until("the command edits", || {
        lab.path(&format!("../home/{at}")).exists()
    });
    child
}

#[test]
fn a_second_loop_is_refused_while_the_command_of_the_first_one_works_although_lab_was_removed() {
    let lab = lab();
    let first = waits_in(&lab, "first", "go");
    // As `git clean -fdx` does.
    fs::remove_dir_all(lab.path(".lab")).unwrap();
    auto(&lab, "", "true")
        .is(1)
        .says("a `lab auto` works on kernel.cu already");
    lab.write("../home/go", "");
    first.finish().is(0).says("turn 1: discarded run 1");
    assert!(
        lab.rows()[0].contains("lab auto, turn 1"),
        "{:?}",
        lab.rows()
    );
    incumbent_is_back(&lab);
}

#[test]
fn a_loop_whose_locks_were_removed_ends_where_another_one_has_begun() {
    let lab = lab();
    let first = waits_in(&lab, "first", "go");
    fs::remove_dir_all(lab.path(".lab")).unwrap();
    fs::remove_dir_all(lab.path("../state/auto")).unwrap();
    let second = waits_in(&lab, "second", "on");
    lab.write("../home/go", "");
    first
        .finish()
        .is(1)
        .says("somebody removed the files of this loop: a `lab auto` works on kernel.cu already (process ");
    lab.write("../home/on", "");
    second.finish().is(0).says("turn 1: discarded run 1");
    assert_eq!(lab.rows().len(), 1, "one loop decides");
    incumbent_is_back(&lab);
}

#[test]
fn a_run_of_a_screen_that_is_withdrawn_does_not_hide_an_experiment_from_the_budget() {
    let lab = lab();
    lab.lab("run");
    let auto = waits_in(&lab, "first", "go");
    // A screen begins a run, which keeps its log locked.
    let folder = lab.path(".lab/runs/2");
    fs::create_dir(&folder).unwrap();
    let log = File::create(folder.join("run.log")).unwrap();
    log.lock().unwrap();
    let mut record: serde_json::Value =
        serde_json::from_str(&lab.read(".lab/runs/1/record.json")).unwrap();
    (record["id"], record["verdict"]) = (2.into(), serde_json::Value::Null);
    lab.write(".lab/runs/2/record.json", record.to_string());
    // The loop puts its kernel on disk once nobody decides. Until then the screen withdraws its run.
    let deciding = File::options()
        .append(true)
        .create(true)
        .open(lab.path(".lab/decide.lock"))
        .unwrap();
    deciding.lock().unwrap();
    lab.write("../home/go", "");
    until("the loop has the kernel", || {
        state(&lab)["phase"] == "judging"
    });
    fs::remove_dir_all(&folder).unwrap();
    drop((log, deciding));
    auto.finish()
        .is(0)
        .says("turn 1: discarded run 2")
        .says("the budget of 1 experiments is spent");
    assert_eq!(lab.rows().len(), 1, "{:?}", lab.rows());
}

//! `lab auto`: signals and kills while the command edits, the end of a budget during a turn, and a
//! bounded use of the disk.

use crate::auto_loop::{auto, auto_command, goes_on, incumbent_is_back, lab, state, waiting};
use crate::lab::{Beside, Lab};
use lab_testing::until;
use rustix::process::Signal;
use std::fs;

/// The kernel that the first turn's command had written when it was ended is in git, and the state
/// names its ref.
#[track_caller]
fn half_done_edit_is_kept(lab: &Lab) {
    assert_eq!(
        lab.git("show refs/lab/auto/1:kernel.cu"),
        "// the first\nrun quick 1\n"
    );
    let last = &state(lab)["last_turn"];
    assert_eq!(
        (&last["turn"], &last["ignored_ref"]),
        (&1.into(), &"refs/lab/auto/1".into())
    );
    assert_eq!(last["ignored"][0], "changed kernel.cu");
    assert_eq!(lab.git("for-each-ref refs/lab/auto").lines().count(), 1);
}

#[test]
fn what_a_command_had_done_when_a_signal_ended_the_loop_is_kept() {
    let lab = lab();
    let child = waiting(&lab);
    child.signal(Signal::TERM);
    child.finish().is(143);
    half_done_edit_is_kept(&lab);
    lab.lab("auto status")
        .is(0)
        .says("last: turn 1: failed: the loop was ended while the command edited");
    goes_on(&lab, "echo \"run slower $LAB_TURN\" >> kernel.cu");
}

#[test]
fn what_a_command_had_done_when_the_loop_was_killed_is_kept_by_the_next_loop() {
    let lab = lab();
    let child = waiting(&lab);
    child.kill();
    // Killed while libgit2 wrote an object.
    let half = lab.path(".git/objects/tmp_object_git2_aaaaaa");
    fs::write(&half, "half").unwrap();
    auto(&lab, "--experiments 1", "exit 1; ")
        .is(4)
        .says("turn 1: failed: the loop was ended while the command edited");
    assert!(!half.exists(), "the next loop removes it");
    assert_eq!(
        lab.git("show refs/lab/auto/1:kernel.cu"),
        "// the first\nrun quick 1\n"
    );
    assert_eq!(
        lab.git("for-each-ref refs/lab/auto").lines().count(),
        1,
        "once, and not at each start"
    );
    goes_on(&lab, "echo \"run slower $LAB_TURN\" >> kernel.cu");
    assert_eq!(lab.git("for-each-ref refs/lab/auto").lines().count(), 1);
}

#[test]
fn a_second_signal_ends_a_loop_that_waits_and_the_next_one_completes_its_decision() {
    let lab = lab();
    let held = fs::File::options()
        .append(true)
        .create(true)
        .open(lab.path("results.tsv"))
        .unwrap();
    held.lock().unwrap();
    let line = "echo \"run slower $LAB_TURN\" >> kernel.cu";
    let child = Beside::spawn(auto_command(&lab, "--experiments 2", line));
    until("the decision waits for the ledger", || {
        lab.path(".lab/unfinished.json").exists()
            && !lab.git("for-each-ref refs/lab/discarded").is_empty()
    });
    // Two different signals, which the kernel does not merge into one.
    child.signal(Signal::INT);
    child.signal(Signal::TERM);
    let ended = child.finish();
    assert!(matches!(ended.code, 130 | 143), "{ended:?}");
    assert!(
        lab.path(".lab/unfinished.json").exists(),
        "it did not wait for the decision"
    );
    drop(held);
    goes_on(&lab, line);
}

#[test]
fn a_turn_in_which_the_hours_are_spent_is_completed() {
    let lab = lab();
    // 0.36 s, during which the command sleeps.
    let line = "end=$(($(date +%s%N) + 400000000)); while [ $(date +%s%N) -lt $end ]; do :; done; echo 'run quick' >> kernel.cu";
    auto(&lab, "--hours 0.0001", line)
        .is(0)
        .says("turn 1: kept run 1")
        .says("ended: the budget of 0.0001 hours is spent");
    assert_eq!(lab.rows().len(), 1);
    incumbent_is_back(&lab);
}

#[test]
fn old_logs_of_discarded_runs_are_cut_and_the_use_of_the_disk_is_told() {
    let lab = lab();
    let rest = lab.read("harness.py");
    lab.harness(&format!("yes a-line-of-the-log | head -c 70000\n{rest}"));
    lab.write(
        "kernel.cu",
        "int rows = 8; int columns = 16; int slower = 32; // slower\n",
    );
    lab.git("commit -qam 'a long log'");
    let line = "echo \"int turn_$LAB_TURN; // slower\" >> kernel.cu";
    auto(&lab, "--experiments 120", line)
        .is(0)
        .says("120 experiments: 0 kept, 120 discarded");
    let log = |run: u32| lab.read(&format!(".lab/runs/{run}/run.log"));
    assert!(log(1).len() < 66_000, "{}", log(1).len());
    assert!(log(1).contains("bytes are left out here: the run is an old one of lab auto"));
    assert!(log(1).contains("correctness: pass"), "the end stays");
    assert!(log(60).len() > 70_000);
    let cleaned = state(&lab)["cleaned"].as_u64().unwrap();
    assert!((1..=20).contains(&cleaned), "{cleaned}");
    // Every kernel is in git.
    assert_eq!(
        lab.git("for-each-ref refs/lab/discarded").lines().count(),
        120
    );
    let status = lab.lab("auto status --json").is(0).json();
    assert!(status["disk"]["runs_bytes"].as_u64().unwrap() > 120 * 70_000);
    assert!(status["disk"]["git_bytes"].as_u64().unwrap() > 0);
    lab.lab("auto status")
        .is(0)
        .says("on disk: ")
        .says("MB in .lab/runs");
    lab.lab("log").is(0);
}

#[test]
fn files_besides_the_kernel_are_kept_until_there_is_no_room_for_them() {
    let lab = lab();
    auto(
        &lab,
        "--experiments 1",
        "echo 'run slower' >> kernel.cu; echo small > small.txt",
    )
    .is(0);
    let folder = fs::read_dir(lab.path(".lab/auto"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    assert_eq!(fs::read_to_string(folder.join("kept_bytes")).unwrap(), "6");
    fs::write(folder.join("kept_bytes"), (1u64 << 30).to_string()).unwrap();
    let line = "head -c 20000 /dev/zero > large.bin; echo small > small.txt; echo 'run half' >> kernel.cu; exit 1";
    auto(&lab, "--give-up 1", line)
        .is(4)
        .says("ignored: changed large.bin (not kept: 20000 bytes, and there is room for 16384)");
    assert_eq!(lab.git("show refs/lab/auto/2:small.txt"), "small\n");
    assert_eq!(
        lab.git("show refs/lab/auto/2:kernel.cu"),
        "// the first\nrun half\n"
    );
}

#[test]
fn a_row_that_could_not_be_written_is_written_by_a_later_turn() {
    let lab = lab();
    std::os::unix::fs::symlink("nowhere", lab.path("results.tsv")).unwrap();
    let line = "echo \"run slower $LAB_TURN\" >> kernel.cu";
    auto(&lab, "--experiments 1", line)
        .is(0)
        .says("turn 1: discarded run 1");
    fs::remove_file(lab.path("results.tsv")).unwrap();
    assert_eq!(
        lab.lab("log --json").is(0).json()["problems"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    auto(&lab, "--experiments 1", line)
        .is(0)
        .says("turn 2: discarded run 2");
    assert_eq!(lab.rows().len(), 2);
    let log = lab.lab("log --json").is(0).json();
    assert_eq!(
        (
            &log["problems"],
            log["experiments"].as_array().unwrap().len()
        ),
        (&serde_json::json!([]), 2)
    );
}

#[test]
fn the_first_failure_of_a_loop_that_is_started_again_is_said_and_no_turn_twice() {
    let lab = lab();
    let line = "echo \"run slower $LAB_TURN\" >> kernel.cu";
    auto(&lab, "--experiments 1", line)
        .is(0)
        .says("turn 1: discarded run 1");
    // The next work tree cannot be prepared.
    let mut found = fs::read_dir(lab.path("../state/auto"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let folder = found.find(|path| path.is_dir()).unwrap();
    fs::create_dir_all(folder.join("tree.base/mine")).unwrap();
    let ended = auto(&lab, "--give-up 2", line)
        .is(4)
        .says("waiting after a failure: cannot prepare the work tree");
    assert!(!ended.out.contains("turn 1:"), "{ended:?}");
}

#[test]
fn a_state_that_a_power_cut_left_empty_is_none() {
    let lab = lab();
    let line = "echo \"run slower $LAB_TURN\" >> kernel.cu";
    for left in [&b""[..], &[0; 512]] {
        auto(&lab, "--experiments 1", line).is(0);
        let folder = fs::read_dir(lab.path(".lab/auto"))
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        fs::write(folder.join("state.json"), left).unwrap();
        lab.lab("auto status")
            .is(0)
            .says("no `lab auto` has worked on kernel.cu yet");
    }
    auto(
        &lab,
        "--experiments 1",
        "echo 'run slower, too' >> kernel.cu",
    )
    .is(0)
    .says("turn 1: discarded run ");
    incumbent_is_back(&lab);
}

#[test]
fn what_was_removed_while_the_command_worked_is_told_as_it_is() {
    let lab = lab();
    let edits = |step: &str| {
        format!(
            "echo \"run slower $LAB_TURN $(date +%N)\" >> kernel.cu; cd '{}'; {step}",
            lab.repo.display()
        )
    };
    auto(&lab, "--experiments 1", &edits("true")).is(0);
    let ended = auto(&lab, "--experiments 1", &edits("rm -r .lab/auto")).is(0);
    let ended = ended
        .says("/.lab/auto/")
        .says(" was removed while the command worked, with the loop's files, which it makes again");
    assert!(!ended.out.contains("records"), "{ended:?}");
    auto(&lab, "--experiments 1", &edits("rm -r .lab/runs"))
        .is(0)
        .says("/.lab/runs was removed while the command worked, with the records of earlier runs; ledger and git have what was decided");
    auto(&lab, "--experiments 1", &edits("rm -r .lab"))
        .is(0)
        .says("/.lab was removed while the command worked, with the records of earlier runs; ledger and git have what was decided");
    incumbent_is_back(&lab);
}

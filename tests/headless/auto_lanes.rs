//! `lab auto --lanes`: loops side by side, each with a work tree, a branch and an incumbent of its
//! own, and one history.

use crate::auto_loop::lab;
use crate::built_in::rmsnorm;
use crate::lab::{Beside, CommandOutput, Lab};
use lab_testing::until;
use rustix::process::Signal;
use std::fs;
use std::process::Command;

/// The first device's lane makes faster kernels, the other one slower ones.
const LINE: &str = "case $LAB_DEVICE in cuda:0) word=quick ;; *) word=slower ;; esac\n\
    echo \"run $word $LAB_TURN\" >> kernel.cu";

fn command(lab: &Lab, options: &str, line: &str) -> Command {
    let mut command = lab.lab_command(&format!(
        "auto --lanes cuda:0,cuda:1 --back-off 0.001 {options} -- sh -c"
    ));
    command.arg(line);
    command
}

fn start(lab: &Lab, options: &str, line: &str) -> Beside {
    Beside::spawn(command(lab, options, line))
}

fn lanes(lab: &Lab, options: &str, line: &str) -> CommandOutput {
    start(lab, options, line).finish()
}

#[test]
fn two_lanes_have_a_branch_and_an_incumbent_each_and_one_history() {
    let lab = lab();
    let head = lab.head();
    lanes(&lab, "--experiments 2", LINE)
        .is(0)
        .says("on the branch lane/repo-cuda-0")
        .says("cuda:0: turn 2: kept run ")
        .says("cuda:1: turn 2: discarded run ")
        .says("cuda:0: 2 experiments: 2 kept, 0 discarded")
        .says("cuda:1: 2 experiments: 0 kept, 2 discarded");
    // The work tree of the user is as it was.
    assert_eq!(
        (lab.head(), lab.read("kernel.cu")),
        (head.clone(), "// the first\n".to_owned())
    );
    assert_eq!(lab.git("status --porcelain --untracked-files=no"), "");
    // A branch and an incumbent each.
    assert_eq!(
        lab.git("show lane/repo-cuda-0:kernel.cu"),
        "// the first\nrun quick 1\nrun quick 2\n"
    );
    assert_eq!(lab.git("rev-parse lane/repo-cuda-1").trim(), head);
    for lane in ["repo-cuda-0", "repo-cuda-1"] {
        let tree = lab.path(&format!(".lab/lanes/{lane}"));
        assert_eq!(
            lab.git(&format!("-C {} status --porcelain", tree.display())),
            "",
            "{lane}"
        );
        assert!(!tree.join(".lab").exists() && !tree.join("results.tsv").exists());
    }
    // One history: the four runs have the numbers 1 to 4, and a row each.
    assert_eq!(lab.rows().len(), 4);
    let log = lab.lab("log --json").is(0).json();
    let mut runs: Vec<u64> = log["experiments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|e| e["run"].as_u64().unwrap())
        .collect();
    runs.sort_unstable();
    assert_eq!(runs, [1, 2, 3, 4]);
    // Each lane goes on where it was, and the command reports both.
    lanes(&lab, "--experiments 1", LINE)
        .is(0)
        .says("cuda:0: turn 3: kept run ")
        .says("cuda:1: turn 3: discarded run ");
    lab.lab("auto status")
        .is(0)
        .says("lane repo-cuda-0")
        .says("ended after turn 3")
        .says("lane repo-cuda-1");
    let status = lab.lab("auto status --json").is(0).json();
    assert_eq!(
        (
            &status["running"],
            status["lanes"].as_array().unwrap().len()
        ),
        (&false.into(), 2)
    );
    assert_eq!(status["lanes"][0]["state"]["counts"]["kept"], 1);
    // The keeps of the other lane are not in this one.
    assert!(
        status["lanes"][0]["state"]["best"]["run"].is_u64(),
        "{status}"
    );
    assert!(status["lanes"][1]["state"]["best"].is_null(), "{status}");
}

#[test]
fn a_lane_has_the_line_endings_of_the_settings_that_the_environment_names() {
    let lab = lab();
    lab.write(
        "../elsewhere",
        "[user]\nname = Ada\nemail = ada@example.com\n[core]\nautocrlf = true\n",
    );
    lab.write(".gitattributes", "harness.py -text\n");
    lab.git("add .gitattributes");
    lab.git("commit -qm attributes");
    let mut command = command(&lab, "--experiments 1", LINE);
    command.env("GIT_CONFIG_GLOBAL", lab.path("../elsewhere"));
    Beside::spawn(command)
        .finish()
        .is(0)
        .says("cuda:0: turn 1: kept run ");
    assert_eq!(
        lab.read(".lab/lanes/repo-cuda-1/kernel.cu"),
        "// the first\r\n"
    );
}

#[test]
fn the_same_bytes_in_two_lanes_are_judged_on_both_devices() {
    let lab = lab();
    lanes(&lab, "--experiments 1", "echo 'run quick' >> kernel.cu")
        .is(0)
        .says("cuda:0: turn 1: kept run ")
        .says("cuda:1: turn 1: kept run ");
    for lane in ["lane/repo-cuda-0", "lane/repo-cuda-1"] {
        assert_eq!(
            lab.git(&format!("show {lane}:kernel.cu")),
            "// the first\nrun quick\n"
        );
    }
    assert_eq!(lab.rows().len(), 2);
}

#[test]
fn requests_and_signals_reach_all_lanes_and_a_lane_that_was_killed_goes_on() {
    let lab = lab();
    let line = "touch $HOME/editing-$LAB_DEVICE; echo \"run slower $LAB_TURN on $LAB_DEVICE\" >> kernel.cu\n\
        while ! [ -e $HOME/go ]; do sleep 0.01; done";
    let edits = |lab: &Lab| {
        until("both lanes edit", || {
            ["cuda:0", "cuda:1"]
                .iter()
                .all(|device| lab.path(&format!("../home/editing-{device}")).exists())
        });
    };
    let child = start(&lab, "--keep-shorter", line);
    edits(&lab);
    child.kill();
    lab.lab("auto status")
        .is(0)
        .says("killed in turn 1; the next `lab auto` goes on from there");
    let child = start(&lab, "", line);
    // The turn in which they were killed is the first.
    let phases = |lab: &Lab, wanted: &str| {
        let status = lab.lab("auto status --json").is(0).json();
        status["lanes"]
            .as_array()
            .unwrap()
            .iter()
            .all(|lane| lane["state"]["phase"] == wanted && lane["state"]["turn"] == 2)
    };
    until("both lanes edit again", || phases(&lab, "editing"));
    // A request in the folder of a lane is for that lane.
    let status = lab
        .lab("auto status .lab/lanes/repo-cuda-0/kernel.cu")
        .is(0);
    assert!(
        status.out.contains("turn 2") && !status.out.contains("lane repo"),
        "{}",
        status.out
    );
    lab.lab("auto pause").is(0);
    fs::write(lab.path("../home/go"), "").unwrap();
    until("both lanes are paused", || phases(&lab, "paused"));
    assert_eq!(lab.rows().len(), 2);
    child.signal(Signal::TERM);
    child
        .finish()
        .is(143)
        .says("cuda:0: ended by a signal")
        .says("cuda:1: ended by a signal");
    lab.lab("auto --lanes cuda:0,cuda:0 -- true")
        .is(64)
        .says("--lanes names cuda:0 twice");
}

#[test]
fn a_decision_that_a_lane_has_begun_is_completed_in_that_lane() {
    let lab = lab();
    let held = fs::File::options()
        .append(true)
        .create(true)
        .open(lab.path("results.tsv"))
        .unwrap();
    held.lock().unwrap();
    let child = start(
        &lab,
        "--experiments 1",
        "echo \"run quick on $LAB_DEVICE\" >> kernel.cu",
    );
    let begun = ["repo-cuda-0", "repo-cuda-1"].map(|lane| format!(".lab/unfinished-{lane}.json"));
    until(
        "a lane decides, and the other one has taken its kernel",
        || {
            let status = lab.lab("auto status --json").is(0).json();
            let lanes = status["lanes"].as_array().unwrap();
            begun.iter().any(|file| lab.path(file).exists())
                && lanes.len() == 2
                && lanes
                    .iter()
                    .all(|lane| !lane["state"]["candidate"].is_null())
        },
    );
    child.kill();
    drop(held);
    // A command beside the lanes leaves an unfinished decision of a lane to that lane.
    let head = lab.head();
    lab.lab("run").is(0);
    assert!(begun.iter().any(|file| lab.path(file).exists()));
    let ended = lanes(&lab, "--experiments 1", LINE).is(0);
    let left = begun
        .iter()
        .find_map(|file| fs::read_to_string(lab.path(file)).ok());
    assert_eq!(left, None, "{ended:?}");
    assert_eq!(
        (lab.head(), lab.read("kernel.cu")),
        (head, "// the first\n".to_owned())
    );
    for device in [0, 1] {
        let kernel = lab.git(&format!("show lane/repo-cuda-{device}:kernel.cu"));
        assert_eq!(
            kernel,
            format!("// the first\nrun quick on cuda:{device}\n")
        );
    }
}

#[test]
fn the_log_of_an_old_run_is_cut_once_for_all_lanes() {
    let lab = lab();
    let rest = lab.read("harness.py");
    lab.harness(&format!("yes a-line-of-the-log | head -c 70000\n{rest}"));
    lab.write(
        "kernel.cu",
        "int rows = 8; int columns = 16; int tile = 32; // slower\n",
    );
    lab.git("commit -qam 'a long log'");
    let line = "echo \"int turn_$LAB_TURN; // slower on $LAB_DEVICE\" >> kernel.cu";
    lanes(&lab, "--experiments 80", line).is(0);
    let status = lab.lab("auto status --json").is(0).json();
    let cleaned: Vec<u64> = status["lanes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|lane| lane["state"]["cleaned"].as_u64().unwrap())
        .collect();
    let last = *cleaned.iter().max().unwrap();
    assert!((1..=60).contains(&last), "{cleaned:?}");
    for run in 1..=160 {
        let length = lab.read(&format!(".lab/runs/{run}/run.log")).len();
        assert_eq!(length < 66_000, run <= last, "run {run}: {length} bytes");
    }
}

#[test]
fn a_request_or_an_edit_in_the_folder_of_a_lane_is_about_that_lane_alone() {
    let lab = lab();
    let line = "echo \"run slower $LAB_TURN on $LAB_DEVICE\" >> kernel.cu; echo $LAB_TURN > $HOME/editing-$LAB_DEVICE\n\
        while ! [ -e $HOME/go-$LAB_DEVICE-$LAB_TURN ]; do sleep 0.01; done";
    let go = |device: &str, turn: u32| lab.write(&format!("../home/go-{device}-{turn}"), "");
    let kernel = |lane: u32| format!(".lab/lanes/repo-cuda-{lane}/kernel.cu");
    let lane = |lane: u32| {
        lab.lab(&format!("auto status --json {}", kernel(lane)))
            .is(0)
            .json()["state"]
            .clone()
    };
    let is_in = |at: u32, phase: &str, turn: u32| {
        until(&format!("lane {at}: {phase} in turn {turn}"), || {
            let state = lane(at);
            state["phase"] == phase && state["turn"] == turn
        });
    };
    let edits = |device: &str, turn: u32| {
        until("the command edits", || {
            fs::read_to_string(lab.path(&format!("../home/editing-{device}")))
                .is_ok_and(|text| text.trim() == turn.to_string())
        });
    };
    let child = start(&lab, "", line);
    edits("cuda:0", 1);
    edits("cuda:1", 1);
    // The first lane pauses after its turn. The other lane's turn is ended, and its kernel is in
    // git.
    lab.lab(&format!("auto pause {}", kernel(0))).is(0);
    go("cuda:0", 1);
    is_in(0, "paused", 1);
    lab.lab(&format!("auto end-turn {}", kernel(1))).is(0);
    edits("cuda:1", 2);
    assert_eq!(
        (&lane(1)["counts"]["failed"], &lane(0)["counts"]["failed"]),
        (&1.into(), &0.into())
    );
    let ended = lab.git("show refs/lab/auto/repo-cuda-1/1:kernel.cu");
    assert_eq!(ended, "// the first\nrun slower 1 on cuda:1\n");
    // A person takes the first lane over, and hands it back.
    lab.write(&kernel(0), "run by hand slower\n");
    lab.lab(&format!("auto resume {}", kernel(0))).is(0);
    is_in(0, "waiting_for_person", 1);
    go("cuda:1", 2);
    edits("cuda:1", 3);
    assert_eq!(
        lab.read(&kernel(0)),
        "run by hand slower\n",
        "the other lane went on, and this edit stays"
    );
    lab.lab(&format!("run --decide -m 'by hand' {}", kernel(0)))
        .is(11);
    edits("cuda:0", 2);
    lab.lab("auto stop").is(0);
    go("cuda:0", 2);
    go("cuda:1", 3);
    child
        .finish()
        .is(0)
        .says("cuda:0: paused")
        .says("cuda:0: waiting: ")
        .says("cuda:0: 2 experiments: 0 kept, 2 discarded")
        .says("cuda:1: turn 1: failed: a person ended the turn")
        .says("cuda:1: 2 experiments: 0 kept, 2 discarded");
    assert_eq!(lab.rows().len(), 5);
}

/// No machine has so many GPUs; most that run this test have none.
#[test]
fn a_loop_for_a_device_that_is_not_there_leaves_nothing() {
    let lab = rmsnorm();
    lab.lab("auto --lanes cuda:98,cuda:99 -- true").is(64);
    lab.lab("auto --device cuda:98 -- true").is(64);
    assert_eq!(lab.git("branch --list lane/*"), "");
    assert!(!lab.path(".lab/lanes").exists());
    lab.lab("auto status")
        .is(0)
        .says("no `lab auto` has worked");
}

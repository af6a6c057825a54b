//! No process is left, however a run or the lab ends.

use crate::lab::{Lab, finish};
use lab_testing::until;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

/// A harness that starts a child, writes both ids to a file, and waits for ever.
const STUBBORN: &str = "trap '' TERM HUP INT\nsh -c 'trap \"\" TERM HUP INT; echo $$ >> pids; while :; do sleep 1000; done' &\necho $$ >> pids\necho ready\nwhile :; do sleep 1000; done";

fn start(lab: &Lab) -> (std::process::Child, Vec<Pid>) {
    lab.harness(STUBBORN);
    let child = lab.lab_command("run").spawn().unwrap();
    let pids = || std::fs::read_to_string(lab.path("pids")).unwrap_or_default();
    until("the harness and its child run", || {
        pids().lines().count() == 2
    });
    let pids = pids()
        .lines()
        .map(|l| Pid::from_raw(l.parse().unwrap()).unwrap())
        .collect();
    (child, pids)
}

/// A zombie that is not yet reaped does not count as running.
fn runs(pid: Pid) -> bool {
    let stat =
        std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).unwrap_or_default();
    test_kill_process(pid).is_ok() && !stat.contains(") Z ")
}

#[test]
fn sigkill_of_the_lab_ends_its_harness_and_the_kernel_is_not_blamed() {
    let lab = Lab::new();
    let (child, pids) = start(&lab);
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    finish(child);
    until("the harness is gone", || !pids.iter().any(|pid| runs(*pid)));
    lab.lab("keep -m x")
        .is(1)
        .says("the present bytes of kernel.cu were not judged: `lab run` judges them");
    lab.write("kernel.cu", "// newer\n");
    lab.lab("discard -m x")
        .is(1)
        .says("no verdict belongs to the present bytes of kernel.cu");
    lab.passing(7.0);
    let next = lab.lab("run --json").is(0).json();
    assert_eq!(next["run"], 2);
}

#[test]
fn ctrl_c_and_friends_end_the_run() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let lab = Lab::new();
        let (child, pids) = start(&lab);
        kill_process(Pid::from_child(&child), signal).unwrap();
        finish(child).is(3).says("VOID");
        until("the harness is gone", || !pids.iter().any(|pid| runs(*pid)));
    }
}

#[test]
fn a_child_that_outlives_its_harness_holds_nothing_up() {
    let lab = Lab::new();
    lab.harness("echo 'correctness: pass'; echo 'throughput_sps: 5'; sleep 1000 & echo $! > pids");
    lab.lab("run").is(0);
    let pid = Pid::from_raw(lab.read("pids").trim().parse().unwrap()).unwrap();
    until("the child is gone", || !runs(pid));
}

#[test]
fn one_that_left_the_group_and_holds_the_pipe_ends_with_its_harness() {
    let lab = Lab::new();
    lab.harness("echo 'correctness: pass'; echo 'throughput_sps: 5'; setsid sh -c 'echo $$ > pids; exec sleep 1000' & until [ -s pids ]; do :; done");
    lab.lab("run").is(0);
    let pid = Pid::from_raw(lab.read("pids").trim().parse().unwrap()).unwrap();
    until("it is gone", || !runs(pid));
}

#[test]
fn a_harness_that_ends_its_own_daemon_sees_it_end() {
    let lab = Lab::new();
    lab.harness(
        "pid=$(sh -c 'setsid sleep 1000 > /dev/null 2>&1 & echo $!'); kill $pid; while kill -0 $pid 2> /dev/null; do :; done; \
         echo 'correctness: pass'; echo 'throughput_sps: 5'",
    );
    lab.lab("run").is(0);
}

#[test]
fn two_labs_at_once_get_two_runs() {
    let lab = Lab::new();
    let children: Vec<_> = (0..4)
        .map(|_| lab.lab_command("run --json").spawn().unwrap())
        .collect();
    let mut ids: Vec<u64> = children
        .into_iter()
        .map(|c| finish(c).is(0).json()["run"].as_u64().unwrap())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3, 4]);
}

#[test]
fn a_second_screen_of_a_kernel_only_shows_it_and_commands_work_beside_the_first() {
    let lab = Lab::new();
    let project = lab_project::Project::open(&lab.repo, None).unwrap();
    let first = lab_project::screen_lock::take(&project).unwrap();
    let second = lab_project::screen_lock::take(&project).unwrap();
    let owner = format!("another screen (process {})", std::process::id());
    assert_eq!(second.other(), Some(owner));
    // Each kernel can have a screen of its own.
    std::fs::create_dir(lab.path("p2")).unwrap();
    lab.write("p2/kernel.cu", "// another\n");
    let other = lab_project::Project::open(&lab.repo, Some("p2".as_ref())).unwrap();
    let beside = lab_project::screen_lock::take(&other).unwrap();
    let third = lab_project::screen_lock::take(&other).unwrap();
    assert!(third.other().is_some());
    drop(beside);
    lab.write("kernel.cu", "// beside\n");
    lab.lab("run").is(0);
    lab.lab("keep -m beside").is(0);
    drop(first);
    let next = lab_project::screen_lock::take(&project).unwrap();
    assert_eq!(next.other(), None);
}

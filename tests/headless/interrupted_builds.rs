//! A build that is interrupted leaves no file behind.

use crate::lab::{Lab, finish};
use lab_testing::until;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::PathBuf;

/// A problem for the cpu device, and a compiler that writes a temporary file and never ends if
/// `hangs_at` is among its arguments.
fn lab_with_a_slow_compiler(hangs_at: &str) -> Lab {
    let mut lab = Lab::empty();
    lab.use_own_cache();
    lab.copy_problem("harness/judge/tests/kernels/tensor", "");
    lab.write("lab.toml", "device = \"cpu\"\n");
    lab.git("add -A");
    lab.git("commit -qm start");
    let script = format!(
        "case \" $* \" in\n*{hangs_at}*) echo > \"$TMPDIR/ccSLOW.s\"; exec sleep 1000 ;;\n*) exec g++ \"$@\" ;;\nesac"
    );
    lab.script("../bin/slow-g++", &script);
    lab
}

/// The files and folders below the cache folder, without complete images and headers and the locks
/// of the parents.
fn left(lab: &Lab) -> Vec<PathBuf> {
    let files = |folder: PathBuf| {
        fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
    };
    let below = |name: &str| files(lab.cache().join(name));
    let mut left: Vec<PathBuf> = below("private").chain(below("snapshots")).collect();
    left.retain(|path| path.is_dir());
    left.extend(below("headers").filter(|path| !path.join("ready").exists()));
    left.extend(files(lab.path("../home/tmp")));
    left
}

fn is_building(lab: &Lab) -> bool {
    let private = fs::read_dir(lab.cache().join("private"));
    private
        .into_iter()
        .flatten()
        .flatten()
        .any(|entry| entry.path().join("files/ccSLOW.s").exists())
}

/// Starts the command, waits until it builds, sends the signal and waits for the end.
fn interrupt(lab: &Lab, command: &str, signal: Signal) {
    fs::create_dir_all(lab.path("../home/tmp")).unwrap();
    let mut command = lab.lab_command(command);
    command
        .env("CXX", lab.path("../bin/slow-g++"))
        .env("TMPDIR", lab.path("../home/tmp"));
    let child = command.spawn().unwrap();
    until("the compiler writes", || is_building(lab));
    kill_process(Pid::from_child(&child), signal).unwrap();
    finish(child);
}

/// The memory of the machine ran out while the kernel was compiled, and Linux ended the compiler.
#[test]
fn a_compiler_that_the_machine_ends_is_no_fault_of_the_kernel() {
    let lab = lab_with_a_slow_compiler("-none");
    let killed = "case \" $* \" in\n*\" -c \"*kernel*) echo 'g++: fatal error: Killed signal terminated program cc1plus' >&2; exit 1 ;;\n*) exec g++ \"$@\" ;;\nesac";
    lab.script("../bin/killed-g++", killed);
    let mut command = lab.lab_command("run");
    command.env("CXX", lab.path("../bin/killed-g++"));
    finish(command.spawn().unwrap())
        .is(64)
        .says("NOT JUDGED")
        .says("killed-g++ was ended by SIGKILL: from outside, or the machine ran out of memory; judge again");
    lab.lab("run").is(0);
}

#[test]
fn an_interrupted_build_leaves_no_file_of_the_compiler() {
    let lab = lab_with_a_slow_compiler("kernel");
    for command in ["run", "check", "harness ."] {
        for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
            interrupt(&lab, command, signal);
            assert_eq!(left(&lab), Vec::<PathBuf>::new(), "{command} {signal:?}");
        }
    }
}

#[test]
fn headers_that_are_being_made_are_no_exception() {
    let lab = lab_with_a_slow_compiler("c++-header");
    // The command makes a file of its own.
    fs::remove_file(lab.cache().join("headers")).unwrap();
    interrupt(&lab, "run", Signal::TERM);
    assert_eq!(left(&lab), Vec::<PathBuf>::new());
}

#[test]
fn a_lab_that_was_killed_leaves_nothing_once_its_judge_has_ended() {
    let lab = lab_with_a_slow_compiler("kernel");
    interrupt(&lab, "run", Signal::KILL);
    until("the judge cleans up", || left(&lab).is_empty());
}

#[test]
fn a_judge_that_was_killed_is_cleaned_up_after_by_the_next_command_that_may_judge() {
    let lab = lab_with_a_slow_compiler("kernel");
    interrupt(&lab, "harness .", Signal::KILL);
    // The killed judge's children end when they notice.
    until("the next command cleans up", || {
        lab.lab("keep -m x").is(1).says("no run");
        left(&lab).is_empty()
    });
}

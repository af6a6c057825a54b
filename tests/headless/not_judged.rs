//! Runs that end without a verdict because something other than the kernel failed: the problem, its
//! reference, the compiler, the device, the harness. They are *not judged*: exit code 64, no run
//! number, no advice to discard.

use crate::built_in::rmsnorm;
use crate::lab::{CommandOutput, Lab, finish};
use lab_system::descendants;
use lab_testing::until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;

const FOLDER: &str = "kernels/rmsnorm";

/// The output calls the run not judged, and blames and advises nothing.
#[track_caller]
fn not_judged(output: CommandOutput, why: &str) -> CommandOutput {
    let output = output.is(64).says("NOT JUDGED").says(why);
    for word in ["CRASH", "lab discard", "lab keep", "run 1"] {
        assert!(!output.out.contains(word), "'{word}' is in {output:?}");
    }
    output
}

/// No run has a number, and the next one is run 1.
#[track_caller]
fn no_number_is_used(lab: &Lab) {
    let runs = fs::read_dir(lab.path(".lab/runs"))
        .into_iter()
        .flatten()
        .flatten();
    let folders: Vec<_> = runs
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name())
        .collect();
    assert!(folders.is_empty(), "{folders:?}");
}

#[test]
fn a_mistake_in_the_problem_is_no_crash_of_the_kernel() {
    let lab = rmsnorm();
    let problem = lab.read(&format!("{FOLDER}/problem.toml"));
    let reference = lab.read(&format!("{FOLDER}/reference.cu"));
    let say = |file: &str, text: &str, why: &str| {
        lab.write(&format!("{FOLDER}/{file}"), text);
        not_judged(lab.lab("run"), why);
        no_number_is_used(&lab);
        lab.lab("keep -m x").is(1).says("no run yet");
        lab.write(&format!("{FOLDER}/problem.toml"), &problem);
        lab.write(&format!("{FOLDER}/reference.cu"), &reference);
    };
    say("problem.toml", "entry = \n", "problem.toml:1:");
    say(
        "problem.toml",
        &problem.replacen("role = \"in\"", "role = \"inn\"", 1),
        "problem.toml:",
    );
    say("problem.toml", "", "problem.toml");
    // A name that the kernel cannot be compiled with: a word of C++, and a macro.
    say(
        "problem.toml",
        &problem.replace("cols", "class"),
        "dims: 'class' is a word of C++",
    );
    say(
        "problem.toml",
        &problem.replace("cols", "NULL"),
        "reference.cu does not build",
    );
    say(
        "reference.cu",
        "this is no C++\n",
        "reference.cu does not build",
    );
    say("reference.cu", "#include \"lab.h\"\n", "reference.cu");
    let never_ends = reference.replacen("__syncthreads();", "for (volatile int i = 0;; i++) {}", 1);
    let never_ends = if never_ends == reference {
        reference.replacen(") {\n", ") {\n    for (volatile int i = 0;; i++) {}\n", 1)
    } else {
        never_ends
    };
    lab.write(
        "lab.toml",
        lab.read("lab.toml")
            .replace("time_limit_s = 300", "time_limit_s = 3"),
    );
    say("reference.cu", &never_ends, "reference.cu: ");
    fs::remove_file(lab.path(&format!("{FOLDER}/problem.toml"))).unwrap();
    fs::create_dir(lab.path(&format!("{FOLDER}/problem.toml"))).unwrap();
    let folder = not_judged(
        lab.lab("run"),
        &format!("there is no problem.toml in {FOLDER}"),
    );
    assert!(!folder.out.contains(".lab/runs"), "{folder:?}");
    fs::remove_dir(lab.path(&format!("{FOLDER}/problem.toml"))).unwrap();
    lab.write(&format!("{FOLDER}/problem.toml"), &problem);
    fs::remove_file(lab.path(&format!("{FOLDER}/reference.cu"))).unwrap();
    not_judged(lab.lab("run"), "reference.cu is missing");
    lab.write(&format!("{FOLDER}/reference.cu"), &reference);
    lab.write(
        "lab.toml",
        lab.read("lab.toml")
            .replace("time_limit_s = 3", "time_limit_s = 300"),
    );
    lab.lab("run").is(0).says("PASS  run 1 of");
}

#[test]
fn a_machine_without_driver_compiler_or_cache_judges_nothing() {
    let lab = rmsnorm();
    not_judged(lab.lab("run --device cuda:97"), "");
    let mut command = lab.lab_command("run");
    command.env("PATH", "/nonexistent");
    not_judged(finish(command.spawn().unwrap()), "no C++ compiler is here");
    let mut command = lab.lab_command("run");
    command.env("XDG_CACHE_HOME", "/proc/nowhere");
    not_judged(finish(command.spawn().unwrap()), "the cache folder");
    no_number_is_used(&lab);
}

#[test]
fn the_json_of_such_a_run_has_a_reason_and_a_log_and_no_number() {
    let lab = rmsnorm();
    lab.lab("run").is(0);
    let problem = lab.read(&format!("{FOLDER}/problem.toml"));
    lab.write(&format!("{FOLDER}/problem.toml"), "entry = 3\n");
    let run = lab.lab("run --json").is(64).json();
    assert_eq!(
        (run["outcome"].as_str(), run["exit_code"].as_u64()),
        (Some("not_judged"), Some(64))
    );
    assert_eq!(
        (&run["run"], &run["correctness"]),
        (&Value::Null, &Value::Null)
    );
    assert!(
        run["why"].as_str().unwrap().contains("problem.toml"),
        "{run}"
    );
    let log = fs::read_to_string(run["log"].as_str().unwrap()).unwrap();
    assert!(
        log.contains("stopped: ") && log.contains("fault: problem\n"),
        "{log}"
    );
    // The link beside lab.toml leads to the same log.
    assert_eq!(lab.read("run.log"), log);
    lab.write(&format!("{FOLDER}/problem.toml"), &problem);
    assert_eq!(lab.lab("run --json").is(0).json()["run"], 2);
}

#[test]
fn a_harness_that_is_not_there_judges_nothing() {
    let lab = Lab::new();
    lab.write("lab.toml", "harness = \"nvv --run\"\n");
    lab.lab("trust --yes").is(0);
    not_judged(
        lab.lab("run"),
        "the harness command was not found (exit code 127)",
    );
    lab.write("lab.toml", "harness = \"./kernel.cu\"\n");
    lab.lab("trust --yes").is(0);
    not_judged(
        lab.lab("run"),
        "the harness command cannot be run (exit code 126)",
    );
    no_number_is_used(&lab);
}

#[test]
fn a_harness_says_that_its_machine_is_at_fault() {
    let lab = Lab::new();
    lab.harness("echo 'fault: lab'; echo 'stopped: the GPU is in use'; exit 64");
    not_judged(lab.lab("run"), "the GPU is in use");
    lab.harness("echo 'no GPU is here' >&2; exit 64");
    not_judged(lab.lab("run"), "exit code 64): no GPU is here");
    // A finding about the kernel from before that counts.
    lab.harness("echo 'correctness: fail'; exit 64");
    lab.lab("run").is(1).says("FAIL  run 1");
}

#[test]
fn a_harness_reports_a_build_that_failed() {
    let lab = Lab::new();
    for script in [
        "echo 'build: failed'; exit 1",
        "echo 'build: failed'; exit 0",
        "exit 2",
    ] {
        lab.harness(&format!(
            "echo 'kernel.cu:3:1: error: no such thing'; {script}"
        ));
        let output = lab
            .lab("run")
            .is(2)
            .says("BUILD ERROR")
            .says("kernel.cu:3: no such thing");
        assert!(!output.out.contains("CRASH"), "{output:?}");
    }
    lab.harness("echo 'ld: cannot find -lfoo'; echo 'build: failed'; exit 1");
    let run = lab.lab("run --json").is(2).json();
    assert_eq!(
        (run["outcome"].as_str(), run["exit_code"].as_u64()),
        (Some("build_error"), Some(2))
    );
    assert!(
        run["why"].as_str().unwrap().contains("cannot find -lfoo"),
        "{run}"
    );
    // A later build of the same run that succeeded, and a verdict, take precedence.
    lab.harness(
        "echo 'build: failed'; echo 'build: 0.4 s'; echo 'correctness: pass'; echo 'throughput_sps: 5'",
    );
    lab.lab("run").is(0).says("PASS");
    lab.harness("echo 'correctness: fail'; exit 2");
    lab.lab("run").is(1).says("FAIL");
    lab.harness("exit 2");
    lab.lab("run")
        .is(2)
        .says("BUILD ERROR")
        .says("it does not build");
}

/// The memory of a machine ran out while the harness ran, and Linux ended it.
#[test]
fn a_harness_that_the_machine_ended_is_judged_again_under_the_same_number() {
    let lab = Lab::new();
    lab.passing(7.0);
    let passing = lab.read("harness.py");
    let ended_once = passing.replacen("echo", "[ -e ../again ] || kill -KILL $$\necho", 1);
    lab.write("harness.py", ended_once);
    not_judged(
        lab.lab("run"),
        "the harness was ended by signal 9 (kill): ended from outside, or the machine ran out of memory; judge again",
    );
    no_number_is_used(&lab);
    lab.write("../again", "");
    lab.lab("run").is(0).says("PASS  run 1 of");
}

/// A `lab` command, whose first worker that is busy for a second gets this signal.
pub fn with_a_worker_ended_by(lab: &Lab, args: &str, signal: Signal) -> CommandOutput {
    let mut child = lab.lab_command(args).spawn().unwrap();
    let judge = Pid::from_child(&child);
    let read = |process: Pid, file: &str| {
        let file = format!("/proc/{}/{file}", process.as_raw_pid());
        fs::read_to_string(file).unwrap_or_default()
    };
    let is_busy = |process: Pid| {
        let stat = read(process, "stat");
        let ticks = stat
            .rsplit(')')
            .next()
            .and_then(|rest| rest.split(' ').nth(12));
        let ticks: u64 = ticks.and_then(|ticks| ticks.parse().ok()).unwrap_or(0);
        ticks > 100 && read(process, "cmdline").contains("harness-worker")
    };
    until("the judge has lost its workers", || {
        let below = descendants::of(judge).into_iter().map(|found| found.id);
        below
            .filter(|process| is_busy(*process))
            .for_each(|process| {
                let _ = kill_process(process, signal);
            });
        child.try_wait().unwrap().is_some()
    });
    finish(child)
}

/// A loop of a thread that never ends.
const NEVER_ENDS: &str = "for (volatile int i = 0;; i++) {}";

#[test]
fn a_worker_that_the_machine_ended_is_no_crash_of_the_kernel() {
    let lab = rmsnorm();
    let kernel = format!("{FOLDER}/kernel.cu");
    let plain = lab.read(&kernel);
    let never_ends = format!("{NEVER_ENDS} __syncthreads();");
    // The worker of the reference is never busy for so long.
    lab.write(&kernel, plain.replacen("__syncthreads();", &never_ends, 1));
    not_judged(
        with_a_worker_ended_by(&lab, "run", Signal::KILL),
        "the kernel crashed: its process was ended by SIGKILL (ended from outside, or the machine ran out of memory); \
         judge again",
    );
    no_number_is_used(&lab);
    lab.write(&kernel, plain);
    lab.lab("run").is(0).says("PASS  run 1 of");
}

#[test]
fn a_reference_that_the_machine_ended_is_no_fault_of_its_file() {
    let lab = rmsnorm();
    let plain = lab.read(&format!("{FOLDER}/reference.cu"));
    let never_ends = plain.replacen(") {\n", &format!(") {{\n    {NEVER_ENDS}\n"), 1);
    let native = format!(
        "#include \"lab.h\"\nextern \"C\" __global__ void rmsnorm_f32(const void*, const void*, void*, float, int, int) {{ \
         {NEVER_ENDS} }}\nextern \"C\" __global__ void rmsnorm_f16(const void*, const void*, void*, float, int, int) {{}}\n\
         LAB_LAUNCH(rmsnorm_f32) {{ launch.block[0] = 1; }}\nLAB_LAUNCH(rmsnorm_f16) {{ launch.block[0] = 1; }}\n"
    );
    for (file, text, signal, said) in [
        (
            "reference.cu",
            &never_ends,
            Signal::TERM,
            "SIGTERM (ended from outside)",
        ),
        (
            "reference.cpp",
            &native,
            Signal::KILL,
            "SIGKILL (ended from outside, or the machine ran out of memory)",
        ),
    ] {
        lab.write(&format!("{FOLDER}/{file}"), text);
        let output = with_a_worker_ended_by(&lab, "run", signal);
        let why =
            format!("{file}: the reference crashed: its process was ended by {said}; judge again");
        let output = not_judged(output, &why);
        assert!(!output.out.contains("fault: problem"), "{output:?}");
        no_number_is_used(&lab);
        lab.write(&format!("{FOLDER}/reference.cu"), &plain);
    }
}

//! `lab bench`: independent runs, their mean and spread, resuming, exports. The harness is a
//! script, unless a story says that it is the built-in one.

use crate::lab::{CommandOutput, Lab, finish};
use lab_testing::until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;

/// A harness whose n-th call runs `script` with `$n`.
fn counting(lab: &Lab, script: &str) {
    lab.harness(&format!(
        "n=$(cat ../calls 2>/dev/null || echo 0); n=$((n + 1)); echo $n > ../calls\n{script}"
    ));
}

/// Two workloads that pass. Their times differ by call: 10 and 30 µs in the first, 11 and 33 in the
/// second.
pub const TIMES: &str = "echo \"device: $(cat ../device 2>/dev/null || echo 'Test GPU')\"; echo 'correctness: pass'\n\
    echo \"workload: batch=1 kernel_us=$((9 + n)) trials_us=$((8 + n)),$((10 + n)) correctness=pass\"\n\
    echo \"workload: batch=64 kernel_us=$((27 + 3 * n)) correctness=pass\"\n";

pub fn lab_with(script: &str) -> Lab {
    let lab = Lab::new();
    counting(&lab, script);
    lab.git("commit -qam harness");
    lab
}

#[test]
fn every_run_is_a_process_of_its_own_and_the_answer_has_their_mean_and_their_spread() {
    let lab = lab_with(TIMES);
    let output = lab.lab("bench --runs 3").is(0);
    assert_eq!(lab.read("../calls").trim(), "3");
    for line in [
        "● PASS  bench 1 of kernel.cu  passed 2/2 in 3 of 3 runs  Test GPU",
        "  mean 22.000 µs (20.000 … 24.000) over 3 runs: arithmetic mean of 2 workloads",
        "  spread: the slowest run took 20.0 % longer than the fastest",
        "  slowest workload batch=64: 33.000 µs (30.000 … 36.000)",
        "  caveat: the slowest run took 20.0 % longer than the fastest: a single run of this kernel proves nothing",
    ] {
        assert!(
            output.out.lines().any(|found| found == line),
            "{line} is not in {output:?}"
        );
    }
    for line in [
        "lab: bench 1 of kernel.cu: 3 runs, as `uv run harness.py` measures",
        "lab: run 2 of 3: mean 22.000 µs, passed 2/2, ",
    ] {
        assert!(
            output.err.lines().any(|found| found.starts_with(line)),
            "{line} is not in {output:?}"
        );
    }
    // Without a terminal no line is replaced.
    assert!(
        !output.err.contains('\r') && !output.err.contains("[#"),
        "{output:?}"
    );
    assert_eq!(
        lab.git("status --porcelain"),
        "",
        "a bench is no experiment"
    );
    assert!(!lab.path("results.tsv").exists() && !lab.path(".lab/runs").exists());
}

#[test]
fn the_answer_in_json_has_every_run_and_every_workload() {
    let lab = lab_with(TIMES);
    let bench = lab.lab("bench --runs 2 --json").is(0).json();
    assert_eq!(
        (&bench["command"], &bench["outcome"]),
        (&json!("bench"), &json!("pass"))
    );
    assert_eq!(
        (
            &bench["passed"],
            &bench["workload_count"],
            &bench["complete"]
        ),
        (&json!(2), &json!(2), &json!(true))
    );
    assert_eq!(
        bench["mean_us"],
        json!({ "value": 21.0, "low": 20.0, "high": 22.0, "spread_pct": 10.000000000000009 })
    );
    assert_eq!(bench["runs"][1]["mean_us"], json!(22.0));
    assert_eq!(
        bench["runs"][1]["workloads"][0]["trials_us"],
        json!([10.0, 12.0])
    );
    assert_eq!(bench["workloads"][1]["name"], "batch=64");
    assert_eq!(bench["workloads"][1]["kernel_us"]["low"], json!(30.0));
    assert_eq!(
        (&bench["external"], &bench["discipline"]),
        (&json!(true), &Value::Null)
    );
    let log = bench["runs"][0]["log"].as_str().unwrap();
    assert!(
        fs::read_to_string(log)
            .unwrap()
            .contains("batch=1 kernel_us=10"),
        "{log}"
    );
    // The same bench, without measuring.
    let shown = lab.lab("bench --show last --json").is(0).json();
    assert_eq!(shown["runs"], bench["runs"]);
    assert_eq!(lab.read("../calls").trim(), "2");
}

#[test]
fn the_log_names_the_benches_of_the_present_bytes() {
    let lab = lab_with(TIMES);
    lab.lab("bench --runs 2").is(0);
    let line = "of the present bytes: bench 1: 21.000 µs (20.000 … 22.000) over 2 runs, passed 2/2, Test GPU";
    assert!(lab.lab("log").is(0).out.lines().any(|found| found == line));
    let log = lab.lab("log --json").is(0).json();
    assert_eq!(
        (
            &log["benches"][0]["bench"],
            &log["benches"][0]["mean_us"]["high"]
        ),
        (&json!(1), &json!(22.0))
    );
    lab.write("kernel.cu", "// other bytes\n");
    assert!(!lab.lab("log").is(0).out.contains("bench 1"));
    assert_eq!(lab.lab("log --json").is(0).json()["benches"], json!([]));
}

#[test]
fn a_kernel_that_fails_one_workload_ends_the_bench_and_says_which() {
    let script = format!(
        "{TIMES}[ $n = 2 ] && echo 'workload: batch=128 correctness=fail' && echo 'y_error: 2 limit=1' && exit 1\n\
         echo 'workload: batch=128 kernel_us=50 correctness=pass'"
    );
    let lab = lab_with(&script);
    let output = lab.lab("bench --runs 5").is(1);
    for line in [
        "✗ FAIL  bench 1 of kernel.cu  passed 2/3 in 2 of 5 runs  Test GPU",
        "  run 2 did not pass: y_error is 2, its limit 1",
        "  not passed: batch=128 fail",
    ] {
        assert!(
            output.out.lines().any(|found| found == line),
            "{line} is not in {output:?}"
        );
    }
    assert_eq!(
        lab.read("../calls").trim(),
        "2",
        "further runs of these bytes say nothing"
    );
    let refused = lab.lab("bench --resume").is(64);
    refused.says("bench 1 ended with run 2, which did not pass (y_error is 2, its limit 1)");
    let shown = lab.lab("bench --show 1 --json").is(0).json();
    assert_eq!(
        (&shown["outcome"], &shown["why"]),
        (&json!("fail"), &json!("y_error is 2, its limit 1"))
    );
}

#[test]
fn builds_crashes_and_runs_without_a_time_have_the_exit_codes_of_a_run() {
    for (script, code, says) in [
        (
            "echo 'kernel.cu:3:1: error: no tiles'; exit 2",
            2,
            "no tiles",
        ),
        ("kill -SEGV $$", 3, "ended by signal 11"),
        // Nothing crashed: the harness prints no time.
        (
            "echo 'correctness: pass'; echo 'throughput_sps: 5'",
            64,
            "not judged: the kernel passed, and the harness printed no time of kernel.cu",
        ),
        (
            "echo 'fault: lab'; echo 'stopped: no driver'; exit 64",
            64,
            "not judged: no driver",
        ),
        ("exit 127", 64, "the harness command was not found"),
    ] {
        let lab = lab_with(script);
        lab.lab("bench --runs 2").is(code).says(says);
        assert_eq!(lab.read("../calls").trim(), "1", "{script}");
        let json = lab.lab("bench --runs 2 --json").is(code).json();
        assert!(
            json["why"]
                .as_str()
                .unwrap()
                .contains(says.trim_start_matches("not judged: ")),
            "{json}"
        );
    }
}

/// A run whose harness the machine ended, as for want of memory, is no result: the bench goes on.
#[test]
fn what_a_machine_ends_is_not_recorded_and_the_bench_is_resumed() {
    let lab = lab_with(&format!("[ $n != 2 ] || kill -KILL $$\n{TIMES}"));
    lab.lab("bench --runs 3")
        .is(64)
        .says("not judged: the harness was ended by signal 9 (kill): ended from outside")
        .says("1 of 3 runs are recorded");
    lab.lab("bench --resume")
        .is(0)
        .says("passed 2/2 in 3 of 3 runs");
    assert_eq!(lab.read("../calls").trim(), "4");
}

#[test]
fn the_number_of_a_folder_that_is_there_is_not_used_again() {
    let lab = lab_with(TIMES);
    // A lab that was killed before its bench began.
    fs::create_dir_all(lab.path(".lab/bench/1")).unwrap();
    lab.lab("bench --runs 1").is(0).says("bench 2 of kernel.cu");
    fs::remove_file(lab.path(".lab/bench/2/bench.json")).unwrap();
    let runs = lab.read(".lab/bench/2/runs.jsonl");
    lab.lab("bench --runs 1").is(0).says("bench 3 of kernel.cu");
    assert_eq!(lab.read(".lab/bench/2/runs.jsonl"), runs);
}

/// The harness waits in its second call until `../go` is there.
const WAITS: &str =
    "[ $n = 2 ] && echo 'stage: measure' && while ! [ -e ../go ]; do sleep 0.05; done\n";

/// Starts a bench and waits until its second run waits.
fn started(lab: &Lab) -> std::process::Child {
    let child = lab.lab_command("bench --runs 4").spawn().unwrap();
    until("the second run waits", || {
        fs::read_to_string(lab.path(".lab/bench/1/run-2.log"))
            .is_ok_and(|log| log.contains("stage: measure"))
    });
    child
}

fn resumed(lab: &Lab, before: &str) -> CommandOutput {
    lab.write("../go", "");
    let output = lab.lab("bench --resume").is(0);
    assert!(
        output
            .err
            .contains("bench 1 of kernel.cu goes on after 1 of 4 runs"),
        "{output:?}"
    );
    assert!(
        lab.read(".lab/bench/1/runs.jsonl").starts_with(before),
        "what was recorded stays as it was"
    );
    let shown = lab.lab("bench --show 1 --json").is(0).json();
    let numbers: Vec<u64> = shown["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["run"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    // Call 1 was the first run, call 2 was ended, and calls 3 to 5 are the others.
    assert_eq!(
        (lab.read("../calls").trim(), &shown["runs"][1]["mean_us"]),
        ("5", &json!(24.0))
    );
    output
}

#[test]
fn an_interrupted_bench_goes_on_where_it_was() {
    let lab = lab_with(&format!("{WAITS}{TIMES}"));
    let child = started(&lab);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = finish(child).is(3);
    assert!(
        output
            .out
            .contains("interrupted: 1 of 4 runs are recorded; `lab bench --resume` goes on"),
        "{output:?}"
    );
    let shown = lab.lab("bench --show last --json").is(0).json();
    assert_eq!(
        (&shown["outcome"], &shown["complete"]),
        (&json!("incomplete"), &json!(false))
    );
    let before = lab.read(".lab/bench/1/runs.jsonl");
    resumed(&lab, &before);
    // All runs are there: the command shows the bench and measures nothing.
    lab.lab("bench --resume")
        .is(0)
        .says("passed 2/2 in 4 of 4 runs");
    lab.lab("bench --resume --runs 2")
        .is(0)
        .says("passed 2/2 in 4 of 4 runs");
    assert_eq!(lab.read("../calls").trim(), "5");
    lab.lab("bench --resume --runs 5")
        .is(0)
        .says("lab: run 5 of 5: ");
}

#[test]
fn a_bench_that_was_killed_halfway_goes_on_where_it_was() {
    let lab = lab_with(&format!("{WAITS}{TIMES}"));
    let child = started(&lab);
    kill_process(Pid::from_child(&child), Signal::KILL).unwrap();
    finish(child);
    // The bench may have been killed while it wrote a record.
    let whole = lab.read(".lab/bench/1/runs.jsonl");
    let half: String = whole.chars().take(whole.len() / 2).collect();
    lab.write(".lab/bench/1/runs.jsonl", format!("{whole}{half}"));
    resumed(&lab, &whole);
}

#[test]
fn a_bench_belongs_to_bytes_rules_device_and_discipline() {
    let lab = lab_with(&format!("{WAITS}{TIMES}"));
    lab.lab("bench --resume")
        .is(64)
        .says("there is no bench of kernel.cu on the device auto to resume: `lab bench` begins");
    let child = started(&lab);
    lab.lab("bench --resume")
        .is(64)
        .says("bench 1 goes on in another process");
    lab.lab("bench --show 1")
        .is(0)
        .says("1 of 4 runs are recorded; it goes on in another process");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    finish(child).is(3);
    lab.lab("bench --resume --device cpu")
        .is(64)
        .says("no bench of kernel.cu on the device cpu");
    lab.lab("bench --resume --trials 2")
        .is(64)
        .says("has a discipline of its own");
    let kernel = lab.read("kernel.cu");
    lab.write("kernel.cu", "// other bytes\n");
    lab.lab("bench --resume")
        .is(64)
        .says("bench 1 is of other bytes or rules: kernel.cu changed since");
    lab.write("kernel.cu", &kernel);
    lab.write("reference.py", "# a rule\n");
    lab.lab("bench --resume")
        .is(64)
        .says("reference.py changed since");
    fs::remove_file(lab.path("reference.py")).unwrap();
    // A newer bench of other bytes is not in the way: the command means the bench of these bytes.
    // Another device under the same word: its times do not belong to this bench.
    lab.write("../go", "");
    lab.write("../device", "Other GPU");
    let other = lab.lab("bench --resume").is(64);
    other.says(
        "not judged: the device was Test GPU and is Other GPU, so its times do not belong to this bench",
    );
    assert_eq!(
        lab.lab("bench --show 1 --json").json()["runs"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn records_that_somebody_else_wrote_or_changed_are_shown_and_not_resumed() {
    let lab = lab_with(TIMES);
    lab.lab("bench --runs 1").is(0);
    let text = lab.read(".lab/bench/1/runs.jsonl");
    lab.write(
        ".lab/bench/1/runs.jsonl",
        text.replace("\"kernel_us\":10.0", "\"kernel_us\":1.0"),
    );
    let shown = lab.lab("bench --show 1 --json").is(0).json();
    assert_eq!(
        (&shown["foreign"], &shown["runs"][0]["mean_us"]),
        (&json!(true), &json!(15.5))
    );
    for export in ["", " --export md", " --export json"] {
        lab.lab(&format!("bench --show 1{export}"))
            .is(0)
            .says("foreign: somebody else's lab wrote this bench");
    }
    lab.lab("bench --show 1 --export csv")
        .is(0)
        .says(",pass,1,9 11,foreign");
    lab.lab("bench --show 1 --export bmf")
        .is(0)
        .says("\"foreign: kernel.cu batch=1\"");
    lab.lab("bench --resume --runs 2")
        .is(64)
        .says("bench 1 was not written by this user's lab, or was changed since");
    // A line of another bench does not count.
    lab.write(".lab/bench/1/runs.jsonl", &text);
    lab.lab("bench --runs 1").is(0);
    lab.write(".lab/bench/2/runs.jsonl", &text);
    assert_eq!(
        lab.lab("bench --show 2 --json").is(0).json()["runs"],
        json!([])
    );
    lab.write(".lab/bench/2/bench.json", "{ \"bench\": 2 }");
    lab.lab("bench --show 2")
        .is(64)
        .says("bench.json is damaged");
    lab.lab("bench --show last")
        .is(0)
        .says("2/bench.json is damaged")
        .says("bench 1 of kernel.cu");
    let log = lab.lab("log --json").is(0);
    assert!(
        log.json()["problems"]
            .to_string()
            .contains("2/bench.json is damaged"),
        "{log:?}"
    );
}

#[test]
fn a_full_disk_loses_the_run_that_could_not_be_recorded_and_no_other() {
    let lab = lab_with(&format!(
        "{TIMES}i=0; while [ $i -lt 900 ]; do echo \"workload: n=$i kernel_us=1\"; i=$((i + 1)); done"
    ));
    // As on a full disk, a write beyond this size fails with an error. The files of the Python
    // package are smaller.
    let full = |args: &str| {
        lab.sh(&format!(
            "trap '' XFSZ; ulimit -f 120; exec \"$LAB\" {args}"
        ))
    };
    let output = full("bench --runs 4").is(64);
    output.says("runs.jsonl").says("lab: run 1 of 4: ");
    let recorded = lab.lab("bench --show 1 --json").is(0).json()["runs"]
        .as_array()
        .unwrap()
        .len();
    assert!((1..4).contains(&recorded), "{recorded} runs");
    lab.lab("bench --resume").is(0).says("in 4 of 4 runs");
}

#[test]
fn the_times_go_where_they_are_asked_for() {
    let lab = lab_with(TIMES);
    let csv = lab.lab("bench --runs 2 --export csv").is(0);
    assert_eq!(
        csv.out.lines().count(),
        1 + 2 * 2,
        "stdout has the table alone: {csv:?}"
    );
    assert!(csv.err.contains("PASS  bench 1 of kernel.cu"), "{csv:?}");
    let bmf = lab.lab("bench --show last --export bmf").is(0);
    let metrics: Value = serde_json::from_str(&bmf.out).unwrap();
    let metric =
        json!({ "latency": { "value": 10500.0, "lower_value": 10000.0, "upper_value": 11000.0 } });
    assert_eq!(metrics["kernel.cu batch=1"], metric);
    lab.lab("bench --show 1 --export md")
        .is(0)
        .says("| batch=64 | 31.500 | 30.000 | 33.000 | 10.0 % | pass |");
    let json = lab
        .lab("bench --show 1 --export json --output ../out.json --json")
        .is(0)
        .json();
    let exported: Value = serde_json::from_str(&lab.read("../out.json")).unwrap();
    assert_eq!(exported, json, "the export is what --json prints");
    lab.lab("bench --show 1 --export csv --output ../out.csv")
        .is(0)
        .says("the export is in ../out.csv");
    assert_eq!(lab.read("../out.csv"), csv.out);
}

#[test]
fn wrong_arguments_are_refused_before_anything_is_measured() {
    let lab = lab_with(TIMES);
    for (args, says) in [
        ("--runs 0", "'0' is not a number of runs from 1 to 1000"),
        ("--runs 1001", "from 1 to 1000"),
        ("--runs -1", "-1"),
        ("--runs six", "'six' is not a number of runs"),
        (
            "--iterations 0",
            "'0' is not a number of timed launches from 1 to 100000",
        ),
        ("--trials 0", "'0' is not a number of trials from 1 to 1000"),
        ("--trials 2", "has a discipline of its own"),
        ("--export xml", "xml"),
        (
            "--export csv --json",
            "name a file for the export with --output FILE",
        ),
        ("--output x", "--export"),
        (
            "--export csv --output nowhere/x",
            "there is no folder nowhere",
        ),
        ("--export csv --output .", "it is a folder"),
        ("--show 7", "there is no bench 7"),
        ("--show x", "'x' is neither a number nor `last`"),
        (
            "--show last",
            "there is no bench of kernel.cu yet: `lab bench` makes one",
        ),
        ("--show last --runs 2", "--runs"),
    ] {
        lab.lab(&format!("bench {args}")).is(64).says(says);
    }
    assert!(!lab.path("../calls").exists(), "no harness ran");
    assert!(!lab.path(".lab/bench").exists());
}

#[test]
fn a_harness_of_a_stranger_is_asked_about_first() {
    let lab = lab_with(TIMES);
    lab.git("clone -q . ../clone");
    let mut command = lab.lab_command("bench");
    command.current_dir(lab.path("../clone"));
    finish(command.spawn().unwrap())
        .is(64)
        .says("you have not trusted it yet");
    assert!(!lab.path("../clone/.lab").exists());
}

#[test]
fn a_bench_folder_that_leads_elsewhere_is_refused() {
    let lab = lab_with(TIMES);
    fs::create_dir_all(lab.path("../elsewhere")).unwrap();
    fs::create_dir_all(lab.path(".lab")).unwrap();
    std::os::unix::fs::symlink(lab.path("../elsewhere"), lab.path(".lab/bench")).unwrap();
    lab.lab("bench --runs 1")
        .is(64)
        .says("cannot make a folder for the bench");
    assert_eq!(fs::read_dir(lab.path("../elsewhere")).unwrap().count(), 0);
    assert!(!lab.path("../calls").exists(), "no harness ran");
}

/// Names of workloads, devices and caveats come from outside.
#[test]
fn nothing_hostile_of_a_harness_reaches_an_export() {
    let lab = lab_with(
        "printf 'device: H\\033[2J\\342\\200\\256\\ncaveat: =1+1|\\033]0;x\\007\\nworkload: a=\\342\\200\\256|`b` kernel_us=5\\ncorrectness: pass\\n'",
    );
    for format in ["csv", "md", "bmf", "json"] {
        let output = lab.lab(&format!("bench --runs 1 --export {format}")).is(0);
        assert!(
            lab_protocol::console::is_clean(&output.out),
            "{format}: {:?}",
            output.out
        );
        lab.lab(&format!(
            "bench --show last --export {format} --output ../out"
        ))
        .is(0);
        assert_eq!(
            lab.read("../out").trim_end(),
            output.out.trim_end(),
            "{format}"
        );
    }
    let bmf: Value =
        serde_json::from_str(&lab.lab("bench --show last --export bmf").is(0).out).unwrap();
    assert!(
        bmf.as_object()
            .unwrap()
            .keys()
            .any(|name| name.contains("|`b`")),
        "{bmf}"
    );
}

#[test]
fn bytes_that_change_during_a_run_of_ones_own_harness_are_not_judged() {
    let lab = lab_with(&format!(
        "{TIMES}[ $n = 2 ] && echo '// edited' >> kernel.cu; true"
    ));
    let output = lab.lab("bench --runs 3").is(64);
    output
        .says("not judged: kernel.cu changed while the harness ran")
        .says("in 1 of 3 runs");
}

/// The problem of the 54 workloads, on the cpu device.
fn decode54() -> Lab {
    let lab = Lab::empty();
    lab.copy_problem("tests/problems/decode54", "");
    lab.write("lab.toml", "device = \"cpu\"\n");
    lab
}

/// With the built-in harness: `passed 54/54`, as the contest counts.
#[test]
fn the_54_workloads_of_the_decode_problem_pass() {
    let lab = decode54();
    let bench = lab.lab("bench --runs 2 --trials 1 --json").is(0).json();
    assert_eq!(
        (&bench["passed"], &bench["workload_count"]),
        (&json!(54), &json!(54))
    );
    assert_eq!(
        bench["discipline"],
        json!({ "warm_up": 3, "iterations": 100, "trials": 1 })
    );
    let names: Vec<&str> = bench["workloads"]
        .as_array()
        .unwrap()
        .iter()
        .map(|w| w["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        (names[0], names[9], names[10]),
        ("batch=1", "batch=1 nr=10", "batch=4")
    );
    let caveats = bench["caveats"].to_string();
    assert!(
        caveats.contains("its times say nothing about a GPU"),
        "{caveats}"
    );
    let text = lab.lab("bench --show last").is(0);
    assert!(
        text.out
            .contains("PASS  bench 1 of kernel.cu  passed 54/54 in 2 of 2 runs  cpu (emulated"),
        "{text:?}"
    );
    assert!(
        text.out.contains("… 42 more: --export md lists all"),
        "{text:?}"
    );
}

#[test]
fn a_workload_that_fits_no_device_is_named_with_what_it_needs_and_what_to_do() {
    let lab = decode54();
    let problem = lab.read("problem.toml");
    lab.write(
        "problem.toml",
        problem.replacen("batch = 48", "batch = 40000", 1),
    );
    let mut bench = lab.lab_command("bench --runs 2");
    finish(bench.env("LAB_CPU_MEMORY_MIB", "100").spawn().unwrap())
        .is(64)
        .says("problem.toml:")
        .says("the workload batch=40000 needs ")
        .says("of device memory, with what the judge and the reference hold")
        .says("has 100 MiB: make it smaller, remove it, or let cpu_max_cells leave it out, or use a device with more memory");
}

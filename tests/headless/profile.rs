//! `lab profile` with an ncu that runs the program it is given and prints recorded pages.

use crate::built_in::rmsnorm;
use crate::lab::{CommandOutput, Lab, finish};
use lab_testing::until;
use std::path::PathBuf;

/// An ncu that profiles nothing and prints pages of another launch. It is named with LAB_NCU, so it
/// runs on the cpu device too.
const NCU: &str = r#"#!/bin/sh
own=$(dirname "$0")
case "$1" in
--version) cat "$own/version.txt"; exit ;;
--import)
    case "$*" in *--csv*) ;; *) echo "  wavegru (128, 1, 1)x(256, 1, 1), Context 1"; exit ;; esac
    while [ "$1" != --page ]; do shift; done
    cat "$own/$2.csv"
    exit ;;
esac
while true; do
    case "$1" in
    --force-overwrite) shift ;;
    --export) report=$2; shift 2 ;;
    --kernel-name) filter=$2; shift 2 ;;
    --*) shift 2 ;;
    *) break ;;
    esac
done
case "$(cat "$own/mode" 2>/dev/null) $filter" in
*tiny*) ;;
hang*) sleep 600 & echo $! > "$own/started"; sleep 600 ;;
esac
"$@"
status=$?
echo report > "$report.ncu-rep"
exit $status
"#;

/// Puts the ncu beside the repository and returns its path.
pub fn ncu(lab: &Lab) -> PathBuf {
    std::fs::create_dir_all(lab.path("../tool")).unwrap();
    for (name, text) in [
        (
            "version.txt",
            include_str!("../../harness/judge/tests/judge/ncu/version.txt"),
        ),
        (
            "raw.csv",
            include_str!("../../harness/judge/tests/judge/ncu/raw.csv"),
        ),
        (
            "details.csv",
            include_str!("../../harness/judge/tests/judge/ncu/details.csv"),
        ),
        (
            "source.csv",
            include_str!("../../harness/judge/tests/judge/ncu/source.csv"),
        ),
    ] {
        lab.write(&format!("../tool/{name}"), text);
    }
    lab.script("../tool/ncu", NCU);
    lab.path("../tool/ncu")
}

fn with_ncu(lab: &Lab, args: &str) -> CommandOutput {
    let mut command = lab.lab_command(args);
    command.env("LAB_NCU", ncu(lab));
    finish(command.spawn().unwrap())
}

#[test]
fn a_profile_belongs_to_the_run_of_its_bytes() {
    let lab = rmsnorm();
    // Bytes that no run has judged are judged first. The cpu device has no counters.
    lab.lab("profile")
        .is(64)
        .says("nothing was profiled: the cpu device has no counters");
    assert!(lab.read(".lab/runs/1/record.json").contains("\"pass\""));
    assert!(!lab.path(".lab/runs/1/profile.json").exists());

    let output = with_ncu(&lab, "profile --set full --workload 1 --keep-report --json")
        .is(0)
        .json();
    let origin = &output["profile"]["origin"];
    assert_eq!(
        (origin["kind"].as_str(), origin["passes"].as_u64()),
        (Some("counters"), Some(38))
    );
    assert!(!output["profile"]["findings"].as_array().unwrap().is_empty());
    assert_eq!(lab.read(".lab/runs/1/profile.ncu-rep"), "report\n");
    assert!(
        !lab.path(".lab/runs/1/profiling").exists(),
        "the working folder is removed"
    );
    assert!(
        lab.read(".lab/runs/1/profile.log")
            .contains("profiler: ncu 2025.3.1.0 set=full")
    );
    // A profile that fails leaves the last one, and one without a report removes the old report.
    let kept = lab.read(".lab/runs/1/profile.json");
    with_ncu(&lab, "profile --workload no=1")
        .is(64)
        .says("no timed workload is 'no=1'");
    assert_eq!(lab.read(".lab/runs/1/profile.json"), kept);
    with_ncu(&lab, "profile").is(0);
    assert!(!lab.path(".lab/runs/1/profile.ncu-rep").exists());
    assert_eq!(lab.git("status --porcelain"), "");

    let kernel = "kernels/rmsnorm/kernel.cu";
    lab.write(
        kernel,
        lab.read(kernel) + "\nstatic __device__ int another = 1;\n",
    );
    let output = with_ncu(&lab, "profile --json").is(0).json();
    assert_eq!(output["run"], 2);
    // There is nothing to launch.
    lab.write(kernel, "none\n");
    lab.lab("profile")
        .is(64)
        .says("nothing was profiled: ")
        .says("kernel.cu");
}

#[test]
fn ncus_own_text_is_all_that_stdout_gets() {
    let lab = rmsnorm();
    let output = with_ncu(&lab, "run --ncu").is(0);
    assert_eq!(
        output.out.trim(),
        "wavegru (128, 1, 1)x(256, 1, 1), Context 1"
    );
    assert!(output.err.contains("PASS"), "{output:?}");
    lab.lab("run --ncu")
        .is(64)
        .says("the cpu device has no counters");
}

#[test]
fn durations_of_another_number_of_launches_are_refused() {
    let lab = rmsnorm();
    lab.lab("run").is(0);
    // The recorded page has one launch, and rmsnorm has several workloads.
    with_ncu(&lab, "profile --workloads all")
        .is(64)
        .says("ncu's report has 1 launches");
    lab.lab("profile --workloads all")
        .is(64)
        .says("the cpu device has no counters");
}

#[test]
fn what_cannot_be_profiled_is_said() {
    let lab = Lab::new();
    lab.lab("profile")
        .is(64)
        .says("is judged by `uv run harness.py`");
    let lab = rmsnorm();
    lab.lab("profile --set everything")
        .is(64)
        .says("quick, full or source");
    assert!(!lab.path(".lab/runs").exists());
}

#[test]
fn a_profile_says_what_the_workload_costs_and_how_long_the_run_took() {
    let lab = rmsnorm();
    lab.lab("run").is(0);
    let output = with_ncu(&lab, "profile --workload 1 --json").is(0).json();
    let least = &output["profile"]["least"];
    assert!(least["read_bytes"].as_f64().unwrap() > 0.0, "{least}");
    assert!(
        least["run_us"].as_f64().unwrap() > 0.0,
        "the run timed this workload: {least}"
    );
    assert!(
        least["floor_us"].is_null(),
        "the cpu device has no floor: {least}"
    );
    let digest: Vec<&str> = output["digest"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line.as_str().unwrap())
        .collect();
    assert!(
        digest
            .iter()
            .any(|line| line.starts_with("a launch must read ")),
        "{digest:?}"
    );
    assert!(
        digest.iter().any(|line| line.contains("× the least bytes")),
        "{digest:?}"
    );
    assert_eq!(lab.read(".lab/profiled"), "1");
}

#[test]
fn the_doctor_says_whether_counters_can_be_read() {
    let lab = rmsnorm();
    let output = with_ncu(&lab, "doctor");
    assert!(
        output.out.contains("ncu has counted a tiny kernel"),
        "{output:?}"
    );
    // Without a GPU and without LAB_NCU the doctor has no finding.
    let output = lab.lab("doctor");
    assert!(!output.out.contains("counters"), "{output:?}");
}

#[test]
fn nothing_of_a_profile_outlives_a_killed_lab() {
    let lab = rmsnorm();
    lab.lab("run").is(0);
    let mut command = lab.lab_command("profile");
    command.env("LAB_NCU", ncu(&lab));
    lab.write("../tool/mode", "hang");
    let mut profile = command.spawn().unwrap();
    let started = lab.path("../tool/started");
    until("ncu hangs over the kernel", || {
        std::fs::read_to_string(&started).is_ok_and(|pid| pid.ends_with('\n'))
    });
    profile.kill().unwrap();
    profile.wait().unwrap();
    let pid = std::fs::read_to_string(&started).unwrap();
    let status = PathBuf::from(format!("/proc/{}/status", pid.trim()));
    // A zombie does not count as running; this test does not care which process reaps it.
    let runs = || std::fs::read_to_string(&status).is_ok_and(|text| !text.contains("\nState:\tZ"));
    until("what ncu started ends", || !runs());
    // The next profile does not wait for the killed one.
    lab.write("../tool/mode", "");
    with_ncu(&lab, "profile").is(0);
    assert!(
        !lab.path(".lab/runs/1/profiling").exists(),
        "the working folder of the killed one is removed"
    );
}

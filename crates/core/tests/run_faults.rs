//! Faults after the start of a run. Each test breaks one thing while the harness runs and checks that the run still
//! ends with its verdict.
//!
//! The harness is a shell script that breaks the thing itself: it runs after the run was announced and before the
//! verdict is recorded.

#![allow(clippy::unwrap_used)]

mod support;

use lab_core::run::record::Record;
use lab_core::run::verdict::Outcome;
use lab_core::run::{Ending, Reason};
use std::fs;
use support::Bench;

/// Judges this kernel with a harness that runs `fault` and then passes. Returns the record of `Ended`.
#[track_caller]
fn run(bench: &Bench, kernel: &str, fault: &str) -> Record {
    let passes =
        "echo 'device: Test GPU'; echo 'throughput_sps: 100 low=99 high=101'; echo 'correctness: pass'";
    fs::write(bench.path("kernel.cu"), kernel).unwrap();
    bench.script(&format!("{fault}\n{passes}\n"));
    bench.run(Reason::Saved)
}

#[track_caller]
fn passes_with_caveat(record: &Record, caveat: &str) {
    let verdict = record.verdict.as_ref().expect("a verdict");
    assert_eq!(verdict.outcome, Outcome::Pass, "{verdict:?}");
    assert!(verdict.objective.is_some(), "{verdict:?}");
    assert!(verdict.caveats.iter().any(|text| text.contains(caveat)), "'{caveat}': {:?}", verdict.caveats);
}

#[test]
fn without_a_fault_there_is_no_caveat_and_the_incumbent_is_compared() {
    let bench = Bench::new();
    let kept = run(&bench, "// kept\n", ":");
    assert_eq!(kept.verdict.unwrap().caveats, [""; 0]);
    let tried = run(&bench, "// tried\n", ":");
    let verdict = tried.verdict.unwrap();
    assert_eq!(verdict.caveats, [""; 0]);
    assert!(verdict.change.is_some(), "the incumbent's recorded figure is compared");
}

#[test]
fn a_git_error_costs_the_comparison_and_not_the_verdict() {
    for fault in ["echo broken > .git/HEAD", "mv .git gone"] {
        let bench = Bench::new();
        run(&bench, "// kept\n", ":");
        let record = run(&bench, "// tried\n", fault);
        passes_with_caveat(&record, "not compared with the incumbent");
        assert_eq!(bench.recorded(2), record, "{fault}");
    }
}

#[test]
fn a_record_that_cannot_be_written_is_a_caveat() {
    let bench = Bench::new();
    let record =
        run(&bench, "// tried\n", "rm .lab/runs/1/record.json; mkdir -p .lab/runs/1/record.json/full");
    passes_with_caveat(&record, "this verdict is not recorded");
}

#[test]
fn a_run_folder_that_is_gone_is_a_caveat() {
    let bench = Bench::new();
    let record = run(&bench, "// tried\n", "rm -r .lab/runs/1");
    passes_with_caveat(&record, "this verdict is not recorded");
    passes_with_caveat(&record, "run.log is incomplete");
    let record = run(&bench, "// again\n", "rm -r .lab");
    passes_with_caveat(&record, "this verdict is not recorded");
}

#[test]
fn a_log_that_is_deleted_is_a_caveat() {
    let bench = Bench::new();
    let record = run(&bench, "// tried\n", "rm .lab/runs/1/run.log");
    passes_with_caveat(&record, "run.log is incomplete");
    assert_eq!(bench.recorded(1), record);
}

#[test]
fn an_index_that_cannot_be_read_or_written_changes_nothing() {
    let bench = Bench::new();
    run(&bench, "// kept\n", ":");
    let record = run(&bench, "// tried\n", "mkdir .lab/runs/index.jsonl");
    let verdict = record.verdict.as_ref().unwrap();
    assert_eq!(verdict.caveats, [""; 0]);
    assert!(verdict.change.is_some());
    assert_eq!(bench.recorded(2), record);
}

#[test]
fn a_harness_that_cannot_start_is_a_recorded_ending() {
    let bench = Bench::new();
    fs::remove_file(bench.temp.path().join("judge")).unwrap();
    let record = run(&bench, "// tried\n", ":");
    assert_eq!(record.ending, Some(Ending::NotStarted));
    let verdict = record.verdict.as_ref().unwrap();
    assert_eq!(verdict.outcome, Outcome::Crash);
    assert!(verdict.why.starts_with("the harness could not be started: "), "{}", verdict.why);
    assert_eq!(bench.recorded(1), record);
}

#[test]
fn the_next_run_works_after_each_fault() {
    let bench = Bench::new();
    run(&bench, "// one\n", "rm -r .lab/runs/1");
    let record = run(&bench, "// two\n", ":");
    assert_eq!(record.verdict.as_ref().unwrap().caveats, [""; 0]);
    assert_eq!(bench.recorded(record.start.id.0), record);
}

//! Faults after the start of a run. Each test breaks one thing while the harness runs and checks
//! that the run still ends with its verdict.
//!
//! The harness is a shell script that causes the fault: it runs after the run was announced and
//! before the verdict is recorded.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod support;

use lab_run::record::Record;
use lab_run::verdict::Outcome;
use lab_run::{Ending, Reason};
use lab_runner::RunEvent;
use lab_store::RunStore;
use std::fs;
use support::Bench;

/// Judges this kernel with a harness that runs `fault` and then passes. Returns the record of
/// `Ended`.
#[track_caller]
fn run(bench: &Bench, kernel: &str, fault: &str) -> Record {
    let passes = "echo 'device: Test GPU'; echo 'throughput_sps: 100 low=99 high=101'; echo 'correctness: pass'";
    fs::write(bench.path("kernel.cu"), kernel).unwrap();
    bench.script(&format!("{fault}\n{passes}\n"));
    bench.run(Reason::Saved)
}

#[track_caller]
fn passes_with_caveat(record: &Record, caveat: &str) {
    let verdict = record.verdict.as_ref().expect("a verdict");
    assert_eq!(verdict.outcome, Outcome::Pass, "{verdict:?}");
    assert!(verdict.objective.is_some(), "{verdict:?}");
    assert!(
        verdict.caveats.iter().any(|text| text.contains(caveat)),
        "'{caveat}': {:?}",
        verdict.caveats
    );
}

#[test]
fn without_a_fault_there_is_no_caveat_and_the_incumbent_is_compared() {
    let bench = Bench::new();
    let kept = run(&bench, "// kept\n", ":");
    assert_eq!(kept.verdict.unwrap().caveats, [""; 0]);
    let tried = run(&bench, "// tried\n", ":");
    let verdict = tried.verdict.unwrap();
    assert_eq!(verdict.caveats, [""; 0]);
    assert!(
        verdict.change.is_some(),
        "the incumbent's recorded figure is compared"
    );
}

#[test]
fn a_git_error_costs_the_comparison_and_not_the_verdict() {
    for fault in ["echo broken > .git/HEAD", "mv .git gone"] {
        let bench = Bench::new();
        run(&bench, "// kept\n", ":");
        let record = run(&bench, "// tried\n", fault);
        passes_with_caveat(&record, "no comparison with the incumbent");
        assert_eq!(bench.recorded(2), record, "{fault}");
    }
}

#[test]
fn a_record_that_cannot_be_written_is_a_caveat() {
    let bench = Bench::new();
    let record = run(
        &bench,
        "// tried\n",
        "rm .lab/runs/1/record.json; mkdir -p .lab/runs/1/record.json/full",
    );
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
    let record = run(&bench, "// tried\n", "mkdir .lab/runs/index.bin");
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
    assert_eq!(verdict.outcome, Outcome::NotJudged);
    assert!(
        verdict
            .why
            .starts_with("the harness could not be started: "),
        "{}",
        verdict.why
    );
    // The record is beside the runs, and the number is free.
    assert_eq!(
        RunStore::new(&bench.project.lab_dir)
            .read_not_judged()
            .unwrap(),
        record
    );
    assert!(!bench.path(".lab/runs/1").exists());
}

#[test]
fn the_next_run_works_after_each_fault() {
    let bench = Bench::new();
    run(&bench, "// one\n", "rm -r .lab/runs/1");
    let record = run(&bench, "// two\n", ":");
    assert_eq!(record.verdict.as_ref().unwrap().caveats, [""; 0]);
    assert_eq!(bench.recorded(record.start.id.0), record);
}

/// The next event says why there is no standby judge.
#[track_caller]
fn reason(bench: &Bench) -> String {
    match bench.event() {
        RunEvent::NoStandby { why } => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn why_no_judge_stands_by_is_told_once() {
    let bench = Bench::with_standby();
    run(&bench, "// one\n", "rm -r .lab/standby; touch .lab/standby");
    let why = reason(&bench);
    assert!(
        why.starts_with("no standby judge could be started (") && why.contains("Not a directory"),
        "{why}"
    );
    // `run` panics if the reason is reported again.
    run(&bench, "// two\n", ":");
    run(&bench, "// three\n", "rm .lab/standby");
    run(&bench, "// four\n", ":");
    let record = run(&bench, "// five\n", ":");
    assert_eq!(record.verdict.unwrap().outcome, Outcome::Pass);
}

#[test]
fn a_standby_judge_that_does_not_answer_is_told_of_and_the_run_has_its_own() {
    let bench = Bench::with_standby();
    let hangs = "case \"$request\" in *on_standby??true*) touch ../hangs; while :; do sleep 1000; done;; esac";
    lab_testing::write_script(
        &bench.path("../hanging"),
        &format!(
            "{}{hangs}\nexec sh ../script \"$@\"",
            lab_testing::READ_REQUEST
        ),
    );
    // The judge that is started after this run hangs.
    run(&bench, "// one\n", "mv ../hanging ../judge");
    lab_testing::until("the judge that hangs has started", || {
        bench.path("../hangs").exists()
    });
    bench.script("echo 'correctness: pass'");
    // Bytes that were just judged would not be judged again.
    fs::write(bench.path("kernel.cu"), "// two\n").unwrap();
    bench.runner().start(Reason::Saved);
    let RunEvent::Started(start) = bench.event() else {
        panic!("a run starts")
    };
    let why = reason(&bench);
    assert!(why.contains("it did not answer within 2 s"), "{why}");
    let record = loop {
        if let RunEvent::Ended(record) = bench.event() {
            break record;
        }
    };
    assert_eq!(record.start, *start);
    assert_eq!(record.verdict.unwrap().outcome, Outcome::Pass);
}

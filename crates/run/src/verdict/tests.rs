//! How lines and an ending become a verdict.

use super::*;
use lab_protocol::is_from_outside;
use proptest::prelude::*;

mod contradictions;

fn judged(log: &str, ending: Ending, external: bool) -> Verdict {
    let report = Report::read(log);
    judge(&Facts {
        report: &report,
        ending,
        external,
        script: None,
        changed: &[],
        objective: &Objective::Throughput,
        time_limit_s: 60.0,
        output_limit_mib: 64,
        same_within: 0.005,
        has_incumbent: true,
        incumbent: None,
        last_words: log
            .lines()
            .rfind(|l| !l.contains("limit=") && !l.contains("correctness"))
            .unwrap_or(""),
    })
}

/// `log; ending` to `OUTCOME why`.
#[track_caller]
fn check(log: &str, ending: Ending, wanted: &str) {
    let verdict = judged(&log.replace("; ", "\n"), ending, true);
    assert_eq!(
        format!("{} {}", verdict.outcome.word(), verdict.why).trim_end(),
        wanted
    );
}

#[test]
fn the_rules_in_their_order() {
    let ok = Ending::Exited(0);
    check("correctness: pass", ok, "PASS");
    check(
        "correctness: pass; a: 2 limit=1",
        ok,
        "FAIL a is 2, its limit 1",
    );
    check(
        "correctness: pass; a: nan limit=1",
        ok,
        "FAIL a is NaN, its limit 1",
    );
    check("correctness: fail", ok, "FAIL correctness: fail");
    check(
        "correctness: fail; h0 is off at 3",
        Ending::Exited(1),
        "FAIL correctness: fail: h0 is off at 3",
    );
    check(
        "correctness: pass",
        Ending::Exited(3),
        "CRASH correctness: pass, but exit code 3",
    );
    check(
        "correctness: pass; a: 2 limit=1",
        Ending::Exited(3),
        "FAIL a is 2, its limit 1",
    );
    check(
        "a: 2 limit=1",
        ok,
        "CRASH no correctness: line (exit code 0)",
    );
    check(
        "Traceback; ValueError('x')",
        Ending::Exited(1),
        "CRASH no correctness: line (exit code 1): ValueError('x')",
    );
    check(
        "sh: 1: uvv: not found",
        Ending::Exited(127),
        "NOT JUDGED the harness command was not found (exit code 127): sh: 1: uvv: not found",
    );
    for (said, code) in [
        ("judge.sh: 2: Cannot fork", 2),
        ("sh: fork: Resource temporarily unavailable", 254),
    ] {
        let wanted = format!(
            "NOT JUDGED Linux started no further process for the harness: end other programs, or raise the limit (`ulimit -u`) \
             (exit code {code}): {said}"
        );
        check(said, Ending::Exited(code), &wanted);
    }
    check(
        "Cannot fork; correctness: fail",
        Ending::Exited(2),
        "FAIL correctness: fail: Cannot fork",
    );
    check(
        "correctness: fail",
        Ending::Exited(127),
        "FAIL correctness: fail",
    );
    check(
        "sh: 1: ./h: Permission denied",
        Ending::Exited(126),
        "NOT JUDGED the harness command cannot be run (exit code 126): sh: 1: ./h: Permission denied",
    );
    check(
        "no GPU",
        Ending::Exited(64),
        "NOT JUDGED the harness judged nothing (exit code 64): no GPU",
    );
    check(
        "fault: lab; stopped: no GPU",
        Ending::Exited(1),
        "NOT JUDGED no GPU",
    );
    check(
        "correctness: fail",
        Ending::Exited(64),
        "FAIL correctness: fail",
    );
    check(
        "fault: lab",
        Ending::TimedOut,
        "CRASH it ran longer than time_limit_s = 60",
    );
    check(
        "stage: reference",
        Ending::TimedOut,
        "CRASH it ran longer than time_limit_s = 60",
    );
    check(
        "lab: the disk is full",
        Ending::NotStarted,
        "NOT JUDGED the disk is full",
    );
    check(
        "correctness: pass",
        Ending::Signalled(11),
        "CRASH the harness was ended by signal 11 (segmentation fault)",
    );
    check(
        "correctness: fail",
        Ending::TimedOut,
        "CRASH it ran longer than time_limit_s = 60",
    );
    check(
        "correctness: pass",
        Ending::Flooded,
        "CRASH too much output: more than output_limit_mib = 64",
    );
    check(
        "correctness: pass",
        Ending::Superseded,
        "VOID it was ended before it was done",
    );
}

#[test]
fn what_does_not_build_is_a_build_error() {
    let log = "kernel.cu:3:1: error: 'x' was not declared\n";
    let built_in = judged(log, Ending::Exited(2), false);
    assert!(built_in.build_failed);
    assert_eq!(
        (built_in.outcome, built_in.sign(), built_in.word()),
        (Outcome::Crash, "✗", "BUILD ERROR")
    );
    assert_eq!(built_in.why, "kernel.cu:3: 'x' was not declared");
    assert_eq!(built_in.exit(), Exit::NotBuilt);
    let own = |more: &str, ending| judged(&format!("{log}{more}"), ending, true);
    for (more, code) in [
        ("", 2),
        ("build: failed\n", 0),
        ("build: failed\n", 1),
        ("build: failed\n", 64),
    ] {
        let own = own(more, Ending::Exited(code));
        assert_eq!(
            (own.word(), own.exit()),
            ("BUILD ERROR", Exit::NotBuilt),
            "{more} {code}"
        );
        assert_eq!(own.why, "kernel.cu:3: 'x' was not declared");
    }
    assert_eq!(own("correctness: fail", Ending::Exited(2)).word(), "FAIL");
    assert_eq!(own("build: failed\n", Ending::TimedOut).word(), "CRASH");
    assert_eq!(
        own("build: failed\n", Ending::Signalled(11)).word(),
        "CRASH"
    );
    assert_eq!(
        own(
            "build: failed\nbuild: 0.4\ncorrectness: pass",
            Ending::Exited(0)
        )
        .word(),
        "PASS"
    );
    assert_eq!(judged("", Ending::Exited(2), true).why, "it does not build");
    let stopped = judged(
        "stopped: kernel.cu has no entry\n",
        Ending::Exited(3),
        false,
    );
    assert_eq!(stopped.why, "kernel.cu has no entry");
}

#[test]
fn a_fault_of_the_problem_or_the_machine_is_not_judged() {
    let log = "stage: reference\nfault: problem\nstopped: reference.cu: it hangs\n";
    let verdict = judged(log, Ending::Exited(64), false);
    assert_eq!(
        (verdict.outcome, verdict.word()),
        (Outcome::NotJudged, "NOT JUDGED")
    );
    assert_eq!(
        (verdict.why.as_str(), verdict.exit()),
        ("reference.cu: it hangs", Exit::NOT_JUDGED)
    );
    let late = judged("stage: reference\n", Ending::TimedOut, false);
    assert_eq!(late.outcome, Outcome::NotJudged);
    assert_eq!(
        judged("stage: verify\n", Ending::TimedOut, false).outcome,
        Outcome::Crash
    );
    for log in ["stage: build\n", "a: 0 limit=1\n", "correctness: pass\n"] {
        let killed = judged(log, Ending::Signalled(9), false);
        assert_eq!(
            (killed.outcome, killed.why.as_str()),
            (
                Outcome::NotJudged,
                "the judge was ended by signal 9 (kill): ended from outside, or the machine ran out of memory; judge again"
            )
        );
    }
    // The worker of a kernel, and a harness of the user's own.
    let worker = "stopped: the kernel crashed: its process was ended by SIGKILL (no memory)\n";
    let killed = judged(worker, Ending::Exited(3), false);
    assert_eq!(
        (killed.outcome, killed.why.as_str()),
        (
            Outcome::NotJudged,
            "the kernel crashed: its process was ended by SIGKILL (no memory); judge again"
        )
    );
    for number in [1, 2, 9, 15] {
        let killed = judged("correctness: pass\n", Ending::Signalled(number), true);
        assert_eq!(killed.outcome, Outcome::NotJudged, "{killed:?}");
        assert!(is_from_outside(&killed.why), "{killed:?}");
    }
    let wrong = format!("a: 2 limit=1\n{worker}");
    assert_eq!(
        judged(&wrong, Ending::Exited(3), false).outcome,
        Outcome::Crash
    );
    let own = worker.replace("SIGKILL", "SIGSEGV");
    assert_eq!(
        judged(&own, Ending::Exited(3), false).outcome,
        Outcome::Crash
    );
    for log in ["a: 2 limit=1\n", "correctness: fail\n"] {
        let wrong = judged(log, Ending::Signalled(9), false);
        assert_eq!(
            wrong.outcome,
            Outcome::Crash,
            "it had said what is wrong: {wrong:?}"
        );
    }
    let failed = judged(
        "stage: build\nthread 'main' panicked\n",
        Ending::Exited(101),
        false,
    );
    let why = "the judge failed (exit code 101): thread 'main' panicked";
    assert_eq!(
        (failed.outcome, failed.why.as_str()),
        (Outcome::NotJudged, why)
    );
    let written = serde_json::to_string(&late.outcome).expect("written");
    assert_eq!(written, "\"not_judged\"");
}

#[test]
fn a_measure_is_of_a_passing_run_and_a_number() {
    let fast = "throughput_sps: 10 low=9 high=11\nkernel_us: 5\n";
    assert!(
        judged(&format!("{fast}correctness: pass"), Ending::Exited(0), true)
            .objective
            .is_some()
    );
    let wrong = judged(&format!("{fast}correctness: fail"), Ending::Exited(0), true);
    assert_eq!((wrong.objective, wrong.kernel_us), (None, None));
    let nan = judged(
        "throughput_sps: nan\ncorrectness: pass",
        Ending::Exited(0),
        true,
    );
    assert_eq!((nan.outcome, nan.objective), (Outcome::Pass, None));
    assert_eq!(
        nan.caveats,
        ["nothing was measured: throughput_sps: 'nan' is no number"]
    );
    assert_eq!(
        (nan.exit(), nan.unmeasured()),
        (Exit::Crashed, nan.caveats.first().cloned())
    );
}

#[test]
fn a_caveat_of_the_harness_is_not_taken_for_the_reason_why_nothing_was_measured() {
    let own = "nothing was measured on the second GPU";
    let mut verdict = judged(
        &format!("caveat: {own}\ncorrectness: pass"),
        Ending::Exited(0),
        true,
    );
    let reason = "nothing was measured: the harness printed no throughput_sps line";
    assert_eq!(verdict.unmeasured().as_deref(), Some(reason));
    assert_eq!(verdict.caveats, [own, reason]);
    verdict.forgive_unmeasured();
    assert_eq!(verdict.caveats, [own]);
    let measured = judged(
        &format!("caveat: {own}\nthroughput_sps: 10\ncorrectness: pass"),
        Ending::Exited(0),
        true,
    );
    assert_eq!(
        (measured.unmeasured(), measured.unmeasured.is_none()),
        (None, true)
    );
}

#[test]
fn a_verdict_that_measured_nothing_is_read_back() {
    let new = judged("correctness: pass", Ending::Exited(0), true);
    let written = serde_json::to_string(&new).expect("written");
    assert_eq!(
        serde_json::from_str::<Verdict>(&written).expect("read"),
        new
    );
}

#[test]
fn a_comparison_in_turns_is_told_with_its_word_and_its_ends() {
    let log =
        "throughput_sps: 10\nspeed_ratio: 1.0213 low=1.0190 high=1.0236 quads=3\nspeed: faster\n";
    let passed = judged(&format!("{log}correctness: pass"), Ending::Exited(0), false);
    assert_eq!(
        passed.change.expect("a change").to_string(),
        "faster +2.1 % (+1.9 … +2.4)"
    );
    let failed = judged(&format!("{log}correctness: fail"), Ending::Exited(1), false);
    assert_eq!(failed.change, None);
    let taken_back = format!("{log}speed_ratio: nan\nspeed: none\ncorrectness: pass");
    assert_eq!(judged(&taken_back, Ending::Exited(0), false).change, None);
}

/// Three workloads whose figure the problem chose: bytes per second.
const SEVERAL: &str = "objective: throughput_gbps\nthroughput_sps: 10 low=9 high=11 aggregate=geometric workloads=3\n\
    throughput_gbps: 400 low=390 high=410 aggregate=geometric workloads=3\nkernel_us: 5 aggregate=geometric workloads=3\n\
    workload: n=1 kernel_us=2 ratio=1.4 ratio_low=1.3 ratio_high=1.5 speed=faster correctness=pass\n\
    workload: n=2 kernel_us=3 ratio=0.95 ratio_low=0.94 ratio_high=0.96 speed=slower correctness=pass\n\
    workload: n=3 kernel_us=9 ratio=1.0 ratio_low=0.9 ratio_high=1.1 speed=undecided correctness=pass\n\
    speed_ratio: 1.0996 low=1.0950 high=1.1040 quads=9\nspeed: mixed\n";

#[test]
fn a_mixed_result_says_so_and_names_the_worst_workload() {
    let passed = judged(
        &format!("{SEVERAL}correctness: pass"),
        Ending::Exited(0),
        false,
    );
    assert_eq!(
        passed.change.expect("a change").to_string(),
        "mixed +10.0 % (+9.5 … +10.4)"
    );
    let workloads = passed.workloads.clone().expect("three were compared");
    assert_eq!(
        (
            workloads.faster,
            workloads.same,
            workloads.slower,
            workloads.undecided
        ),
        (1, 0, 1, 1)
    );
    assert_eq!(
        passed.slower_workloads().as_deref(),
        Some("1 of 3 workloads is slower, the worst n=2 by -5.0 % (-6.0 … -4.0)")
    );
    let written = serde_json::to_string(&passed).expect("written");
    assert_eq!(
        serde_json::from_str::<Verdict>(&written).expect("read"),
        passed
    );
    let failed = judged(
        &format!("{SEVERAL}correctness: fail"),
        Ending::Exited(1),
        false,
    );
    assert_eq!(
        (failed.workloads, failed.chosen, failed.aggregate),
        (None, None, None)
    );
}

#[test]
fn cells_without_a_tolerance_are_counted_and_the_first_is_named() {
    let failed = |gate: &str| {
        let log = format!(
            "{gate}: inf limit=1\nfirst_failure: at[3] is 0, expected 5 (2 of 40 cells differ); x[3, :] is planted: ties; \
             rows=40, set 0\ncorrectness: fail\n"
        );
        judged(&log, Ending::Exited(1), false).why
    };
    assert_eq!(
        failed("at_error"),
        "at_error: at[3] is 0, expected 5 (2 of 40 cells differ)"
    );
    assert_eq!(
        failed("other_error"),
        "other_error is inf, its limit 1",
        "the failure is of another tensor"
    );
    assert_eq!(failed("at_mismatched"), "at_mismatched is inf, its limit 1");
}

#[test]
fn the_figure_is_the_one_that_the_problem_chose() {
    let passed = judged(
        &format!("{SEVERAL}correctness: pass"),
        Ending::Exited(0),
        false,
    );
    // results.tsv has samples per second all the same.
    assert_eq!(passed.objective.map(|m| m.value), Some(10.0));
    let figure = passed.figure(&Objective::Throughput).expect("a figure");
    assert_eq!(
        (figure.measure.value, figure.goal()),
        (400.0, lab_project::config::Goal::Maximize)
    );
    assert_eq!(figure.unit(), "GB/s, geometric mean of 3 workloads");
    // A harness of the user's own has lab.toml for that.
    let own = judged(
        &format!("{SEVERAL}correctness: pass"),
        Ending::Exited(0),
        true,
    );
    let figure = own.figure(&Objective::Throughput).expect("a figure");
    assert_eq!((figure.measure.value, own.chosen), (10.0, None));
    assert_eq!(figure.unit(), "sps, geometric mean of 3 workloads");
    let one = judged(
        "throughput_sps: 10\ncorrectness: pass",
        Ending::Exited(0),
        false,
    );
    assert_eq!(
        one.figure(&Objective::Throughput).expect("a figure").unit(),
        "sps"
    );
}

fn ending() -> impl Strategy<Value = Ending> {
    prop_oneof![
        (0..130i32).prop_map(Ending::Exited),
        (1..30i32).prop_map(Ending::Signalled),
        Just(Ending::TimedOut),
        Just(Ending::Flooded),
        Just(Ending::Superseded),
        Just(Ending::NotStarted),
    ]
}

proptest! {
    /// Whatever a harness prints, only one that says pass, takes nothing back, breaks no limit and
    /// exits with zero passes.
    #[test]
    fn nothing_else_passes(lines in proptest::collection::vec("(correctness: (pass|fail|maybe))|([a-c]: (1|2|nan) limit=1)|.{0,20}", 0..8), ending in ending()) {
        let log = lines.join("\n");
        let report = Report::read(&log);
        let verdict = judged(&log, ending, true);
        let deserved = ending == Ending::Exited(0)
            && report.correctness() == Some(true)
            && report.changed("correctness").is_none()
            && report.changed_gates().next().is_none()
            && report.gates().iter().all(|g| g.value <= g.limit);
        prop_assert_eq!(verdict.outcome == Outcome::Pass, deserved);
        prop_assert_eq!(verdict.outcome == Outcome::Void, ending == Ending::Superseded);
        prop_assert!(verdict.outcome == Outcome::Pass || verdict.objective.is_none());
    }
}

//! Lines of a harness that contradict each other, as text in and a verdict out.

use super::*;
use crate::record::Record;
use crate::{Fingerprint, Reason, RunId, RunStart};

const RIGHT: &str = "device: GPU; a: 0.5 limit=1; throughput_sps: 100 low=99 high=101; kernel_us: 5; incumbent_sps: 98; \
                     speed_ratio: 1.02 low=1.01 high=1.03; speed: faster; \
                     workload: n=1 us=3 ratio=1.02 ratio_low=1.01 ratio_high=1.03 speed=faster correctness=pass; \
                     workload: n=2 us=3 ratio=1.01 ratio_low=0.99 ratio_high=1.03 speed=undecided; \
                     peer: other ratio=1.5 low=1.4 high=1.6; correctness: pass";

/// The lines of [`RIGHT`] with one of them in place of the line with the same beginning.
fn with(line: &str) -> String {
    let key = line
        .split(' ')
        .take(if line.starts_with("workload") { 2 } else { 1 });
    let begin = key.collect::<Vec<_>>().join(" ");
    let lines = RIGHT
        .split("; ")
        .map(|own| if own.starts_with(&begin) { line } else { own });
    lines.collect::<Vec<_>>().join("; ")
}

#[test]
fn lines_of_a_harness_that_contradict_each_other_are_not_judged() {
    let ok = Ending::Exited(0);
    check(RIGHT, ok, "PASS");
    for (lines, why) in [
        (
            "correctness: fail; correctness: pass",
            "the harness contradicts itself: 'correctness: fail', then 'correctness: pass'",
        ),
        (
            "correctness: pass; correctness: fail",
            "the harness contradicts itself: 'correctness: pass', then 'correctness: fail'",
        ),
        (
            "a: 5 limit=1; a: 0.1 limit=1; correctness: pass",
            "the harness contradicts itself: 'a: 5 limit=1', then 'a: 0.1 limit=1'",
        ),
        (
            "a: 5 limit=1; a: 5; correctness: pass",
            "the harness contradicts itself: 'a: 5 limit=1', then 'a: 5'",
        ),
        (
            "throughput_sps: 10; throughput_sps: 90; correctness: pass",
            "the harness contradicts itself: 'throughput_sps: 10', then 'throughput_sps: 90'",
        ),
        (
            "speed: slower; speed: faster; correctness: pass",
            "the harness contradicts itself: 'speed: slower', then 'speed: faster'",
        ),
        (
            "device: cpu (emulated); device: H200; correctness: pass",
            "the harness contradicts itself: 'device: cpu (emulated)', then 'device: H200'",
        ),
        (
            "build: failed; correctness: pass",
            "the harness contradicts itself: 'correctness: pass' beside 'build: failed'",
        ),
        (
            "fault: lab; correctness: pass",
            "the harness contradicts itself: 'correctness: pass' beside 'fault: lab'",
        ),
        (
            &with("workload: n=1 us=3 correctness=fail"),
            "the harness contradicts itself: 'correctness: pass' beside 'workload: n=1 us=3 correctness=fail'",
        ),
        (
            &with("a: -inf limit=1"),
            "the harness printed 'a: -inf limit=1', and no difference is minus infinity",
        ),
        (
            &with("a: 3 limit=inf"),
            "the harness printed 'a: 3 limit=inf', and that limits nothing",
        ),
        (
            &with("throughput_sps: -4"),
            "the harness printed 'throughput_sps: -4', and such a figure is above zero",
        ),
        (
            &with("kernel_us: 0"),
            "the harness printed 'kernel_us: 0', and such a figure is above zero",
        ),
        (
            &with("throughput_sps: 100 low=101 high=99"),
            "the harness printed 'throughput_sps: 100 low=101 high=99', and its interval ends before it begins",
        ),
        (
            &with("throughput_sps: 100 low=200 high=300"),
            "the harness printed 'throughput_sps: 100 low=200 high=300', and it lies outside of its own interval",
        ),
        (
            &with("throughput_sps: 100 low=200"),
            "the harness printed 'throughput_sps: 100 low=200', and it lies outside of its own interval",
        ),
        (
            &with("speed_ratio: 0.5 low=0.4 high=0.6"),
            "the harness contradicts itself: 'speed: faster' beside 'speed_ratio: 0.5 low=0.4 high=0.6'",
        ),
        (
            &with("speed_ratio: 1.02 low=0.99 high=1.04"),
            "the harness contradicts itself: 'speed: faster' beside 'speed_ratio: 1.02 low=0.99 high=1.04'",
        ),
        (
            &with("speed: slower"),
            "the harness contradicts itself: 'speed: slower' beside 'speed_ratio: 1.02 low=1.01 high=1.03'",
        ),
        (
            &with("speed_ratio: 1.02 low=1.03 high=1.01"),
            "the harness printed 'speed_ratio: 1.02 low=1.03 high=1.01', and its interval ends before it begins",
        ),
        (
            &with("speed_ratio: -1.02"),
            "the harness printed 'speed_ratio: -1.02', and such a figure is above zero",
        ),
        (
            &with("speed_ratio: 1.2 low=1.19 high=1.21"),
            "the harness printed 'speed_ratio: 1.2 low=1.19 high=1.21', and the ratios of its workloads are from 0.99 to 1.03",
        ),
        (
            &with("incumbent_sps: 150"),
            "the harness contradicts itself: 'speed: faster' beside 'throughput_sps: 100 low=99 high=101', 'incumbent_sps: 150'",
        ),
        (
            &with("workload: n=1 us=3 ratio=0.9 ratio_low=0.8 ratio_high=0.95 speed=faster"),
            "the harness printed 'workload: n=1 us=3 ratio=0.9 ratio_low=0.8 ratio_high=0.95 speed=faster', and its ratio contradicts its verdict",
        ),
        (
            &with("workload: n=1 us=-3 ratio=1.02 speed=faster"),
            "the harness printed 'workload: n=1 us=-3 ratio=1.02 speed=faster', and such a figure is above zero",
        ),
        (
            &with("peer: other ratio=1.5 low=1.6 high=1.7"),
            "the harness printed a line 'peer: other' with the ratio 1.5, and it lies outside of its own interval",
        ),
        (
            "speed_ratio: 2.0 low=1.9 high=2.1; speed: same; correctness: pass",
            "the harness contradicts itself: 'speed: same' beside 'speed_ratio: 2.0 low=1.9 high=2.1'",
        ),
    ] {
        check(lines, ok, &format!("NOT JUDGED {why}"));
    }
}

#[test]
fn a_harness_may_say_again_what_it_said_take_a_comparison_back_and_count_as_it_likes() {
    let ok = Ending::Exited(0);
    for lines in [
        "correctness: pass; correctness: pass",
        "stage: build; stage: verify; progress: 1/2; progress: 2/2; loss: 3; loss: 2; correctness: pass",
        "speed_ratio: 1.2 low=1.1 high=1.3; speed: faster; speed_ratio: nan; speed: none; correctness: pass",
        "speed_ratio: nan; speed: none; speed_ratio: 1.2 low=1.1 high=1.3; speed: faster; correctness: pass",
        "speed_ratio: 1.2 low=1.1 high=1.3; speed_ratio: 1.3 low=1.2 high=1.4; speed_ratio: nan; correctness: pass",
        "log_error: -7 limit=-5; correctness: pass",
        "kernel_us: 20 low=19 high=21; kernel_us: 20.0 low=19.0 high=2.1e1; correctness: pass",
        "kernel_us: 20 us; first_failure: none; races: 0; memcheck_findings: 0; build: 0.4; correctness: pass",
        "Correctness: every cell beside a double; correctness: pass",
        "floor_us: 9; kernel_us: 20; of_estimate: 130; correctness: pass",
        "workload: n=1 kernel_us=3 of_floor=99 correctness=pass; workload: n=1 nr=2 kernel_us=4 correctness=pass; correctness: pass",
        "workload: bytes=8 kernel_us=3; workload: bytes=16 kernel_us=3; workload: n=1 kernel_us=nan low_us=nan high_us=nan; correctness: pass",
        "throughput_sps: nan; kernel_us: nan; correctness: pass",
    ] {
        check(lines, ok, "PASS");
    }
    check(
        "throughput_sps: -4; correctness: fail",
        ok,
        "FAIL correctness: fail: throughput_sps: -4",
    );
    check(
        "correctness: pass; a: 2 limit=1; throughput_sps: -4",
        ok,
        "FAIL a is 2, its limit 1",
    );
}

#[test]
fn an_objective_of_the_users_own_may_be_any_number() {
    let judged = |log: &str| {
        let report = Report::read(log);
        let verdict = judge(&facts(&report, &"score".into(), true));
        format!("{} {}", verdict.outcome.word(), verdict.why)
    };
    assert_eq!(judged("score: -3\ncorrectness: pass\n").trim_end(), "PASS");
    assert_eq!(
        judged("score: -3 low=-2 high=-1\ncorrectness: pass\n"),
        "NOT JUDGED the harness printed 'score: -3 low=-2 high=-1', and it lies outside of its own interval"
    );
}

/// Lines that would be a keep.
const KEPT: &str = "correctness: pass; throughput_sps: 1000 low=990 high=1010; kernel_us: 20; \
                    speed_ratio: 1.10 low=1.08 high=1.12; speed: faster";

/// These lines behind those of a keep, or in place of those with the same key, are not judged.
#[track_caller]
fn refused(lines: &str, why: &str) {
    let key = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
    let replaced: Vec<String> = lines.split("; ").map(key).collect();
    let kept = KEPT
        .split("; ")
        .filter(|line| !replaced.contains(&key(line)));
    let log = kept.chain([lines]).collect::<Vec<_>>().join("; ");
    let wanted = format!("NOT JUDGED {why}");
    check(&log, Ending::Exited(0), &wanted);
}

#[test]
fn figures_that_are_no_finite_numbers_or_out_of_their_range() {
    check(KEPT, Ending::Exited(0), "PASS");
    let end = "an end of an interval is a finite number";
    let finite = "such a figure is a finite number";
    for (line, why) in [
        ("speed_ratio: 1.10 low=1.05 high=inf", end),
        ("speed_ratio: 1.10 low=nan high=1.12", end),
        ("speed_ratio: 1.10 low=1.05 high=1e400", end),
        ("throughput_sps: 1000 low=few high=1100", end),
        ("speed_ratio: inf", finite),
        ("throughput_sps: inf", finite),
        ("kernel_us: 1e400", finite),
        ("kernel_us: -inf", finite),
        ("spread_pct: -3", "such a figure is not below zero"),
        ("y_error: 1e300 limit=1e308", "that limits nothing"),
        ("workload: n=1 kernel_us=inf", finite),
        ("workload: n=1 kernel_us=3 low_us=2 high_us=inf", end),
        (
            "workload: n=1 kernel_us=3 of_floor=200",
            "nothing is faster than its floor",
        ),
        (
            "workload: n=1 kernel_us=3 of_floor=-1",
            "nothing is faster than its floor",
        ),
        (
            "workload: n=1 kernel_us=3 incumbent_us=3 ratio=50",
            "its ratio contradicts its times",
        ),
    ] {
        refused(line, &format!("the harness printed '{line}', and {why}"));
    }
    refused(
        "floor_us: 100",
        "the harness contradicts itself: 'kernel_us: 20' beside 'floor_us: 100'",
    );
    refused(
        "incumbent_sps: 990; speed_ratio: 50 low=49 high=51",
        "the harness contradicts itself: 'speed_ratio: 50 low=49 high=51' beside \
         'throughput_sps: 1000 low=990 high=1010', 'incumbent_sps: 990'",
    );
}

#[test]
fn a_line_with_two_values_decides_nothing() {
    for line in [
        "correctness: pass fail",
        "y_error: 0 5 limit=1",
        "y_error: 0 limit=1 limit=10",
        "kernel_us: 20 30",
        "throughput_sps: 1000 low=990 high=1010 low=5",
    ] {
        let why = format!("the harness printed '{line}', and such a line has one value");
        refused(line, &why);
    }
    for (one, other) in [
        ("launched_as: plain", "launched_as: graph"),
        ("objective: kernel_us", "objective: throughput_gbps"),
        ("kernel_us: 20", "kernel_us: 20.1"),
    ] {
        refused(
            &format!("{one}; {other}"),
            &format!("the harness contradicts itself: '{one}', then '{other}'"),
        );
    }
}

#[test]
fn a_pass_beside_a_line_that_says_that_something_failed() {
    for line in [
        "first_failure: y[3] is 5, expected 2",
        "stopped: the device fell over",
        "races: 7",
        "out_of_bounds: 3",
        "memcheck_findings: 4",
        "check: memcheck found something",
        "build: broken",
        "build: failed",
        "fault: kernel",
        "workload: rows=1 kernel_us=3 correctness=wrong",
        "workload: rows=1 kernel_us=3 correctness=FAIL",
        "workload: rows=1 kernel_us=3 correctness=no",
        "workload: rows=1 kernel_us=3 correctness=not_judged",
        "workload: rows=1 correctness=fail correctness=pass",
    ] {
        let why = format!("the harness contradicts itself: 'correctness: pass' beside '{line}'");
        refused(line, &why);
    }
    // It is text, but no text of a kernel that is right.
    for line in [
        "  correctness: fail",
        "\tcorrectness : failed",
        "Correctness: FAIL!",
        "CORRECTNESS=wrong",
    ] {
        let why = format!(
            "the harness contradicts itself: 'correctness: pass' beside '{}'",
            line.trim()
        );
        check(
            &format!("{KEPT}; {line}"),
            Ending::Exited(0),
            &format!("NOT JUDGED {why}"),
        );
    }
}

#[test]
fn workloads_that_contradict_the_whole() {
    let slow = "workload: n=1 kernel_us=3 ratio=0.5 ratio_low=0.4 ratio_high=0.6";
    let ratio = "'speed_ratio: 1.10 low=1.08 high=1.12'";
    refused(
        slow,
        &format!("the harness contradicts itself: {ratio} beside '{slow}'"),
    );
    for lines in [
        "workload: n=1 kernel_us=3 speed=slower",
        "workload: n=1 kernel_us=3 speed=slower; workload: n=2 kernel_us=3 speed=slower",
        "workload_speeds: 2 faster=0 same=0 slower=2 undecided=0; worst_workload: 0.5",
        "worst_workload: 0.5 low=0.4 high=0.6 at=rows=1",
    ] {
        let first = lines.split("; ").next().unwrap_or_default();
        refused(
            lines,
            &format!("the harness contradicts itself: 'speed: faster' beside '{first}'"),
        );
    }
    refused(
        "workload: n=1 kernel_us=3 ratio=1.1; workload: n=1 kernel_us=9 ratio=1.1",
        "the harness contradicts itself: 'workload: n=1 kernel_us=3 ratio=1.1', \
         then 'workload: n=1 kernel_us=9 ratio=1.1'",
    );
    refused(
        "workloads: 5 of=3 when=save",
        "the harness printed 'workloads: 5 of=3 when=save', and no more workloads are judged than there are",
    );
    refused(
        "workloads: 2 of=3 when=save; workload: n=1 kernel_us=3",
        "the harness contradicts itself: 'workloads: 2 of=3 when=save' beside 1 line 'workload:'",
    );
    refused(
        "kernel_us: 4 aggregate=geometric workloads=3; workload: n=1 kernel_us=3; workload: n=2 kernel_us=5",
        "the harness contradicts itself: 'kernel_us: 4 aggregate=geometric workloads=3' beside 2 lines 'workload:'",
    );
}

#[test]
fn turns_that_contradict_a_workload() {
    let turns = "turns: 1 0.5 0.5 1\n".repeat(4);
    let slow = "workload: n=1 kernel_us=3 ratio=0.5 ratio_low=0.4 ratio_high=0.6 speed=slower";
    let mut report = Report::read(&format!(
        "correctness: pass\nthroughput_sps: 1000\n{turns}{slow}\n"
    ));
    report.judge_turns(0.005);
    let verdict = judge(&facts(&report, &Objective::Throughput, true));
    assert_eq!(
        format!("{} {}", verdict.outcome.word(), verdict.why),
        format!("NOT JUDGED the harness contradicts itself: 'speed: faster' beside '{slow}'")
    );
}

fn facts<'a>(report: &'a Report, objective: &'a Objective, external: bool) -> Facts<'a> {
    Facts {
        report,
        ending: Ending::Exited(0),
        external,
        script: None,
        changed: &[],
        objective,
        time_limit_s: 60.0,
        output_limit_mib: 64,
        same_within: 0.005,
        has_incumbent: true,
        incumbent: None,
        last_words: "",
    }
}

/// Numbers at the ends of what a line can say.
const NUMBERS: &str = "(inf|-inf|nan|1e400|-1e400|1e308|1e-308|4e-324|0|-0|-1|1|1.1|0.9|20|1000|x)";

proptest! {
    /// JSON has no infinity: whatever a harness prints, the record of its run can be read.
    #[test]
    fn the_record_of_any_report_is_read_back(
        lines in proptest::collection::vec(
            (
                "(throughput_sps|kernel_us|throughput_gbps|incumbent_sps|speed_ratio|score|objective|workloads)",
                NUMBERS, NUMBERS, NUMBERS,
            ),
            0..6,
        ),
        rows in proptest::collection::vec((NUMBERS, NUMBERS, "(faster|slower|same)"), 0..4),
        speed in "(faster|slower|mixed)",
        chosen in 0..3usize,
        external in any::<bool>(),
    ) {
        let mut log = format!("correctness: pass\nspeed: {speed}\nobjective: throughput_gbps\n");
        for (key, value, low, high) in lines {
            log += &format!("{key}: {value} low={low} high={high}\n");
        }
        for (at, (time, ratio, speed)) in rows.iter().enumerate() {
            log += &format!("workload: n={at} ms={time} ratio={ratio} ratio_low={ratio} speed={speed}\n");
        }
        let mut report = Report::read(&log);
        report.judge_turns(0.005);
        let objective = ["throughput_sps", "kernel_us", "score"][chosen].into();
        let mut record = begun();
        record.verdict = Some(judge(&facts(&report, &objective, external)));
        let text = serde_json::to_string(&record).expect("written");
        let read: serde_json::Result<Record> = serde_json::from_str(&text);
        prop_assert!(read.is_ok(), "{read:?} of {log}");
        prop_assert_eq!(read.ok().and_then(|read| read.verdict), record.verdict);
    }
}

fn begun() -> Record {
    let start = RunStart {
        id: RunId(1),
        reason: Reason::Command,
        kernel: "kernel.cu".into(),
        blob: "0".repeat(40),
        fingerprint: Fingerprint("f".into()),
        started: jiff::Timestamp::UNIX_EPOCH,
        external: true,
    };
    Record::begun(start, Vec::new(), "true".into())
}

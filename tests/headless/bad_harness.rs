//! Harnesses that misbehave: each ends as a clear verdict, and the next run works.

use crate::lab::{CommandOutput, Lab};

/// A harness, and how `lab run` reports it.
fn run(harness: &str, settings: &str) -> (Lab, CommandOutput) {
    let lab = Lab::new();
    lab.harness(harness);
    lab.write(
        "lab.toml",
        format!("harness = \"uv run harness.py\"\n{settings}\n[watch]\nextra = [\"harness.py\"]\n"),
    );
    lab.lab("trust --yes").is(0);
    let output = lab.lab("run");
    (lab, output)
}

#[track_caller]
fn check(harness: &str, code: i32, says: &str) {
    run(harness, "").1.is(code).says(says);
}

#[test]
fn lines_that_are_none() {
    check(
        "true",
        3,
        "CRASH  run 1 of kernel.cu  no correctness: line (exit code 0)",
    );
    check(
        "head -c 3000 /dev/urandom; echo; echo bye",
        3,
        "no correctness: line (exit code 0): bye",
    );
    check(
        "echo 'throughput_sps: 5'; printf 'correctness: pass'",
        0,
        "PASS",
    );
    check("echo 'correctness: perhaps'", 1, "FAIL");
    check(
        "echo 'correctness: pass'; exit 7",
        3,
        "correctness: pass, but exit code 7",
    );
    check("echo 'correctness: fail'; exit 1", 1, "FAIL");
    check(
        "echo 'correctness: pass'; kill -SEGV $$",
        3,
        "signal 11 (segmentation fault)",
    );
}

#[test]
fn figures_that_are_none() {
    check(
        "echo 'h0_max_diff: nan limit=1'; echo 'correctness: pass'",
        1,
        "h0_max_diff is NaN",
    );
    let (lab, output) = run(
        "echo 'correctness: pass'; echo 'throughput_sps: nan'; echo 'kernel_us: nan'",
        "",
    );
    output
        .is(3)
        .says("● PASS")
        .says("caveat: nothing was measured: throughput_sps: 'nan' is no number");
    let json = lab.lab("run --json").is(3).json();
    assert!(json["throughput_sps"].is_null() && json["kernel_us"].is_null());
    assert_eq!(
        (json["outcome"].as_str(), json["exit_code"].as_u64()),
        (Some("pass"), Some(3))
    );
    // The ledger would show 0, which was not measured.
    lab.lab("keep -m x")
        .is(1)
        .says("nothing was measured: throughput_sps: 'nan' is no number");
    lab.harness("echo 'correctness: pass'");
    lab.lab("run")
        .is(3)
        .says("the harness printed no throughput_sps line");
    lab.lab("keep -m x")
        .is(1)
        .says("nothing was measured: the harness printed no throughput_sps line");
    assert!(!lab.path("results.tsv").exists());
}

#[test]
fn a_figure_without_end_harms_no_record() {
    const REST: &str = "echo 'correctness: pass'; echo 'throughput_sps: 5'; echo 'speed: faster'";
    let (lab, output) = run(
        &format!("{REST}; echo 'speed_ratio: 1.1 low=1.05 high=inf'"),
        "",
    );
    output
        .is(64)
        .says("– NOT JUDGED")
        .says("'speed_ratio: 1.1 low=1.05 high=inf', and an end of an interval is a finite number");
    // The record can be read, and the next runs are judged.
    lab.lab("run --decide -m x").is(64).says("– NOT JUDGED");
    lab.passing(5.0);
    lab.lab("run").is(0).says("● PASS");
}

#[test]
fn a_failure_that_is_no_result_line_is_no_pass() {
    for line in [
        "  correctness: fail",
        r"\033[0mcorrectness: fail",
        r"correctness: fail\rcorrectness: pass",
        r"50%%\rcorrectness: fail",
        "Correctness: FAIL",
    ] {
        let harness =
            format!("echo 'correctness: pass'; printf '{line}\\n'; echo 'throughput_sps: 5'");
        check(
            &harness,
            64,
            "the harness contradicts itself: 'correctness: pass' beside '",
        );
    }
}

#[test]
fn a_latency_is_null_unless_correct() {
    let (lab, _) = run(
        "echo 'throughput_sps: 5'; echo 'kernel_us: 5'; echo 'correctness: fail'",
        "",
    );
    let json = lab.lab("run --json").is(1).json();
    assert!(
        json["throughput_sps"].is_null()
            && json["kernel_us"].is_null()
            && json["objective"]["value"].is_null()
    );
}

#[test]
fn a_failure_is_told_in_figures_and_words_that_one_reads() {
    let emulated = "echo 'device: cpu (emulated, 2 threads)'; echo 'h0_max_diff: 8.819617079389008e4 limit=1.0'; echo 'correctness: fail'";
    let (_lab, output) = run(emulated, "");
    let output = output.is(1).says("h0_max_diff is 88,196, its limit 1\n");
    assert!(
        !output.out.contains("its times say nothing"),
        "there are no times: {output:?}"
    );
    let long = "head -c 100000 /dev/zero | tr '\\0' x; echo; exit 1";
    let (lab, output) = run(long, "");
    output.is(3).says("xxx… (the whole line is in run.log)");
    let why = lab.lab("run --json").is(3).json()["why"]
        .as_str()
        .unwrap()
        .chars()
        .count();
    assert!(why < 500, "{why}");
}

#[test]
fn control_sequences_stay_in_the_log() {
    let (lab, output) = run(
        r"printf 'a \033[31mred\033[0m word \033]0;title\007\n'; printf '\342\200\256evil\n'; printf 'caveat: \033[2Jgone\n'; echo 'correctness: pass'; echo 'throughput_sps: 5'",
        "",
    );
    let output = output
        .is(0)
        .says("a red word")
        .says("evil")
        .says("caveat: gone");
    assert!(
        !output.out.contains(['\x1b', '\x07', '\u{202e}']),
        "{output:?}"
    );
    assert!(
        lab.read("run.log").contains("\x1b[31mred"),
        "the log has what was printed"
    );
}

#[test]
fn a_command_that_is_not_there() {
    let lab = Lab::new();
    lab.write("lab.toml", "harness = \"nvv --fast\"\n");
    lab.lab("trust --yes").is(0);
    lab.lab("run")
        .is(64)
        .says("the harness command was not found (exit code 127)")
        .says("nvv");
}

#[test]
fn one_that_never_ends() {
    run(
        "echo 'correctness: pass'; sleep 1000 & wait",
        "time_limit_s = 0.2",
    )
    .1
    .is(3)
    .says("longer than time_limit_s = 0.2");
    // A harness that ignores SIGTERM, with a child that ignores it too.
    let deaf = "trap '' TERM; (trap '' TERM; sleep 1000) & while :; do sleep 1000; done";
    run(deaf, "time_limit_s = 0.2")
        .1
        .is(3)
        .says("longer than time_limit_s");
}

#[test]
fn one_that_prints_without_end() {
    let (lab, output) = run(
        "echo the head; while :; do echo 0123456789abcdef0123456789abcdef; done",
        "output_limit_mib = 1",
    );
    output
        .is(3)
        .says("too much output: more than output_limit_mib = 1");
    let log = lab.read("run.log");
    assert!(
        log.starts_with("the head\n") && log.len() < (1 << 20) + 100_000,
        "{}",
        log.len()
    );
    assert!(log.contains("bytes are left out here: the output limit was reached"));
    lab.passing(5.0);
    lab.lab("run").is(0);
}

#[test]
fn one_that_prints_too_much_and_is_gone_at_once() {
    let (_lab, output) = run(
        "head -c 1100000 /dev/zero; echo; echo 'correctness: pass'",
        "output_limit_mib = 1",
    );
    output.is(3).says("too much output");
}

#[test]
fn keys_without_end_take_no_time() {
    // A linear search for each key would take minutes.
    let many = "awk 'BEGIN { for (i = 0; i < 200000; i++) print \"k\" i \": 1\" }'; echo 'correctness: pass'; echo 'throughput_sps: 5'";
    let (lab, output) = run(many, "");
    output.is(0);
    assert!(lab.read(".lab/runs/1/record.json").len() < 100_000);
}

#[test]
fn a_kernel_that_changes_during_the_run_has_no_verdict() {
    let (lab, output) = run(
        "echo '// edited' >> kernel.cu; echo 'correctness: pass'; echo 'throughput_sps: 9'",
        "",
    );
    output
        .is(3)
        .says("VOID")
        .says("kernel.cu changed while the harness ran");
    lab.lab("keep -m x")
        .is(1)
        .says("needs a passing verdict: run 1 came to VOID");
    assert_eq!(lab.read("kernel.cu"), "// the first\n// edited\n");
}

#[test]
fn run_log_answers_the_plain_grep_and_a_file_of_the_users_stays() {
    let (lab, _) = run(
        "echo text; echo 'h0_max_diff: 1 limit=2'; echo 'correctness: pass'; echo 'throughput_sps: 3'",
        "",
    );
    let grep = lab.sh(
        r#"grep "^throughput_sps:\|^correctness:\|^sample_.*:\|^teacher_.*_diff:\|^h[01]_.*_diff:" run.log"#,
    );
    assert_eq!(
        grep.out,
        "h0_max_diff: 1 limit=2\ncorrectness: pass\nthroughput_sps: 3\n"
    );
    std::fs::remove_file(lab.path("run.log")).unwrap();
    lab.write("run.log", "mine\n");
    lab.lab("run").is(0);
    assert_eq!(lab.read("run.log"), "mine\n");
}

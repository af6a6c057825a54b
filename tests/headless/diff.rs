//! Two experiments beside one another: `lab diff`.

use crate::lab::Lab;
use serde_json::json;

/// Run 1 was kept as this commit, run 2 is open and faster.
fn two() -> (Lab, String) {
    let lab = Lab::new();
    // One harness for both: with different ones their figures would not be compared.
    lab.harness(
        "echo 'device: Test GPU'\necho 'h0_max_diff: 1e-6 limit=1e-5'\necho 'correctness: pass'\n\
         if grep -q 32 kernel.cu; then echo 'throughput_sps: 1100 low=1089 high=1111'; echo 'kernel_us: 909.1'\n\
         else echo 'throughput_sps: 1000 low=990 high=1010'; echo 'kernel_us: 1000'; fi",
    );
    lab.git("add harness.py");
    lab.git("commit -qm harness");
    lab.write("kernel.cu", "// a\nint tile = 16;\n");
    lab.lab("run").is(0);
    lab.lab("keep -m first").is(0);
    let kept = lab.head()[..7].to_owned();
    lab.write("kernel.cu", "// a\nint tile = 32;\n");
    lab.lab("run").is(0);
    (lab, kept)
}

#[test]
fn two_runs_are_compared_by_their_numbers_and_by_a_commit() {
    let (lab, kept) = two();
    let text = lab.lab("diff 1 2").is(0).out;
    for said in [
        &*kept,
        "run 2",
        "+10.0 % ± 1.6",
        "- int tile = 16;",
        "+ int tile = 32;",
        "h0_max_diff",
        "throughput_sps",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(!text.contains('\x1b'), "{text}");
    let by_commit = lab.lab(&format!("diff {kept} 2")).is(0).out;
    assert_eq!(by_commit, text);
    // From the second to the first.
    lab.lab("diff 2 1").is(0).says("- int tile = 32;");

    let answer = lab.lab("diff 1 2 --json").is(0).json();
    assert_eq!(answer["second"], "run 2");
    assert_eq!(answer["ratio"]["value"], json!(1.1));
    assert_eq!(answer["runs"][1]["run"], 2);
    assert!(
        answer["diff"]
            .as_str()
            .is_some_and(|diff| diff.contains("+int tile = 32;"))
    );
}

#[test]
fn an_experiment_is_shown_by_its_commit() {
    let (lab, kept) = two();
    let of_run = lab.lab("show 1").is(0).out;
    for name in [kept.as_str(), "HEAD"] {
        assert_eq!(lab.lab(&format!("show {name}")).is(0).out, of_run);
    }
    lab.lab("show 9").is(1).says("there is no run 9");
    lab.lab("show HEAD~1")
        .is(1)
        .says("no experiment with a record here is of 'HEAD~1'");
}

#[test]
fn the_runs_that_nobody_decided_are_listed() {
    let (lab, _) = two();
    lab.lab("log --undecided")
        .is(0)
        .says("PASS  run 2 of kernel.cu")
        .says("with `--run RUN`");
    let open = lab.lab("log --undecided --json").is(0).json();
    assert_eq!(open["undecided"][0]["run"], 2);
    lab.lab("discard -m second").is(0);
    // The bytes of HEAD on disk again: a run of them is nothing to decide.
    lab.lab("run").is(0).says("HEAD holds these bytes already");
    lab.lab("log --undecided")
        .is(0)
        .says("no run waits for a decision");
}

#[test]
fn what_is_missing_is_said() {
    let (lab, _) = two();
    lab.lab("diff 1 9").is(1).says("9");
    for (part, why) in [("profile", "no profile"), ("sass", "no profile")] {
        lab.lab(&format!("diff 1 2 --{part}")).is(1).says(why);
    }
}

#[test]
fn of_a_run_that_nobody_decided_its_verdict_is_told() {
    let (lab, _) = two();
    lab.harness("echo 'device: Test GPU'; echo 'h0_max_diff: 1 limit=1e-5'; echo 'correctness: fail'; exit 1");
    lab.write("kernel.cu", "// wrong\n");
    lab.lab("run").is(1);
    let told = lab.lab("diff 2 3").is(0);
    for said in ["● PASS", "✗ FAIL", "none: run 3 failed a gate"] {
        assert!(told.out.contains(said), "{said}: {told:?}");
    }
}

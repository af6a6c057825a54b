//! Two labs judge the same bytes, as a `lab run` beside an open screen does: each decision is about
//! a verdict that holds.

use crate::lab::{Lab, finish};
use lab_testing::until;
use std::process::Child;

/// The harness passes. If there is no folder `first`, it waits at the gate.
fn gated() -> Lab {
    let lab = Lab::new();
    lab.harness(
        "if mkdir first 2>/dev/null; then read -r go < gate; fi\necho 'device: Test GPU'\n\
         echo 'h0_max_diff: 1e-6 limit=1e-5'\necho 'correctness: pass'\necho 'throughput_sps: 1000'\n\
         echo 'kernel_us: 1000'",
    );
    lab.sh("mkfifo gate").is(0);
    lab.write("kernel.cu", "// better\n");
    lab
}

/// A run whose harness already waits at the gate.
fn waiting(lab: &Lab) -> Child {
    let child = lab.lab_command("run").spawn().unwrap();
    until("the harness is at the gate", || lab.path("first").exists());
    child
}

fn let_go(lab: &Lab) {
    lab.sh("echo go > gate").is(0);
}

#[test]
fn a_run_of_the_same_bytes_that_goes_on_is_no_reason_to_refuse() {
    let lab = gated();
    for (bytes, decision, said) in [
        ("// better\n", "keep -m better", "keep run 1 of kernel.cu"),
        (
            "// worse\n",
            "discard -m worse",
            "discard run 3 of kernel.cu",
        ),
    ] {
        lab.write("kernel.cu", bytes);
        lab.sh("mkdir first").is(0);
        lab.lab("run")
            .is(0)
            .says("PASS  run")
            .says("`lab keep -m TEXT` commits it");
        lab.sh("rmdir first").is(0);
        let twin = waiting(&lab);
        lab.lab(decision).is(0).says(said);
        let_go(&lab);
        finish(twin);
        lab.sh("rmdir first").is(0);
    }
    let tested = lab.git("log -1 --format=%(trailers:key=Tested,valueonly)");
    assert!(
        tested.contains("1000"),
        "what was tested is of the run that was kept: {tested}"
    );
}

#[test]
fn while_the_only_run_of_the_bytes_goes_on_nothing_is_decided() {
    let lab = gated();
    let only = waiting(&lab);
    lab.lab("keep -m early").is(1).says("run 1 is in progress");
    lab.lab("discard -m early")
        .is(1)
        .says("no verdict belongs to the present bytes of kernel.cu (run 1 is in progress)");
    let_go(&lab);
    finish(only).is(0);
    lab.lab("keep -m late").is(0).says("keep run 1");
}

#[test]
fn a_run_with_a_newer_twin_is_named_in_its_hint() {
    let lab = gated();
    let first = waiting(&lab);
    lab.lab("run")
        .is(0)
        .says("PASS  run 2")
        .says("`lab keep -m TEXT` commits it");
    let_go(&lab);
    finish(first)
        .is(0)
        .says("PASS  run 1")
        .says("`lab keep --run 1 -m TEXT` commits it; `lab discard --run 1 -m TEXT` puts");
    lab.lab("keep --run 1 -m 'the one that was shown'")
        .is(0)
        .says("keep run 1");
}

#[test]
fn bytes_that_were_judged_before_are_decided_by_their_own_verdict() {
    let lab = Lab::new();
    lab.write("kernel.cu", "// a\n");
    lab.lab("run").is(0);
    lab.write("kernel.cu", "// b\n");
    lab.lab("run").is(0);
    lab.write("kernel.cu", "// a\n");
    lab.lab("keep -m 'a after all'").is(0).says("keep run 1");
    assert_eq!(lab.git("show HEAD:kernel.cu"), "// a\n");
}

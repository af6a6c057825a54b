//! The kernels in harness/judge/tests/kernels, each by the whole judge on a GPU. They need a CUDA device and NVRTC; where
//! either is missing they say so.
#![allow(clippy::unwrap_used)]

#[path = "kernels/cases.rs"]
mod cases;
#[allow(dead_code)]
#[path = "judge/support.rs"]
mod support;

use lab_device::cuda;
use lab_protocol::Target;
use std::io::Write;

fn judge_all(kind: &str) {
    let missing = match cuda::builder() {
        _ if !cuda::available() => Some("no CUDA device".to_owned()),
        Ok(_) => None,
        Err(error) => Some(format!("NVRTC is not here ({error})")),
    };
    match missing {
        // Not by eprintln, which the test runner would keep to itself.
        Some(what) => drop(writeln!(std::io::stderr(), "skipped: {what}")),
        None => cases::judge_all(kind, Target::Cuda(0)),
    }
}

#[test]
fn honest_kernels_pass() {
    judge_all("honest");
}

#[test]
fn wrong_kernels_fail_by_the_gate_that_is_meant_for_them() {
    judge_all("wrong");
}

#[test]
fn cheating_kernels_gain_nothing() {
    judge_all("cheating");
}

#[test]
fn harmful_kernels_end_as_a_verdict() {
    judge_all("harmful");
}

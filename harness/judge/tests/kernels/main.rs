//! The kernels in this folder, each judged by the whole judge on the cpu device, with its processes, because some
//! kernels end theirs. README.md lists the folders.
#![allow(clippy::disallowed_macros, clippy::disallowed_methods, reason = "a developer reads its output")]
#![allow(clippy::unwrap_used)]

mod cases;
mod expected;
#[allow(dead_code)]
#[path = "../judge/support.rs"]
mod support;

use lab_protocol::Target;

#[test]
fn honest_kernels_pass() {
    cases::judge_all("honest", Target::Cpu);
}

#[test]
fn wrong_kernels_fail_by_the_gate_that_is_meant_for_them() {
    cases::judge_all("wrong", Target::Cpu);
}

#[test]
fn cheating_kernels_gain_nothing() {
    cases::judge_all("cheating", Target::Cpu);
}

#[test]
fn harmful_kernels_end_as_a_verdict() {
    cases::judge_all("harmful", Target::Cpu);
}

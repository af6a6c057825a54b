//! Judges the kernels in harness/judge/tests/kernels with the whole judge on a GPU. Needs a CUDA
//! device and NVRTC, so every test is ignored unless scripts/gpu-tests runs it.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a developer reads its output"
)]
#![allow(clippy::unwrap_used)]

#[path = "kernels/cases.rs"]
mod cases;
#[path = "kernels/expected.rs"]
mod expected;
#[allow(dead_code)]
#[path = "judge/support.rs"]
mod support;

use lab_device::{FolderTrust, cuda};
use lab_protocol::Target;

/// Judges every kernel of some folders on the first CUDA device.
fn judge_all(kinds: &[&str]) {
    cuda::nvrtc_builder(FolderTrust::Untrusted).expect("these tests need NVRTC");
    cases::judge_all(kinds, Target::Cuda(0));
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn honest_kernels_pass() {
    judge_all(&["honest"]);
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn wrong_kernels_fail_by_the_gate_that_is_meant_for_them() {
    judge_all(&["wrong"]);
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn cheating_kernels_gain_nothing() {
    judge_all(&["cheating"]);
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn harmful_kernels_end_as_a_verdict() {
    judge_all(&["harmful"]);
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn the_corpus_is_judged_as_its_labels_say() {
    judge_all(&[
        "corpus/language",
        "corpus/alignment",
        "corpus/unwritten",
        "corpus/races",
        "corpus/branches",
        "corpus/values",
        "corpus/honest",
    ]);
}

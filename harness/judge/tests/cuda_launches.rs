//! Launch lists on a real GPU: as one CUDA graph and as plain launches, alone and in turns with an
//! incumbent. Needs a CUDA device and NVRTC, so every test is ignored unless scripts/gpu-tests runs
//! it. Clusters, TMA and wgmma are among the kernels with a known verdict.
#![allow(clippy::unwrap_used, dead_code)]

#[path = "judge/support.rs"]
mod support;

use lab_protocol::JudgeRequest;
use lab_protocol::{Exit, Target};
use support::{Folder, Judged};

const PROBLEM: &str = include_str!("kernels/two_pass/problem.toml");
const REFERENCE: &str = include_str!("kernels/two_pass/reference.cu");
const KERNEL: &str = include_str!("kernels/two_pass/plain.cu");

/// Judges the list with this line at the top of problem.toml. With `incumbent`, against itself.
fn judge(line: &str, kernel: &str, incumbent: bool) -> Judged {
    let problem = format!("{line}\n{PROBLEM}");
    let folder = Folder::new(&[
        ("problem.toml", &problem),
        ("reference.cu", REFERENCE),
        ("kernel.cu", kernel),
    ]);
    let kept = folder.path().join("kept.cu");
    std::fs::write(&kept, KERNEL).unwrap();
    let options = folder.options();
    support::run(JudgeRequest {
        device: Target::Cuda(0),
        incumbent: incumbent.then_some(kept),
        seed: None,
        ..options
    })
}

fn zeroed() -> String {
    let kernel = KERNEL.replace(
        "launches.scratch_bytes =",
        "launches.zeroed = 1, launches.scratch_bytes =",
    );
    assert_ne!(kernel, KERNEL);
    kernel
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn a_list_runs_as_one_graph() {
    let judged = judge("", KERNEL, false);
    judged
        .expect(Exit::Passed)
        .expect_in("launched_as", "graph")
        .expect_in("launch_2", "entry=total");
    judged.expect_in("launch_list", "scratch=unset");
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn plain_launches_take_longer_than_a_graph() {
    let kernel_us = |judged: &Judged| judged.report.measure("kernel_us").unwrap().value;
    let graph = judge("graph = true", KERNEL, false);
    let plain = judge("graph = false", KERNEL, false);
    graph.expect(Exit::Passed);
    plain.expect(Exit::Passed).expect_in("launched_as", "plain");
    assert!(
        kernel_us(&plain) > kernel_us(&graph),
        "{}\n{}",
        plain.log,
        graph.log
    );
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn the_time_of_the_zeroing_counts() {
    let judged = judge("", &zeroed(), true);
    judged
        .expect(Exit::Passed)
        .expect_in("launch_list", "scratch=zeroed");
    let ratio = judged.report.comparison().unwrap().ratio.value;
    assert!(
        ratio < 1.0,
        "a list that zeroes its scratch is slower: {}",
        judged.log
    );
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn a_list_is_compared_with_itself() {
    let judged = judge("", KERNEL, true);
    judged.expect(Exit::Passed);
    let ratio = judged.report.comparison().unwrap().ratio.value;
    assert!((0.9..1.1).contains(&ratio), "{}", judged.log);
}

//! `lab check` on a GPU: compute-sanitizer names the line of each planted mistake, and the
//! committed kernels are clean. Needs a CUDA device, NVRTC and compute-sanitizer, so every test is
//! ignored unless scripts/gpu-tests runs it.
#![allow(clippy::unwrap_used, dead_code)]

#[path = "judge/support.rs"]
mod support;
#[path = "judge/toy.rs"]
mod toy;

use lab_protocol::report::Severity;
use lab_protocol::{Exit, Target};
use lab_protocol::{JudgeKind, JudgeRequest};
use std::path::{Path, PathBuf};
use support::{Folder, options, run};
use toy::{PROBLEM, SHARED, kernel};

/// The folder of a committed kernel: in the source tree that this was built from, or in the
/// repository that it runs in.
fn committed(name: &str) -> PathBuf {
    let built_at = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels"));
    if built_at.is_dir() {
        built_at.join(name)
    } else {
        Path::new("kernels").join(name)
    }
}

/// The lines that compute-sanitizer's four tools name in a kernel with this body, as `tool:line`.
#[track_caller]
fn on_a_gpu(body: &str, wanted: &[&str]) {
    let folder = Folder::new(&[("problem.toml", PROBLEM), ("kernel.cu", &kernel(body))]);
    let judged = run(JudgeRequest {
        device: Target::Cuda(0),
        kind: JudgeKind::Check {
            tools: Vec::new(),
            sanitizer: None,
        },
        ..folder.options()
    });
    let tool = |message: &str| {
        message
            .split(']')
            .next()
            .unwrap()
            .trim_start_matches('[')
            .to_owned()
    };
    let diagnostics = judged.report.diagnostics().iter();
    let mut found: Vec<String> = diagnostics
        .filter(|d| d.file == "kernel.cu" && d.severity == Severity::Error)
        .map(|d| format!("{}:{}", tool(&d.message), d.line))
        .collect();
    found.dedup();
    assert_eq!(found, wanted, "{}", judged.log);
    judged.expect(if wanted.is_empty() {
        Exit::Passed
    } else {
        Exit::Wrong
    });
}

#[test]
#[ignore = "needs a CUDA device and compute-sanitizer: scripts/gpu-tests"]
fn on_a_gpu_each_tool_names_the_line_of_its_mistake() {
    on_a_gpu(
        &format!("{SHARED}\ns[t] = x[i];\n__syncthreads();\ny[i] = s[63 - t];"),
        &[],
    );
    on_a_gpu(
        &format!("{SHARED}\ns[t] = x[i];\ny[i] = s[63 - t];"),
        &["racecheck:6"],
    );
    on_a_gpu(
        &format!("{SHARED}\ns[t] = x[i];\ny[i + 1] = 1;"),
        &["memcheck:7"],
    );
    on_a_gpu(
        &format!("{SHARED}\ns[t] = 0;\ny[i] += x[i];"),
        &["initcheck:7"],
    );
    // The read after the barrier is volatile: the compiler drops a barrier that nothing follows.
    let body = format!(
        "{SHARED}\ns[t] = x[i];\nif (t < 40) __syncthreads();\ny[i] = ((volatile float*)s)[t];"
    );
    on_a_gpu(&body, &["synccheck:7"]);
}

#[test]
#[ignore = "needs a CUDA device and compute-sanitizer: scripts/gpu-tests"]
fn on_a_gpu_the_committed_kernels_are_clean() {
    for name in ["rmsnorm", "wavegru"] {
        let folder = committed(name);
        let judged = run(JudgeRequest {
            device: Target::Cuda(0),
            kind: JudgeKind::Check {
                tools: Vec::new(),
                sanitizer: None,
            },
            ..options(&folder)
        });
        judged
            .expect(Exit::Passed)
            .expect_in("check", "memcheck, racecheck, initcheck, synccheck clean");
    }
}

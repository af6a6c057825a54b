//! The sandbox on a GPU: the worker confines itself once its device is open, and the compiler with
//! NVRTC in it. Needs a CUDA device and NVRTC, so every test is ignored unless scripts/gpu-tests
//! runs it. `cuda_check` runs compute-sanitizer around such a worker.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a developer reads its output"
)]
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
#[path = "judge/support.rs"]
mod support;

use lab_device::sandbox;
use lab_protocol::JudgeRequest;
use lab_protocol::{Exit, Target};
use std::path::Path;

/// The small tensor problem of tests/kernels, with `top` at the top of its kernel.
fn problem(top: &str) -> tempfile::TempDir {
    let built_at = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernels/tensor"));
    let from = if built_at.is_dir() {
        built_at
    } else {
        Path::new("harness/judge/tests/kernels/tensor")
    };
    let folder = tempfile::tempdir().unwrap();
    for name in ["problem.toml", "reference.cu"] {
        std::fs::copy(from.join(name), folder.path().join(name)).unwrap();
    }
    let plain = std::fs::read_to_string(from.join("plain.cu")).unwrap();
    std::fs::write(folder.path().join("kernel.cu"), format!("{top}\n{plain}")).unwrap();
    folder
}

fn options(folder: &Path) -> JudgeRequest {
    JudgeRequest {
        device: Target::Cuda(0),
        ..support::options(folder)
    }
}

/// The text that `sandbox:` must have here.
fn expected() -> String {
    sandbox::support().to_string()
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn a_confined_worker_builds_loads_verifies_and_measures() {
    let folder = problem("#include <cooperative_groups.h>\n#include <cuda_fp16.h>");
    let judged = support::run(options(folder.path()));
    judged.expect(Exit::Passed);
    assert_eq!(judged.value("sandbox"), expected(), "{}", judged.log);
    assert!(
        judged.report.number("throughput_sps").is_some(),
        "{}",
        judged.log
    );
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn a_source_includes_a_file_outside_its_folders_only_without_a_sandbox() {
    let folder = problem("#include \"/etc/passwd\"");
    let judged = support::run(options(folder.path()));
    judged.expect(Exit::NotBuilt);
    // The compiler's messages quote the lines that it could read.
    assert_eq!(
        judged.log.contains("root:"),
        sandbox::support().missing().is_some(),
        "{}",
        judged.log
    );
}

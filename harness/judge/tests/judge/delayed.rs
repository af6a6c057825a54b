//! `scripts/delayed-kernel`: a delayed kernel computes the same results. On a GPU
//! `scripts/same-and-slower` uses it to make a kernel that is 2 % slower; here its kernels must
//! build and pass.

use crate::support::Folder;
use lab_protocol::Exit;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(tree().join(path)).unwrap()
}

/// Runs the script on the folder's kernel.
fn script(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("python3");
    command
        .arg(tree().join("scripts/delayed-kernel"))
        .arg(folder)
        .arg(folder.join("kernel.cu"))
        .args(arguments);
    command
        .output()
        .expect("python3, which scripts/delayed-kernel needs")
}

#[track_caller]
fn delayed(folder: &Path, arguments: &[&str]) -> String {
    let output = script(folder, arguments);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// The numbers that launches wait, one after the other.
fn waits(kernel: &str) -> Vec<u64> {
    let calls = kernel
        .split("    lab_delay(")
        .skip(1)
        .map(|rest| rest.split(");").next().unwrap());
    let words = calls.flat_map(|call| call.split([' ', ':', '?']));
    words
        .filter_map(|word| word.strip_suffix('u')?.parse().ok())
        .collect()
}

/// Judges the folder's kernel, then the one that is delayed by 2 % of the times in that judgement.
#[track_caller]
fn passes_when_delayed(folder: &Folder) -> String {
    let plain = folder.judge();
    plain.expect(Exit::Passed);
    let log = folder.path().join("log");
    std::fs::write(
        &log,
        plain.log.clone() + "sm_clock_mhz: 1000 low=1000 high=1000\n",
    )
    .unwrap();
    let log = log.to_str().unwrap();
    let beside = delayed(folder.path(), &["--percent", "0", "--log", log]);
    let slower = delayed(folder.path(), &["--percent", "2", "--log", log]);
    assert_eq!(waits(&beside).len(), waits(&slower).len());
    let without_waits = |text: &str| text.split(|c: char| c.is_ascii_digit()).collect::<String>();
    assert_eq!(
        without_waits(&beside),
        without_waits(&slower),
        "they differ in numbers only"
    );
    std::fs::write(folder.path().join("kernel.cu"), &slower).unwrap();
    folder
        .judge()
        .expect(Exit::Passed)
        .expect_in("correctness", "pass");
    slower
}

fn folder(problem: &str) -> Folder {
    folder_with(problem, &format!("{problem}/kernel.cu"))
}

fn folder_with(problem: &str, kernel: &str) -> Folder {
    let of = |name: &str| format!("{problem}/{name}");
    let files = [
        ("problem.toml", read(&of("problem.toml"))),
        ("reference.cu", read(&of("reference.cu"))),
        ("kernel.cu", read(kernel)),
    ];
    Folder::new(&files.each_ref().map(|(name, text)| (*name, text.as_str())))
}

#[test]
fn each_workload_of_rmsnorm_waits_by_its_own_time() {
    let kernel = "benchmarks/loop/two_passes.cu";
    let slower = passes_when_delayed(&folder_with("kernels/rmsnorm", kernel));
    assert!(
        slower.contains("    lab_delay(rows == 1 && cols == 1 ? "),
        "{slower}"
    );
    // The time of any other shape; then the workloads of each type, of very different times.
    let waits = waits(&slower);
    assert!(
        waits.len() >= 8 && waits.iter().max() > Some(&(4 * waits.iter().min().unwrap())),
        "{waits:?}"
    );
}

#[test]
fn the_problems_of_the_benchmarks_pass_and_so_do_their_delayed_kernels() {
    for problem in ["scale", "matmul"] {
        passes_when_delayed(&folder(&format!("benchmarks/problems/{problem}")));
    }
}

#[test]
fn a_cooperative_kernel_with_launch_bounds_is_delayed() {
    let slower = passes_when_delayed(&crate::wavegru::folder(crate::wavegru::PLAIN));
    assert!(slower.contains(
        "extern \"C\" __global__ void __launch_bounds__(THREADS, 1)\n    wavegru(const bf16*"
    ));
    assert_eq!(waits(&slower).len(), 1);
}

/// Returns before the end, braces in comments and strings, a declaration before the definition, a
/// macro with the entry's name.
const AWKWARD: &str = r#"#include "lab.h"
#define USES_SCALE "scale("
// scale( { is no entry } }
namespace {
/* } */
extern "C" __global__ void scale(const float* x, float* y, const float a, int n);
}
extern "C" __global__ void
__launch_bounds__(64)
scale(const float* __restrict__ x, float* __restrict__ y, const float a, int n) {
    const char brace = '}';  // }
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || brace == '{') return;
    y[i] = a * x[i];
}
LAB_LAUNCH(scale) { launch.grid[0] = (dims.n + 63) / 64; launch.block[0] = 64; }
"#;

#[test]
fn early_returns_comments_and_declarations_are_understood() {
    let folder = folder("benchmarks/problems/scale");
    std::fs::write(folder.path().join("kernel.cu"), AWKWARD).unwrap();
    passes_when_delayed(&folder);
}

#[test]
fn a_kernel_without_its_entry_is_refused() {
    let folder = folder("benchmarks/problems/scale");
    for (kernel, why) in [
        (
            "int x;\n",
            "delayed-kernel: the kernel has no launch statement\n",
        ),
        (
            "LAB_LAUNCH(scale) {}\n",
            "delayed-kernel: the kernel has no entry scale\n",
        ),
    ] {
        std::fs::write(folder.path().join("kernel.cu"), kernel).unwrap();
        let refused = script(folder.path(), &[]);
        assert_eq!(
            (
                refused.status.code(),
                String::from_utf8_lossy(&refused.stderr).as_ref()
            ),
            (Some(1), why)
        );
    }
}

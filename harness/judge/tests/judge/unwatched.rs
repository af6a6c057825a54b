//! A line of the kernel that runs only where the race detector does not look: a caveat names it.

use crate::support::{Folder, Judged};
use lab_protocol::Exit;

/// The largest number of each row.
fn problem(workloads: &[(usize, usize)]) -> String {
    let workloads = workloads
        .iter()
        .map(|(rows, cols)| format!("[[workload]]\ndims = {{ rows = {rows}, cols = {cols} }}\n"));
    PROBLEM.to_owned() + &workloads.collect::<String>()
}

const PROBLEM: &str = r#"
entry = "high"
planted = false
ragged = false
dims = ["rows", "cols"]

[[tensor]]
name = "x"
role = "in"
type = "i32"
shape = ["rows", "cols"]
values = { integers = { low = 0, high = 1000000 } }

[[tensor]]
name = "y"
role = "out"
type = "i32"
shape = ["rows"]

[objective]
samples = "rows"
"#;

const REFERENCE: &str = r#"#include "lab.h"
extern "C" __global__ void high(const int* x, int* y, int rows, int cols) {
    int most = 0;
    for (int c = 0; c < cols; ++c) most = max(most, x[blockIdx.x * cols + c]);
    y[blockIdx.x] = most;
}
LAB_LAUNCH(high) { launch.grid[0] = dims.rows; launch.block[0] = 1; }
"#;

/// A block of 64 threads for each row. Rows of more than `long` columns end with another way to find
/// the block's largest number, in lines 12 to 14.
fn kernel(long: &str) -> String {
    format!(
        r#"#include "lab.h"
extern "C" __global__ void high(const int* x, int* y, int rows, int cols) {{
    __shared__ int most[64], all;
    const int t = threadIdx.x;
    if (t == 0) all = 0;
    int own = 0;
    for (int c = t; c < cols; c += 64) {{
        own = max(own, x[blockIdx.x * cols + c]);
    }}
    __syncthreads();
    if (cols > {long}) {{
        most[t] = own;
        __syncthreads();
        if (t == 0) for (int k = 0; k < 64; ++k) all = max(all, most[k]);
    }} else {{
        atomicMax(&all, own);
    }}
    __syncthreads();
    if (t == 0) y[blockIdx.x] = all;
}}
LAB_LAUNCH(high) {{ launch.grid[0] = dims.rows; launch.block[0] = 64; }}
"#
    )
}

/// Judges a kernel that is right, and returns it with its caveats on unwatched lines.
fn judged(workloads: &[(usize, usize)], long: &str, check: &str) -> (Judged, Vec<String>) {
    let problem = problem(workloads) + check;
    let kernel = kernel(long);
    let files = [
        ("problem.toml", &*problem),
        ("reference.cu", REFERENCE),
        ("kernel.cu", &kernel),
    ];
    let judged = Folder::new(&files).judge();
    judged.expect(Exit::Passed).expect_in("races", "0 limit=0");
    let caveats = judged.report.caveats().iter();
    let caveats = caveats.filter(|caveat| caveat.contains("race detector"));
    let caveats = caveats.map(ToString::to_string).collect();
    (judged, caveats)
}

const NAMED: &str = "lines 12-14 of kernel.cu ran in no case that the race detector watched: add a small workload that \
                     takes them";

#[test]
fn lines_that_only_a_workload_too_large_for_the_detector_reaches_are_named() {
    let (judged, caveats) = judged(&[(5, 1000), (1, 300_000)], "8192", "");
    assert_eq!(caveats, [NAMED], "{}", judged.log);
}

#[test]
fn a_small_workload_that_takes_the_path_ends_the_caveat() {
    let (judged, caveats) = judged(&[(5, 1000), (1, 9000), (1, 300_000)], "8192", "");
    assert!(caveats.is_empty(), "{}", judged.log);
}

#[test]
fn lines_that_the_checks_alone_leave_out_are_looked_for_in_the_workloads() {
    let check = "[[check]]\ndims = { rows = 2, cols = 100 }\n";
    let (with_small, caveats) = judged(&[(4, 9000)], "8192", check);
    assert!(caveats.is_empty(), "{}", with_small.log);
    let (with_large, caveats) = judged(&[(1, 300_000)], "8192", check);
    assert_eq!(caveats, [NAMED], "{}", with_large.log);
}

#[test]
fn lines_that_no_workload_reaches_are_not_named() {
    let (judged, caveats) = judged(&[(5, 1000), (1, 300_000)], "1000000000", "");
    assert!(caveats.is_empty(), "{}", judged.log);
}

//! The smallest problem: a kernel that doubles numbers, with text of the test's own at its top and
//! in its body.

use crate::support::{Folder, host_header};

/// Workloads of these numbers of cells.
pub fn problem(cells: &[usize]) -> String {
    let workloads: String = cells
        .iter()
        .map(|n| format!("[[workload]]\ndims = {{ n = {n} }}\n"))
        .collect();
    PROBLEM.to_owned() + &workloads
}

const PROBLEM: &str = concat!(
    "entry = \"doubled\"\nplanted = false\nragged = false\ndims = [\"n\"]\n",
    include_str!("../one_to_one.toml"),
    "[objective]\nsamples = \"n\"\n"
);

/// A correct kernel behind `top`, which first runs `body` with the cell `i`.
pub fn kernel(top: &str, body: &str) -> String {
    format!(
        r#"#include "lab.h"
{top}
extern "C" __global__ void doubled(const float* x, float* y, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {body}
    if (i < n) y[i] = 2 * x[i];
}}
LAB_LAUNCH(doubled) {{
    launch.grid[0] = (dims.n + 31) / 32;
    launch.block[0] = 32;
}}
"#
    )
}

/// A folder with these workloads, a right reference and this kernel.
pub fn folder(cells: &[usize], source: &str) -> Folder {
    let (problem, reference) = (problem(cells), kernel("", ""));
    Folder::new(&[
        ("problem.toml", &problem),
        ("reference.cu", &reference),
        ("kernel.cu", source),
        (host_header::NAME, &host_header::text()),
    ])
}

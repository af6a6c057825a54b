//! Extents that no workload has: a kernel that relies on whole tiles is wrong beside a multiple.

use crate::support::{Folder, Judged};
use lab_judge::problem;
use lab_protocol::Exit;

/// `y = 2 x`, with these keys and workloads.
fn problem(keys: &str, workloads: &str) -> String {
    format!(
        r#"
entry = "twice"
dims = ["rows", "cols"]
{keys}

[[tensor]]
name = "x"
role = "in"
type = "f32"
shape = ["rows", "cols"]
values = {{ uniform = {{ low = 0.5, high = 1.0 }} }}

[[tensor]]
name = "y"
role = "out"
type = "f32"
shape = ["rows", "cols"]

[tolerance.f32]
atol = 1e-6
rtol = 1e-6

[objective]
samples = "rows"

{workloads}"#
    )
}

const KERNEL: &str = r#"#include "lab.h"
extern "C" __global__ void twice(const float* x, float* y, int rows, int cols) {
    for (int c = threadIdx.x; c < WIDTH; c += 32) y[blockIdx.x * cols + c] = 2.0f * x[blockIdx.x * cols + c];
}
LAB_LAUNCH(twice) {
    launch.grid[0] = dims.rows;
    launch.block[0] = 32;
}
"#;

/// A kernel that writes each row as far as this says.
fn judged(keys: &str, workloads: &str, width: &str) -> Judged {
    let folder = Folder::new(&[
        ("problem.toml", &problem(keys, workloads)),
        ("reference.cu", &KERNEL.replace("WIDTH", "cols")),
        ("kernel.cu", &KERNEL.replace("WIDTH", width)),
    ]);
    folder.judge()
}

const WHOLE_TILES: &str = "cols / 32 * 32";
const WORKLOADS: &str = "[[workload]]\ndims = { rows = 3, cols = 128 }\n[[workload]]\ndims = { rows = 5, cols = 320 }\n";

#[test]
fn a_kernel_that_leaves_out_the_rest_behind_whole_tiles_fails_although_every_workload_is_whole() {
    let honest = judged("", WORKLOADS, "cols");
    honest.expect(Exit::Passed).expect_in("ragged", "2");
    let judged = judged("", WORKLOADS, WHOLE_TILES);
    judged.expect(Exit::Wrong).expect_no_measure();
    judged
        .expect_in("first_failure", "; rows=3 cols=127, ")
        .expect_in(
            "first_failure",
            "cols is a multiple of 64 in all workloads, and this checks another cols: if the kernel may rely on that, say \
             multiple_of = { cols = 64 } in problem.toml",
        );
}

#[test]
fn what_the_problem_states_is_not_tried() {
    for keys in [
        "multiple_of = { cols = 64 }",
        "multiple_of = { cols = 32 }",
        "ragged = false",
    ] {
        judged(keys, WORKLOADS, WHOLE_TILES).expect(Exit::Passed);
    }
    // All have a multiple of 64, and only one of 32 is promised.
    let tiles = "cols / 64 * 64";
    let judged = judged("multiple_of = { cols = 32 }", WORKLOADS, tiles);
    judged
        .expect(Exit::Wrong)
        .expect_in("first_failure", "; rows=3 cols=96, ");
}

#[test]
fn a_workload_with_a_rest_is_enough() {
    let odd = format!("{WORKLOADS}[[held_out]]\ndims = {{ rows = 2, cols = 33 }}\n");
    let honest = judged("", &odd, "cols");
    honest.expect(Exit::Passed);
    assert_eq!(honest.report.value("ragged"), None, "{}", honest.log);
    judged("", &odd, WHOLE_TILES)
        .expect(Exit::Wrong)
        .expect_in("first_failure", "cols=33");
    // A keep judges it, a save does not.
    let later =
        format!("{WORKLOADS}[[workload]]\ndims = {{ rows = 2, cols = 33 }}\nwhen = \"keep\"\n");
    judged("", &later, WHOLE_TILES)
        .expect(Exit::Wrong)
        .expect_in("first_failure", "cols=127");
}

#[test]
fn large_workloads_get_a_small_case() {
    let large = "[[workload]]\ndims = { rows = 1, cols = 300000 }\n";
    let judged = judged("", large, WHOLE_TILES);
    judged
        .expect(Exit::Wrong)
        .expect_in("first_failure", "; rows=1 cols=37499, ");
}

#[test]
fn a_dimension_without_a_small_case_is_named() {
    let large = "[[workload]]\ndims = { rows = 1, cols = 300000 }\n";
    let judged = judged("multiple_of = { cols = 150000 }", large, "cols");
    judged
        .expect(Exit::Passed)
        .expect_in("ragged", "0 left_out=cols");
}

#[test]
fn a_statement_that_is_not_true_is_refused() {
    let refused = |keys: &str| {
        let text = problem(keys, WORKLOADS);
        let folder = Folder::new(&[("problem.toml", &text)]);
        problem::open(folder.path()).err().unwrap().to_string()
    };
    let error = refused("multiple_of = { cols = 128 }");
    assert!(
        error.contains("workload 2: cols = 320 is not a multiple of 128, which multiple_of states"),
        "{error}"
    );
    let error = refused("multiple_of = { col = 32 }");
    assert!(
        error.contains("multiple_of: col = 32") && error.contains("did you mean 'cols'?"),
        "{error}"
    );
    assert!(refused("multiple_of = { cols = 0 }").contains("it must be at least 1"));
}

#[test]
fn shapes_of_a_keep_must_hold_the_statement_too() {
    for (step, is_true) in [(32, true), (16, false), (1, false)] {
        let keep = format!(
            "[[keep]]\ndims = {{ rows = 1, cols = {{ from = 32, to = 96, step = {step} }} }}\n"
        );
        let text = problem(
            "multiple_of = { cols = 32 }",
            &(WORKLOADS.to_owned() + &keep),
        );
        let folder = Folder::new(&[("problem.toml", &text)]);
        let opened = problem::open(folder.path())
            .err()
            .map(|error| error.to_string());
        assert_eq!(opened.is_none(), is_true, "{opened:?}");
        assert!(opened.is_none_or(|error| error.contains("keep 1: cols = ")));
    }
}

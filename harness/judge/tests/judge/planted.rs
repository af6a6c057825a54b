//! Extremes that are planted into inputs: the wrong kernels that they find, and the messages.

use crate::support::{Folder, Judged};
use lab_protocol::Exit;

/// The row of the largest number in every column.
fn problem(planted: &str, workloads: &str) -> String {
    format!(
        "entry = \"highest\"\ndims = [\"rows\", \"cols\"]\n\
         [[tensor]]\nname = \"x\"\nrole = \"in\"\ntype = \"f32\"\nshape = [\"rows\", \"cols\"]\n\
         values = {{ normal = {{}} }}\n{planted}\n\
         [[tensor]]\nname = \"at\"\nrole = \"out\"\ntype = \"i32\"\nshape = [\"cols\"]\n\
         [objective]\nsamples = \"cols\"\n{workloads}"
    )
}

const WORKLOAD: &str = "[[workload]]\ndims = { rows = 300, cols = 2 }\n";

/// The first NaN of a column is its largest number.
const KERNEL: &str = r#"#include "lab.h"
extern "C" __global__ void highest(const float* x, int* at, int rows, int cols) {
    const int c = threadIdx.x;
    int best = 0;
    for (int r = 1; r < rows && x[best * cols + c] == x[best * cols + c]; r++)
        if (x[r * cols + c] > x[best * cols + c] || x[r * cols + c] != x[r * cols + c]) best = r;
    at[c] = best;
}
LAB_LAUNCH(highest) { launch.block[0] = dims.cols; }
"#;

/// Judges the kernel with `old` replaced by `new`.
#[track_caller]
fn judge(planted: &str, workloads: &str, old: &str, new: &str) -> Judged {
    assert!(KERNEL.contains(old));
    let (problem, kernel) = (problem(planted, workloads), KERNEL.replace(old, new));
    Folder::new(&[
        ("problem.toml", &problem),
        ("reference.cu", KERNEL),
        ("kernel.cu", &kernel),
    ])
    .judge()
}

const NO_LAST_ROW: [&str; 2] = ["r < rows &&", "r < rows - 1 &&"];
const NO_NAN: [&str; 2] = [" || x[r * cols + c] != x[r * cols + c]", ""];

#[test]
fn a_largest_number_in_the_last_row_is_planted_along_the_rows() {
    let [old, new] = NO_LAST_ROW;
    // By default no planted number is larger than drawn ones, and the run says of which inputs.
    judge("", WORKLOAD, old, new)
        .expect(Exit::Passed)
        .expect_in("planted", "as_drawn=x");
    let judged = judge("planted = { along = 0 }", WORKLOAD, old, new);
    judged
        .expect(Exit::Wrong)
        .expect_in("first_failure", " is planted: ");
    judged
        .expect_in("first_failure", "x[:, ")
        .expect_in("planted", "18 left_out=0");
    judge("planted = { along = 0 }", WORKLOAD, old, old).expect(Exit::Passed);
}

#[test]
fn a_workload_says_what_is_planted_in_it() {
    let [old, new] = NO_NAN;
    let second = "[[workload]]\ndims = { rows = 300, cols = 2 }\nplanted = { x = { kinds = [\"nan\"], along = 0 } }\n";
    judge("", WORKLOAD, old, new).expect(Exit::Passed);
    let both = format!("{WORKLOAD}{second}");
    let judged = judge("", &both, old, new);
    judged
        .expect(Exit::Wrong)
        .expect_in("first_failure", "is planted: nan_");
    // Two workloads of the same dimensions have names of their own.
    judged.expect_in("first_failure", "; rows=300 cols=2 nr=2, ");
    judge("", &both, old, old)
        .expect(Exit::Passed)
        .expect_in("workloads", "2 of=2 when=save");
    // The workload's `planted` takes precedence over the tensor's.
    let without = WORKLOAD.to_owned() + "planted = { x = false }\n";
    judge(
        "planted = { kinds = [\"nan\"], along = 0 }",
        &without,
        old,
        new,
    )
    .expect(Exit::Passed);
}

/// `true` plants no NaN: a kernel need not handle NaN unless its problem says so.
#[test]
fn nan_must_be_named() {
    let [old, new] = NO_NAN;
    judge("planted = { along = [0, 1] }", WORKLOAD, old, new).expect(Exit::Passed);
}

/// The gates of a decode step are sigmoids and softplus of drawn numbers, none of which is large.
#[test]
fn a_gate_that_overflows_is_found_where_its_argument_is_large() {
    let read = |name: &str| {
        let folder = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/problems/decode54/"
        );
        std::fs::read_to_string(format!("{folder}{name}")).unwrap()
    };
    let (problem, reference, kernel) = (
        read("problem.toml"),
        read("reference.cu"),
        read("kernel.cu"),
    );
    // The workloads of the first two batch sizes, to save time.
    let problem = &problem[..problem.find("# 7 of batch 8").unwrap()];
    let judge = |kernel: &str| {
        Folder::new(&[
            ("problem.toml", problem),
            ("reference.cu", &reference),
            ("kernel.cu", kernel),
        ])
        .judge()
    };
    judge(&kernel)
        .expect(Exit::Passed)
        .expect_in("planted", "left_out=0");

    let sigmoid = "1.0f / (1.0f + expf(-__bfloat162float(b[of_head])))";
    assert!(kernel.contains(sigmoid));
    let overflows =
        "expf(__bfloat162float(b[of_head])) / (1.0f + expf(__bfloat162float(b[of_head])))";
    let judged = judge(&kernel.replace(sigmoid, overflows));
    judged
        .expect(Exit::Wrong)
        .expect_in("first_failure", " is planted: large");
    judged.expect_in("first_failure", "b[");
}

/// Divides each row by its root mean square, with an ε under the root.
const NORM: &str = r#"#include "lab.h"
extern "C" __global__ void norm_rows(const float* x, float* y, float eps, int rows, int cols) {
    const int r = threadIdx.x;
    if (r >= rows) return;
    float sum = 0;
    for (int c = 0; c < cols; c++) sum += x[r * cols + c] * x[r * cols + c];
    for (int c = 0; c < cols; c++) y[r * cols + c] = x[r * cols + c] / sqrtf(sum / cols + eps);
}
LAB_LAUNCH(norm_rows) { launch.block[0] = 32; }
"#;

/// `further` stands at the top of problem.toml, `tolerance` in `[tolerance.f32]`.
fn norm(further: &str, tolerance: &str, kernel: &str) -> Judged {
    let problem = format!(
        "entry = \"norm_rows\"\n{further}\ndims = [\"rows\", \"cols\"]\n\
         [[tensor]]\nname = \"x\"\nrole = \"in\"\ntype = \"f32\"\nshape = [\"rows\", \"cols\"]\nvalues = {{ normal = {{}} }}\n\
         [[tensor]]\nname = \"y\"\nrole = \"out\"\ntype = \"f32\"\nshape = [\"rows\", \"cols\"]\n\
         [[scalar]]\nname = \"eps\"\ntype = \"f32\"\nvalue = 1e-6\n\
         [tolerance.f32]\n{tolerance}\n[objective]\nsamples = \"rows\"\n\
         [[workload]]\ndims = {{ rows = 30, cols = 17 }}\n"
    );
    Folder::new(&[
        ("problem.toml", &problem),
        ("reference.cu", NORM),
        ("kernel.cu", kernel),
    ])
    .judge()
}

#[test]
fn without_a_word_extremes_are_planted_and_scalars_vary_unless_the_problem_says_no() {
    const LOOSE: &str = "atol = 1e-6\nrtol = 1e-4";
    norm("", LOOSE, NORM).expect(Exit::Passed);
    let without_eps = NORM.replace(" + eps", "");
    norm("", LOOSE, &without_eps)
        .expect(Exit::Wrong)
        .expect_in("first_failure", "is planted by default: ")
        .expect_in("first_failure", "; eps is ");
    norm("planted = false", LOOSE, &without_eps).expect(Exit::Passed);
}

#[test]
fn a_zero_of_the_other_sign_is_a_caveat_where_the_tolerance_is_zero() {
    let other = NORM.replace("y[r * cols + c] = ", "y[r * cols + c] = 0.0f + ");
    let exact = norm("", "atol = 0.0\nrtol = 0.0", &other);
    exact.expect(Exit::Passed);
    let words = "is a zero of the other sign than the reference's";
    assert!(exact.log.contains(words), "{}", exact.log);
    let loose = norm("", "atol = 1e-9\nrtol = 0.0", &other);
    loose.expect(Exit::Passed);
    assert!(!loose.log.contains(words), "{}", loose.log);
}

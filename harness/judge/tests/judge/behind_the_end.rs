//! Kernels that read or write one cell behind the end of a tensor.

use crate::doubled;
use lab_protocol::Exit;

#[test]
fn a_cell_behind_the_end_that_counts_makes_the_result_wrong() {
    for joined in [
        "fmaxf(y[i], x[i + 1])",
        "fminf(y[i], x[i + 1])",
        "y[i] + x[i + 1]",
    ] {
        let body =
            format!("if (i < n) {{ y[i] = 2 * x[i]; if (i == n - 1) y[i] = {joined}; return; }}");
        let judged = doubled::folder(&[100], &doubled::kernel("", &body)).judge();
        judged.expect(Exit::Wrong).expect_in("correctness", "fail");
        judged.expect_in("y_mismatched", "1e-2 limit=0e0");
        judged.expect_in("out_of_bounds", "0 limit=0");
    }
}

#[test]
fn a_store_behind_the_end_is_the_first_failure_also_where_values_are_wrong() {
    let body = "if (i < n) { y[i + 1] = x[i]; return; }";
    let judged = doubled::folder(&[100], &doubled::kernel("", body)).judge();
    judged
        .expect(Exit::Wrong)
        .expect_in("out_of_bounds", "1 limit=0");
    judged.expect_in("first_failure", "wrote out of bounds: ");
    assert!(
        judged.log.contains("failure 2: never wrote y[0]"),
        "{}",
        judged.log
    );
}

#[test]
fn a_read_behind_the_end_names_the_tensor_and_is_no_race() {
    let body = "__shared__ float next[32];\n    next[threadIdx.x] = x[i + 1];\n    __syncthreads();\n    \
                if (next[threadIdx.x] > 1e37f && n < 0) y[i] = 1;";
    let judged = doubled::folder(&[64, 96], &doubled::kernel("", body)).judge();
    let caveat =
        "kernel.cu:6: thread (31,0,0) of block (1,0,0) reads cell 1 behind the last one of x, n=64";
    let has = |words: &str| {
        judged
            .report
            .caveats()
            .iter()
            .any(|one| one.contains(words))
    };
    assert!(has(caveat), "{}", judged.log);
    assert!(
        !judged.log.contains("barrier lies between"),
        "{}",
        judged.log
    );
    judged.expect(Exit::Passed).expect_in("races", "0 limit=0");
}

#[test]
fn a_read_before_the_start_of_an_output_is_named_too() {
    let body = "if (i < n) { float before = y[i - 1]; y[i] = before * 0 + 2 * x[i]; return; }";
    let judged = doubled::folder(&[64], &doubled::kernel("", body)).judge();
    assert!(
        judged
            .log
            .contains("reads 4 bytes before the start of y, n=64"),
        "{}",
        judged.log
    );
}

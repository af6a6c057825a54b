//! A tolerance that allows a fraction of the cells to be wrong (`matched`).

use crate::doubled;
use crate::support::{Folder, Judged};
use lab_protocol::Exit;

/// Judges a kernel of 1,000 cells whose first `wrong` cells are 1 too large, where `matched` is 0.99.
fn judge(wrong: usize) -> Judged {
    let body = format!("if (i < {wrong}) {{ y[i] = 2 * x[i] + 1; return; }}");
    let problem = doubled::problem(&[1000]).replace(
        "[tolerance.f32]",
        "[tolerance.f32]\natol = 1e-3\nmatched = 0.99",
    );
    let files = [
        ("problem.toml", problem),
        ("reference.cu", doubled::kernel("", "")),
        ("kernel.cu", doubled::kernel("", &body)),
    ];
    Folder::new(&files.each_ref().map(|(name, text)| (*name, text.as_str()))).judge()
}

#[test]
fn a_kernel_with_as_many_wrong_cells_as_matched_allows_passes() {
    for (wrong, share) in [(0, "0e0"), (1, "1e-3"), (10, "1e-2")] {
        let judged = judge(wrong);
        judged.expect(Exit::Passed);
        judged.expect_in("y_mismatched", &format!("{share} limit=1e-2"));
        // The error of a cell that may be wrong has no limit.
        assert!(!judged.value("y_error").contains("limit"), "{}", judged.log);
    }
}

#[test]
fn one_wrong_cell_more_than_matched_allows_fails() {
    let judged = judge(11);
    judged.expect(Exit::Wrong).expect_in("correctness", "fail");
    judged.expect_in("y_mismatched", "1.1e-2 limit=1e-2");
    judged.expect_in("first_failure", "11 of 1000 cells off");
}

#[test]
fn types_with_and_without_matched_are_judged_each_by_its_own_limit() {
    let judge = |in_f32: usize, in_f16: usize| {
        let kernel = |in_f32: usize, in_f16: usize| {
            let entry = |name: &str, cell: &str, wrong: usize| {
                format!(
                    "extern \"C\" __global__ void {name}(const {cell}* x, {cell}* y, int n) {{\n\
                     int i = blockIdx.x * blockDim.x + threadIdx.x;\n\
                     if (i < n) y[i] = i < {wrong} ? {cell}(7.0f) : x[i];\n}}\n\
                     LAB_LAUNCH({name}) {{ launch.grid[0] = (dims.n + 31) / 32; launch.block[0] = 32; }}\n"
                )
            };
            let entries = [
                entry("copy_f32", "float", in_f32),
                entry("copy_f16", "__half", in_f16),
            ];
            "#include \"lab.h\"\n#include <cuda_fp16.h>\n".to_owned() + &entries.concat()
        };
        let problem = doubled::problem(&[1000])
            .replace("\"doubled\"", "\"copy_{T}\"\ntypes = [\"f32\", \"f16\"]")
            .replace("type = \"f32\"", "type = \"T\"")
            .replace(
                "[tolerance.f32]",
                "[tolerance.f32]\natol = 1e-3\n[tolerance.f16]\natol = 1e-3\nmatched = 0.99",
            );
        let files = [
            ("problem.toml", problem),
            ("reference.cu", kernel(0, 0)),
            ("kernel.cu", kernel(in_f32, in_f16)),
        ];
        Folder::new(&files.each_ref().map(|(name, text)| (*name, text.as_str()))).judge()
    };
    let judged = judge(0, 3);
    judged.expect(Exit::Passed);
    judged.expect_in("y_mismatched", "0e0 limit=0e0");
    let judged = judge(1, 0);
    judged.expect(Exit::Wrong);
    judged.expect_in("y_mismatched", "1e-3 limit=0e0");
    judge(0, 11)
        .expect(Exit::Wrong)
        .expect_in("y_mismatched", "1.1e-2 limit=1e-2");
}

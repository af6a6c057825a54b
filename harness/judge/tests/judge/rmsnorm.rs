//! The committed rmsnorm problem: its kernel passes, and each mistake in it is reported.

use crate::support::{self, Folder, Judged};
use lab_protocol::Exit;

const PROBLEM: &str = include_str!("../../../../kernels/rmsnorm/problem.toml");
const REFERENCE: &str = include_str!("../../../../kernels/rmsnorm/reference.cu");
const KERNEL: &str = include_str!("../../../../kernels/rmsnorm/kernel.cu");
/// The kernel before the first experiment: each entry has its own launch statement.
const FIRST: &str = include_str!("../../../../benchmarks/loop/two_passes.cu");

fn folder(kernel: &str) -> Folder {
    Folder::new(&[
        ("problem.toml", PROBLEM),
        ("reference.cu", REFERENCE),
        ("kernel.cu", kernel),
    ])
}

/// Judges the kernel with `old` replaced by `new`.
#[track_caller]
fn spoiled(old: &str, new: &str) -> Judged {
    assert_eq!(KERNEL.matches(old).count(), 1, "'{old}' is there once");
    folder(&KERNEL.replace(old, new)).judge()
}

const STORE: &str = "        ys[p] = out;\n";

#[test]
fn the_committed_kernel_passes() {
    let judged = folder(KERNEL).judge();
    judged
        .expect(Exit::Passed)
        .expect_in("correctness", "pass")
        .expect_in("stage", "done");
    judged
        .expect_in("device", "cpu (emulated")
        .expect_in("launch", " shared_bytes=0 entry=f16_odd");
    judged
        .expect_in("out_of_bounds", "0 limit=0")
        .expect_in("y_unwritten", "0 limit=0");
    let gates = judged.report.gates();
    assert!(
        gates.len() >= 6 && gates.iter().all(lab_protocol::report::Gate::passes),
        "{}",
        judged.log
    );
    assert!(judged.report.measure("throughput_sps").unwrap().value > 0.0);
    assert!(judged.report.measure("kernel_us").unwrap().value > 0.0);
    let series = judged.report.series("y_error").unwrap();
    let workloads = judged.report.workloads();
    assert!(workloads.len() >= 4, "{}", judged.log);
    assert!(
        series.len() > workloads.len(),
        "held-out shapes are checked and not timed: {}",
        judged.log
    );
    assert!(
        series.iter().any(|error| *error > 0.0),
        "two ways of adding up differ somewhere"
    );
    judged.expect_in("emulated_workloads", "limit_of=cpu_max_cells");
}

#[test]
fn an_undone_edit_is_judged_without_a_build() {
    let folder = folder(&format!("{KERNEL}// {:?}\n", std::time::SystemTime::now()));
    folder.judge().expect(Exit::Passed);
    let again = folder.judge();
    again
        .expect(Exit::Passed)
        .expect_in("build_s", "reused=yes");
    // Stages show when they began, so that a log shows where the time went.
    again.expect_in("stage", "done at=");
}

#[test]
fn copies_of_a_folder_share_the_built_reference() {
    let mark = format!("mark_{}", std::process::id());
    let reference =
        format!("{REFERENCE}\nextern \"C\" __device__ const char {mark}[] = \"{mark}\";\n");
    for _ in 0..2 {
        let files = [
            ("problem.toml", PROBLEM),
            ("reference.cu", &reference),
            ("kernel.cu", KERNEL),
        ];
        Folder::new(&files).judge().expect(Exit::Passed);
    }
    let images = std::fs::read_dir(support::cache().join("images"))
        .unwrap()
        .flatten();
    let holds_mark = |image: &Vec<u8>| {
        image
            .windows(mark.len())
            .any(|part| part == mark.as_bytes())
    };
    let found = images
        .filter_map(|image| std::fs::read(image.path()).ok())
        .filter(holds_mark);
    assert_eq!(found.count(), 1, "the path of a copy is in no image");
}

#[test]
fn a_store_behind_the_end_is_out_of_bounds() {
    let judged = spoiled(
        STORE,
        "        ys[p] = out;\n        if ((T*)&ys[p + 1] == y + rows * (long long)cols) ys[p + 1] = out;\n",
    );
    judged
        .expect(Exit::Wrong)
        .expect_in("correctness", "fail")
        .expect_no_measure();
    judged.expect_in("out_of_bounds", "1 limit=0");
    judged.expect_in(
        "first_failure",
        "wrote out of bounds: into cell 1 behind the last one of y; rows=3 cols=257 T=f32",
    );
}

#[test]
fn a_last_cell_that_nobody_writes_is_named() {
    let judged = spoiled(
        STORE,
        "        if ((p + 1) * N < cols || cols != 257) ys[p] = out;\n",
    );
    judged.expect(Exit::Wrong).expect_no_measure();
    judged.expect_in("first_failure", "never wrote y[0, 256], expected ");
    judged.expect_in("first_failure", "rows=3 cols=257 T=f32");
    assert!(judged.report.failing_gate().is_some(), "{}", judged.log);
}

#[test]
fn a_picture_shows_which_cells_are_wrong() {
    let judged = spoiled(
        STORE,
        "        if (cols > 1 && cols < 300 && blockIdx.x == 1) narrow(&out.value[0], 1e4f);\n        ys[p] = out;\n",
    );
    judged.expect(Exit::Wrong);
    // Of the cases that are wrong, the largest.
    assert_eq!(judged.report.wrong_tensors(), ["y"]);
    let map = judged.report.wrong_map("y").unwrap();
    assert_eq!(
        (map.shape, &*map.workload),
        ([3, 257], "rows=3 cols=257 T=f32"),
        "{}",
        judged.log
    );
    assert_eq!(map.pattern, "row 1, in every column");
    assert!(
        map.shares[1].iter().all(|share| *share == 9)
            && map.shares[0].iter().all(|share| *share == 0)
    );
    let tile = judged.report.wrong_tile("y").unwrap();
    assert_eq!(tile.at, [0, 0]);
    assert!(!tile.cells[0][0].is_wrong && tile.cells[0][0].got != Some(1e4));
    assert!(
        tile.cells[1][0].is_wrong
            && tile.cells[1][0].got == Some(1e4)
            && tile.cells[1][0].expected != 1e4
    );
}

#[test]
fn a_nan_is_named() {
    let judged = spoiled(
        STORE,
        "        if (blockIdx.x == 2) narrow(&out.value[0], nanf(\"\"));\n        ys[p] = out;\n",
    );
    judged.expect(Exit::Wrong).expect_no_measure();
    judged.expect_in("first_failure", "y[2, 0] is NaN, expected ");
}

#[test]
fn an_input_that_is_changed_is_named() {
    let judged = spoiled(
        STORE,
        "        ys[p] = out;\n        if (blockIdx.x == 1 && p == 0) narrow(const_cast<T*>(&x[cols]), 7.0f);\n",
    );
    judged.expect(Exit::Wrong).expect_no_measure();
    judged.expect_in(
        "first_failure",
        "changed its input x[1, 0]; rows=3 cols=257 T=f32",
    );
}

#[test]
fn wrong_arithmetic_fails() {
    let judged = folder(&KERNEL.replace("* per_col + eps", "* per_col")).judge();
    judged
        .expect(Exit::Wrong)
        .expect_in("correctness", "fail")
        .expect_no_measure();
    judged.expect_in("first_failure", "times the tolerance");
}

#[test]
fn a_missing_barrier_fails() {
    let judged = spoiled("    __syncthreads();\n", "");
    judged.expect(Exit::Wrong).expect_no_measure();
}

#[test]
fn without_a_launch_statement_the_error_says_what_to_write() {
    let end = FIRST.find("LAB_LAUNCH(rmsnorm_f16)").unwrap();
    let judged = folder(&FIRST[..end]).judge();
    judged.expect(Exit::NotBuilt).expect_in(
        "stopped",
        "the source must contain LAB_LAUNCH(rmsnorm_f16) { … }",
    );
}

#[test]
fn a_syntax_error_is_a_diagnostic_of_the_users_file() {
    let judged = spoiled(STORE, "        ys[p] = owt;\n");
    judged.expect(Exit::NotBuilt).expect_no_measure();
    let line = KERNEL[..KERNEL.find(STORE).unwrap()].lines().count() as u32 + 1;
    let found = judged.report.diagnostics();
    assert!(
        found
            .iter()
            .any(|d| d.file == "kernel.cu" && d.line == line),
        "{line} {}",
        judged.log
    );
}

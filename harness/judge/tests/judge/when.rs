//! Workloads that are judged on a save, in a measurement, or before a keep.

use crate::support::{self, Folder, Judged};
use crate::toy;
use lab_protocol::{Exit, When};
use lab_protocol::{JudgeKind, JudgeRequest};

/// One workload for each occasion, and shapes that a keep draws.
fn problem(drawn: &str) -> String {
    let others = "[[workload]]\ndims = { n = 192 }\nwhen = \"measure\"\n\
                  [[workload]]\ndims = { n = 128 }\nwhen = \"keep\"\n\
                  [[held_out]]\ndims = { n = 64 }\nwhen = \"measure\"\n";
    format!("{}\n{others}{drawn}", toy::PROBLEM)
}

/// A kernel that is wrong for one number of cells; `0` means none.
fn kernel(wrong: usize) -> String {
    toy::kernel(&format!(
        "const int i = blockIdx.x * 64 + threadIdx.x; if (i < n) y[i] = 2.0f * x[i] + (n == {wrong});"
    ))
}

const REFERENCE: &str =
    "const int i = blockIdx.x * 64 + threadIdx.x; if (i < n) y[i] = 2.0f * x[i];";

fn folder(drawn: &str, wrong: usize) -> Folder {
    let (problem, kernel) = (problem(drawn), kernel(wrong));
    Folder::new(&[
        ("problem.toml", &problem),
        ("reference.cu", &toy::kernel(REFERENCE)),
        ("kernel.cu", &kernel),
    ])
}

fn at(folder: &Folder, when: When) -> Judged {
    support::run(JudgeRequest {
        when,
        ..folder.options()
    })
}

fn before_a_keep(folder: &Folder) -> Judged {
    support::run(JudgeRequest {
        kind: JudgeKind::SealedCheck { runs: 1 },
        ..folder.options()
    })
}

/// The workloads that have a row, by their number of cells.
fn timed(judged: &Judged) -> Vec<String> {
    let rows = judged.report.workloads();
    // A row begins with the dimensions.
    rows.iter().map(|row| row[0].1.to_owned()).collect()
}

#[test]
fn each_occasion_judges_its_workloads_and_those_before_it() {
    let folder = folder("", 0);
    let saved = at(&folder, When::Save);
    saved
        .expect(Exit::Passed)
        .expect_in("workloads", "1 of=3 when=save");
    assert_eq!(timed(&saved), ["256"]);
    let measured = at(&folder, When::Measure);
    measured
        .expect(Exit::Passed)
        .expect_in("workloads", "2 of=3 when=measure");
    assert_eq!(timed(&measured), ["256", "192"]);
    let all = at(&folder, When::Keep);
    all.expect(Exit::Passed)
        .expect_in("workloads", "3 of=3 when=keep");
    assert_eq!(timed(&all), ["256", "192", "128"]);
}

#[test]
fn a_save_is_not_stopped_by_a_workload_of_a_keep_but_the_keep_is() {
    for wrong in [192, 128, 64] {
        let folder = folder("", wrong);
        at(&folder, When::Save).expect(Exit::Passed);
        let kept = before_a_keep(&folder);
        kept.expect(Exit::Wrong).expect_no_measure();
        kept.expect_in("workloads", "3 of=3 when=keep")
            .expect_in("first_failure", &format!("; n={wrong}, "));
    }
}

#[test]
fn a_measurement_is_stopped_by_its_own_workloads() {
    at(&folder("", 192), When::Measure)
        .expect(Exit::Wrong)
        .expect_in("first_failure", "; n=192, ");
    at(&folder("", 64), When::Measure)
        .expect(Exit::Wrong)
        .expect_in("first_failure", "; n=64, ");
    at(&folder("", 128), When::Measure).expect(Exit::Passed);
}

/// Drawn shapes come beside the file's, not in their place.
#[test]
fn a_keep_that_draws_shapes_still_passes_every_workload() {
    let drawn = "[[keep]]\ndims = { n = { from = 1, to = 63 } }\n";
    for wrong in [256, 192, 128, 64] {
        let kept = before_a_keep(&folder(drawn, wrong));
        kept.expect(Exit::Wrong)
            .expect_in("first_failure", &format!("; n={wrong}, "));
    }
    before_a_keep(&folder(drawn, 0))
        .expect(Exit::Passed)
        .expect_in("workloads", "3 of=3 when=keep");
}

#[test]
fn a_limit_that_leaves_nothing_to_time_is_named() {
    let held_out = "[[held_out]]\ndims = { n = 4 }\n";
    let problem = format!("cpu_max_cells = 100\n{}\n{held_out}", toy::PROBLEM);
    let folder = Folder::new(&[
        ("problem.toml", &problem),
        ("reference.cu", &toy::kernel(REFERENCE)),
        ("kernel.cu", &kernel(0)),
    ]);
    let judged = at(&folder, When::Save);
    judged.expect(Exit::NOT_JUDGED).expect_in(
        "stopped",
        "problem.toml:1:17: error: cpu_max_cells leaves the emulated device no [[workload]]",
    );
    judged.expect_in("stopped", "raise it, or add a smaller [[workload]]");
}

/// The caveat names them. No later occasion judges them either.
#[test]
fn a_workload_that_is_too_large_for_the_emulated_device_is_not_left_to_a_later_occasion() {
    let large =
        "[[workload]]\ndims = { n = 1024 }\n[[workload]]\ndims = { n = 2048 }\nwhen = \"keep\"\n";
    let problem = format!("cpu_max_cells = 1000\n{}\n{large}", toy::PROBLEM);
    let folder = Folder::new(&[
        ("problem.toml", &problem),
        ("reference.cu", &toy::kernel(REFERENCE)),
        ("kernel.cu", &kernel(0)),
    ]);
    let saved = at(&folder, When::Save);
    let judged = saved.report.judged_workloads().unwrap();
    assert_eq!(judged.judged, judged.of, "{}", saved.log);
    assert!(saved.log.contains("emulated_workloads: "), "{}", saved.log);
}

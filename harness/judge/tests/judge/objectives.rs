//! The objectives of a problem.toml: the measures, and how several workloads become one figure.

use crate::support::{Folder, Judged};
use lab_protocol::Exit;

const PROBLEM: &str = concat!(
    "entry = \"twice\"\ndims = [\"n\"]\nflops = \"n\"\n",
    include_str!("../one_to_one.toml"),
    "[objective]\nOBJECTIVE\n"
);

const WORKLOADS: &str = "[[workload]]\ndims = { n = 100 }\n[[workload]]\ndims = { n = 5000 }\n[[workload]]\ndims = { n = 20000 }\n";

const KERNEL: &str = r#"
#include "lab.h"
LAB_LAUNCH(twice) { launch.grid[0] = (dims.n + 255) / 256; launch.block[0] = 256; }
extern "C" __global__ void twice(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
"#;

fn judge(objective: &str, workloads: &str) -> Judged {
    let problem = PROBLEM.replace("OBJECTIVE", objective) + workloads;
    let files = [
        ("problem.toml", problem.as_str()),
        ("reference.cu", KERNEL),
        ("kernel.cu", KERNEL),
    ];
    let judged = Folder::new(&files).judge();
    judged.expect(Exit::Passed);
    judged
}

/// A number of each workload's line.
fn each(judged: &Judged, key: &str) -> Vec<f64> {
    let value = |row: &Vec<(&str, &str)>| {
        row.iter()
            .find(|(k, _)| *k == key)
            .map(|(_, v)| v.parse().unwrap())
    };
    judged
        .report
        .workloads()
        .iter()
        .map(|row| value(row).unwrap_or_else(|| panic!("{}", judged.log)))
        .collect()
}

#[track_caller]
fn is_about(found: f64, wanted: f64) {
    assert!(
        (found / wanted - 1.0).abs() < 2e-3,
        "{found} instead of {wanted}"
    );
}

#[test]
fn the_figure_is_the_aggregate_of_the_workloads_and_names_it() {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let times = |judged: &Judged| each(judged, "kernel_us");

    let plain = judge("samples = \"n\"", WORKLOADS);
    let logs: Vec<f64> = times(&plain).iter().map(|us| us.ln()).collect();
    is_about(plain.report.number("kernel_us").unwrap(), mean(&logs).exp());
    plain.expect_in("throughput_sps", " aggregate=geometric workloads=3");
    plain.expect_in("kernel_us", " aggregate=geometric workloads=3");
    assert_eq!(plain.report.value("objective"), None, "as ever");

    let total = judge("measure = \"time\"\naggregate = \"arithmetic\"", WORKLOADS);
    is_about(
        total.report.number("kernel_us").unwrap(),
        mean(&times(&total)),
    );
    total
        .expect_in("kernel_us", " aggregate=arithmetic workloads=3")
        .expect_in("objective", "kernel_us");
    // A launch is one sample, and results.tsv says the same as the objective.
    is_about(
        total.report.number("throughput_sps").unwrap(),
        1e6 / mean(&times(&total)),
    );

    let worst = judge("measure = \"gbps\"\naggregate = \"worst\"", WORKLOADS);
    let lowest = times(&worst)
        .into_iter()
        .zip([100.0, 5000.0, 20000.0])
        .map(|(us, n)| 8.0 * n / us / 1e3);
    is_about(
        worst.report.number("throughput_gbps").unwrap(),
        lowest.fold(f64::INFINITY, f64::min),
    );
    worst
        .expect_in("throughput_gbps", " aggregate=worst workloads=3")
        .expect_in("objective", "throughput_gbps");
    is_about(
        worst.report.number("kernel_us").unwrap(),
        times(&worst).into_iter().fold(0.0, f64::max),
    );
}

#[test]
fn a_single_workload_names_no_aggregate() {
    let one = judge(
        "measure = \"tflops\"\nsamples = \"n\"",
        "[[workload]]\ndims = { n = 50000 }\n",
    );
    one.expect_in("objective", "throughput_tflops");
    let us = each(&one, "kernel_us")[0];
    assert!((one.report.number("throughput_tflops").unwrap() - 50000.0 / us / 1e6).abs() <= 2e-6);
    for key in ["throughput_tflops", "throughput_sps", "kernel_us"] {
        assert!(!one.value(key).contains("aggregate"), "{}", one.log);
    }
}

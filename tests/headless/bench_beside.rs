//! `lab bench --show N --beside M`: the ratio of each workload of two benches.

use crate::bench::{TIMES, lab_with};
use serde_json::{Value, json};

#[test]
fn a_bench_stands_beside_another_one_with_the_ratio_of_each_workload() {
    let lab = lab_with(TIMES);
    lab.lab("bench --runs 2").is(0);
    lab.write("kernel.cu", "// the next one\n");
    lab.lab("bench --runs 2").is(0);
    let shown = lab.lab("bench --show 1 --beside 2").is(0);
    for line in [
        "  1.190× (1.091 … 1.300) beside bench 2 of the kernel ",
        "    batch=1   1.190× (1.091 … 1.300)",
        "    batch=64  1.190× (1.091 … 1.300)",
    ] {
        assert!(shown.out.contains(line), "{line}: {shown:?}");
    }
    assert!(shown.out.contains("not timed in turns"), "{shown:?}");
    let answer = lab.lab("bench --show 2 --beside 1 --json").is(0).json();
    let of = &answer["beside"];
    assert_eq!((&of["bench"], &of["unlike"]), (&json!(1), &Value::Null));
    let ratio = of["workloads"][1]["ratio"].as_f64().unwrap();
    assert!((ratio - 10.5 / 12.5).abs() < 1e-9, "{ratio}");
    // The same runs overlap, and another device's times say nothing.
    lab.lab("bench --show 1 --beside 1")
        .is(0)
        .says("1.000× (0.909 … 1.100), the runs overlap");
    lab.write("../device", "Another GPU");
    lab.lab("bench --runs 1").is(0);
    lab.lab("bench --show 3 --beside 1")
        .is(0)
        .says("not compared with bench 1: one was measured on Another GPU, the other on Test GPU");
    lab.lab("bench --beside 1").is(64).says("--show");
}

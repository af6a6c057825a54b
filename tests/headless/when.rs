//! Workloads that a save leaves to `lab measure` and to the check before a keep: who judges what, and who says so.

use crate::lab::Lab;
use serde_json::{Value, json};

const PROBLEM: &str = r#"entry = "twice"
dims = ["n"]
[[tensor]]
name = "x"
role = "in"
type = "f32"
shape = ["n"]
values = { normal = {} }
planted = true
[[tensor]]
name = "y"
role = "out"
type = "f32"
shape = ["n"]
[tolerance.f32]
[objective]
samples = "n"
[[workload]]
dims = { n = 30 }
[[workload]]
dims = { n = 40 }
when = "measure"
[[workload]]
dims = { n = 50 }
when = "keep"
"#;

const KERNEL: &str = r#"#include "lab.h"
extern "C" __global__ void twice(const float* x, float* y, int n) { y[threadIdx.x] = 2.0f * x[threadIdx.x]; }
LAB_LAUNCH(twice) { launch.block[0] = dims.n; }
"#;

fn twice() -> Lab {
    let lab = Lab::empty();
    lab.write("problem.toml", PROBLEM);
    lab.write("reference.cu", KERNEL);
    lab.write("kernel.cu", KERNEL);
    lab.write("lab.toml", "kernel = \"kernel.cu\"\ndevice = \"cpu\"\ntime_limit_s = 300\n[measure]\ntrials = 1\niterations = 2\n");
    lab.git("add -A");
    lab.git("commit -qm twice");
    lab
}

fn judged(judged: usize, when: &str) -> Value {
    json!({ "judged": judged, "of": 3, "when": when })
}

#[test]
fn a_keep_judges_the_workloads_that_a_save_left_out() {
    let lab = twice();
    lab.write("kernel.cu", KERNEL.to_owned() + "// tried\n");
    lab.lab("run").is(0).says("1 of 3 workloads judged; `lab measure` and");
    let measured = lab.lab("measure --json").is(0).json();
    assert_eq!(measured["judged_workloads"], judged(2, "measure"));
    assert_eq!(measured["workloads"].as_array().map(Vec::len), Some(2));
    let run = lab.lab("run --json").is(0).json();
    assert_eq!(run["judged_workloads"], judged(1, "save"));
    let kept = lab.lab("keep --json -m tried").is(0).json();
    assert_eq!(kept["decision"]["held_out"]["judged_workloads"], judged(3, "keep"));
    let record: Value = serde_json::from_str(&lab.read(".lab/runs/3/record.json")).unwrap();
    assert_eq!(record["verdict"]["judged"], judged(1, "save"));
}

#[test]
fn a_kernel_that_is_wrong_for_a_workload_of_a_keep_is_not_kept() {
    let lab = twice();
    lab.write("kernel.cu", KERNEL.replace("2.0f * x", "(n == 50 ? 3.0f : 2.0f) * x"));
    lab.lab("run").is(0);
    lab.lab("measure").is(0).says("2 of 3 workloads judged; the check before a keep judges all");
    let kept = lab.lab("keep -m wrong").is(1);
    assert!(kept.err.contains("n=50"), "{kept:?}");
}

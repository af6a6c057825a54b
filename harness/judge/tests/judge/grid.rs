//! Tables that state several workloads: lists of extents, and files with a workload in each line.

use crate::support::{Folder, Judged};
use lab_judge::problem;
use lab_protocol::Exit;

/// `y = a x` over a matrix, with these workloads.
fn problem(workloads: &str) -> String {
    format!(
        r#"
entry = "scaled"
dims = ["batch", "heads", "cols"]

[[tensor]]
name = "x"
role = "in"
type = "f32"
shape = ["batch", "heads", "cols"]
values = {{ uniform = {{ low = 0.0, high = 1.0 }} }}

[[tensor]]
name = "y"
role = "out"
type = "f32"
shape = ["batch", "heads", "cols"]

[[scalar]]
name = "a"
type = "f32"
value = 2.0

[tolerance.f32]
atol = 1e-6
rtol = 1e-6

[objective]
samples = "batch"

{workloads}"#
    )
}

const KERNEL: &str = r#"#include "lab.h"
extern "C" __global__ void scaled(const float* x, float* y, float a, int batch, int heads, int cols) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < batch * heads * cols) y[i] = a * x[i];
}
LAB_LAUNCH(scaled) {
    launch.grid[0] = (dims.batch * dims.heads * dims.cols + 127) / 128;
    launch.block[0] = 128;
}
"#;

fn folder(workloads: &str, jsonl: &str) -> Folder {
    Folder::new(&[
        ("problem.toml", &problem(workloads)),
        ("reference.cu", KERNEL),
        ("kernel.cu", KERNEL),
        ("serving.jsonl", jsonl),
    ])
}

fn judged(workloads: &str, jsonl: &str) -> Judged {
    folder(workloads, jsonl).judge()
}

/// The names of the timed workloads, in order.
fn timed(judged: &Judged) -> Vec<String> {
    judged.expect(Exit::Passed);
    let rows = judged.report.workloads();
    let name = |row: &Vec<(&str, &str)>| {
        let dims = row.iter().take(3);
        let words: Vec<String> = dims.map(|(key, value)| format!("{key}={value}")).collect();
        words.join(" ")
    };
    rows.iter().map(name).collect()
}

/// Why a problem with these workloads does not open.
fn refused(workloads: &str, jsonl: &str) -> String {
    let folder = folder(workloads, jsonl);
    let error = problem::open(folder.path()).err().unwrap().to_string();
    error.replace(folder.path().to_str().unwrap(), "DIR")
}

#[test]
fn lists_are_a_grid_and_its_workloads_have_stable_names() {
    let workloads = "[[workload]]\ndims = { heads = [4, 8], batch = [1, 3], cols = 64 }\n\
                     [[workload]]\ndims = { heads = 2, batch = 7, cols = 5 }\n";
    let expected = [
        "batch=1 heads=4 cols=64",
        "batch=1 heads=8 cols=64",
        "batch=3 heads=4 cols=64",
        "batch=3 heads=8 cols=64",
        "batch=7 heads=2 cols=5",
    ];
    let judged = judged(workloads, "");
    assert_eq!(timed(&judged), expected);
    judged.expect_in("workloads", "5 of=5 when=save");
}

#[test]
fn lists_that_run_together_are_no_product() {
    let workloads = "[[workload]]\ndims = { batch = [1, 3], heads = [5, 7], cols = [8, 9, 10] }\n\
                     together = [\"batch\", \"cols\"]\n";
    assert!(
        refused(workloads, "")
            .contains("together: batch has 2 numbers and cols has 3: give both as many")
    );
    let expected = [
        "batch=1 heads=5 cols=8",
        "batch=1 heads=7 cols=8",
        "batch=3 heads=5 cols=9",
    ];
    let judged = judged(&workloads.replace("9, 10", "9"), "");
    assert_eq!(timed(&judged)[..3], expected);
    judged.expect_in("workloads", "4 of=4");
}

#[test]
fn workloads_come_from_a_file_as_flashinfer_bench_publishes_them() {
    let workloads =
        "[[workload]]\njsonl = \"serving.jsonl\"\ndims = { heads = 4, cols = [16, 32] }\n";
    let jsonl = r#"{"definition": "scaled_h4", "solution": null, "workload": {"uuid": "4c1e", "axes": {"batch": 3}, "inputs": {"x": {"type": "random"}, "a": {"type": "scalar", "value": 0.5}}}, "evaluation": null}

{"axes": {"batch": 5}, "inputs": {"x": {"type": "random"}}, "uuid": "77aa"}
"#;
    let expected = [
        "batch=3 heads=4 cols=16",
        "batch=3 heads=4 cols=32",
        "batch=5 heads=4 cols=16",
        "batch=5 heads=4 cols=32",
    ];
    let folder = folder(workloads, jsonl);
    assert_eq!(timed(&folder.judge()), expected);

    // The scalar of the first line reaches the kernel: one that ignores it is right in the others.
    let ignores = KERNEL.replace("y[i] = a * x[i]", "y[i] = (batch == 3 ? 0.5f : a) * x[i]");
    std::fs::write(folder.path().join("reference.cu"), ignores).unwrap();
    let is_told = folder.path().join("problem.toml");
    let text = std::fs::read_to_string(&is_told).unwrap();
    let text = text.replace("value = 2.0", "value = 2.0\nfixed = true");
    std::fs::write(is_told, text).unwrap();
    folder.judge().expect(Exit::Passed);
}

#[test]
fn a_file_that_does_not_fit_is_refused_with_its_line() {
    let workloads = "[[workload]]\njsonl = \"serving.jsonl\"\ndims = { heads = 4, cols = 16 }\n";
    let line = |axes: &str, inputs: &str| {
        format!("\n{{\"axes\": {{{axes}}}, \"inputs\": {{{inputs}}}}}\n")
    };
    let stored =
        "\"x\": {\"type\": \"safetensors\", \"path\": \"x.safetensors\", \"tensor_key\": \"x\"}";
    let cases = [
        (
            line("\"bach\": 3", ""),
            "line 2: the axis 'bach' is not a dimension (did you mean 'batch'?)",
        ),
        (
            line("\"heads\": 3", ""),
            "line 2: the axis 'heads' is in dims too: leave it out there",
        ),
        (line("\"batch\": 1.5", ""), "line 2: "),
        (
            line("\"batch\": 3", "\"w\": {\"type\": \"random\"}"),
            "line 2: the input 'w' is not a tensor",
        ),
        (
            line(
                "\"batch\": 3",
                "\"b\": {\"type\": \"scalar\", \"value\": 1}",
            ),
            "line 2: the input 'b' is not a scalar (did you mean 'a'?)",
        ),
        (
            line("\"batch\": 3", stored),
            "line 2: the input 'x' is in a safetensors file, which lab does not read: say what it holds",
        ),
        (line("", ""), "dimension 'batch' is missing"),
        (
            line("\"batch\": 0", ""),
            "batch = 0: an extent must be from 1",
        ),
        (
            "\n \n".into(),
            "serving.jsonl holds no workload: write a workload in each line",
        ),
        ("{".into(), "serving.jsonl, line 1: "),
    ];
    for (jsonl, expected) in cases {
        let error = refused(workloads, &jsonl);
        assert!(error.contains(expected), "{jsonl}\n{error}");
        assert!(error.starts_with("DIR/problem.toml:"), "{error}");
    }
    let values = workloads.to_owned() + "values = { x = { constant = 1 } }\n";
    judged(&values, &line("\"batch\": 3", stored)).expect(Exit::Passed);
    let elsewhere = workloads.replace("serving", "../serving");
    assert!(refused(&elsewhere, "").contains("../serving.jsonl is not below the problem's folder"));
    let missing = workloads.replace("serving", "missing");
    assert!(refused(&missing, "").contains("there is no missing.jsonl beside problem.toml"));
}

#[test]
fn a_grid_of_a_billion_workloads_is_refused_before_it_is_made() {
    let thousand: Vec<String> = (1..=1000).map(|n: u32| n.to_string()).collect();
    let list = thousand.join(", ");
    let workloads =
        format!("[[workload]]\ndims = {{ batch = [{list}], heads = [{list}], cols = [{list}] }}\n");
    let error = refused(&workloads, "");
    let expected = "workload 1: these are 1000000000 workloads (1000 of batch × 1000 of heads × 1000 of cols), and a problem has \
                    at most 1000 of a kind: shorten a list, or let lists run together, as in together = [\"batch\", \"heads\"]";
    assert!(error.contains(expected), "{error}");
    let two = "[[workload]]\ndims = { batch = 1, heads = 1, cols = 1 }\n".to_owned()
        + &format!("[[workload]]\ndims = {{ batch = [{list}], heads = 1, cols = 1 }}\n");
    assert!(refused(&two, "").contains("workload 2: these are 1000 workloads"));
}

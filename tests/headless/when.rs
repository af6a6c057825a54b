//! Workloads that a save leaves to `lab bench --verdict` and to the check before a keep: which
//! occasion judges which, and the messages about it.

use crate::lab::Lab;
use crate::twice::{self, KERNEL};
use serde_json::{Value, json};

const WORKLOADS: &str = r#"[[workload]]
dims = { n = 30 }
[[workload]]
dims = { n = 40 }
when = "measure"
[[workload]]
dims = { n = 50 }
when = "keep"
"#;

fn twice() -> Lab {
    twice::repository(&twice::problem(WORKLOADS), &[])
}

fn judged(judged: usize, when: &str) -> Value {
    json!({ "judged": judged, "of": 3, "when": when })
}

#[test]
fn a_keep_judges_the_workloads_that_a_save_left_out() {
    let lab = twice();
    lab.write("kernel.cu", KERNEL.to_owned() + "// tried\n");
    lab.lab("run")
        .is(0)
        .says("1 of 3 workloads judged; `lab bench --verdict` and");
    let measured = lab.lab("bench --verdict --json").is(0).json();
    assert_eq!(measured["judged_workloads"], judged(2, "measure"));
    assert_eq!(measured["workloads"].as_array().map(Vec::len), Some(2));
    let run = lab.lab("run --json").is(0).json();
    assert_eq!(run["judged_workloads"], judged(1, "save"));
    let kept = lab.lab("keep --json -m tried").is(0).json();
    assert_eq!(
        kept["decision"]["held_out"]["judged_workloads"],
        judged(3, "keep")
    );
    let record: Value = serde_json::from_str(&lab.read(".lab/runs/3/record.json")).unwrap();
    assert_eq!(record["verdict"]["judged"], judged(1, "save"));
}

#[test]
fn a_kernel_that_is_wrong_for_a_workload_of_a_keep_is_not_kept() {
    let lab = twice();
    lab.write(
        "kernel.cu",
        KERNEL.replace("2.0f * x", "(n == 50 ? 3.0f : 2.0f) * x"),
    );
    lab.lab("run").is(0);
    lab.lab("bench --verdict")
        .is(0)
        .says("2 of 3 workloads judged; the check before a keep judges all");
    let kept = lab.lab("keep -m wrong").is(1);
    assert!(kept.err.contains("n=50"), "{kept:?}");
}

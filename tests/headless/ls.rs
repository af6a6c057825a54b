//! `lab ls`: the kernels of a repository, each with the figures of its incumbent.

use crate::lab::{Lab, finish};
use crate::twice;
use serde_json::{Value, json};
use std::fs;

/// Three kernels, none of which is meant where nobody names one. Their harness prints what the comments
/// of a kernel say.
fn three() -> Lab {
    let lab = Lab::empty();
    lab.harness("sed -n 's,^// ,,p' \"$LAB_KERNEL\"");
    lab.write("lab.toml", "harness = \"sh harness.py\"\n");
    for name in ["new", "scale", "softmax"] {
        fs::create_dir_all(lab.path(&format!("kernels/{name}"))).unwrap();
        lab.write(&format!("kernels/{name}/kernel.cu"), "// nothing\n");
    }
    lab.git("add -A");
    lab.git("commit -qm start");
    lab.lab("trust --yes").is(0);
    lab
}

pub fn lines(throughput: f64, more: &str) -> String {
    let us = 1e6 / throughput;
    format!(
        "// device: Test GPU\n// h0_max_diff: 1e-6 limit=1e-5\n// throughput_sps: {throughput}\n\
         // kernel_us: {us}\n{more}// correctness: pass\n"
    )
}

fn decided(lab: &Lab, kernel: &str, text: &str, decision: &str) {
    lab.write(&format!("kernels/{kernel}/kernel.cu"), text);
    lab.lab(&format!("run kernels/{kernel}")).is(0);
    lab.lab(&format!("{decision} kernels/{kernel} -m tried"))
        .is(0);
}

/// `scale` was kept twice and discarded once; `softmax` was kept, and has no peers.
pub fn worked_on() -> Lab {
    let lab = three();
    let peers = "// floor_us: 400\n// peer: F.scale ratio=1.25 low=1.2 high=1.3\n// peer: torch.compile ratio=1.05\n";
    decided(&lab, "scale", &lines(1000.0, ""), "keep");
    decided(&lab, "scale", &lines(2000.0, peers), "keep");
    decided(&lab, "scale", &lines(1500.0, ""), "discard");
    decided(&lab, "softmax", &lines(4000.0, ""), "keep");
    lab
}

#[test]
fn the_last_run_is_shown_as_the_run_named_it() {
    let lab = worked_on();
    lab.write("kernels/scale/kernel.cu", lines(2500.0, ""));
    lab.lab("run kernels/scale").is(0);
    for args in ["show", "show last", "show 5"] {
        lab.lab(args)
            .is(0)
            .says("run 5 of kernels/scale/kernel.cu")
            .says("`lab keep kernels/scale -m TEXT` commits it");
    }
    let empty = Lab::empty();
    empty.lab("show").is(1).says("no run has a verdict yet");
}

#[test]
fn each_kernel_is_listed_with_the_figures_of_its_incumbent() {
    let lab = worked_on();
    let day = lab.lab("log --all --json").json()["experiments"][0]["decided"]
        .as_str()
        .unwrap()[..10]
        .to_owned();
    let listed = lab.lab("ls").is(0).out;
    let expected = [
        "kernel           figure     kernel µs  % of floor  kept  discarded  date        device    against its peers".to_owned(),
        "kernels/new      -          -          -           0     0          -           -         -".to_owned(),
        format!(
            "kernels/scale    2,000 sps  500        80          2     1          {day}  Test GPU  \
             1.25× F.scale (1.20 … 1.30), 1.05× torch.compile"
        ),
        format!("kernels/softmax  4,000 sps  250        -           1     0          {day}  Test GPU  -"),
    ];
    assert_eq!(listed.lines().collect::<Vec<_>>(), expected, "{listed}");

    let kernels = lab.lab("ls --json").is(0).json()["kernels"].clone();
    let of = |key: &str| [0, 1, 2].map(|at| kernels[at][key].clone());
    assert_eq!(
        of("kernel"),
        [
            "kernels/new/kernel.cu",
            "kernels/scale/kernel.cu",
            "kernels/softmax/kernel.cu"
        ]
        .map(Value::from)
    );
    assert_eq!(kernels[0]["incumbent"], Value::Null);
    let scale = &kernels[1];
    assert_eq!(
        (
            &scale["kept"],
            &scale["discarded"],
            &scale["incumbent"]["throughput_sps"]
        ),
        (&json!(2), &json!(1), &json!(2000.0))
    );
    assert_eq!(
        (&scale["bounds"]["of_floor"], &scale["peers"][1]["name"]),
        (&json!(80.0), &json!("torch.compile"))
    );

    let table = lab.lab("ls --markdown").is(0).out;
    let table: Vec<&str> = table.lines().collect();
    assert_eq!(table[1], "|---|---|---|---|---|---|---|---|---|");
    assert_eq!(
        table[3],
        format!(
            "| kernels/scale | 2,000 sps | 500 | 80 | 2 | 1 | {day} | Test GPU | 1.25× F.scale (1.20 … 1.30), 1.05× torch.compile |"
        )
    );
}

/// Early judges told a floor from four times the measured rate of arithmetic.
#[test]
fn a_floor_of_arithmetic_is_no_floor() {
    let lab = three();
    let matmul = "// problem: matmul\n// objective: throughput_tflops\n// throughput_tflops: 343\n// floor_us: 80\n\
                  // workload: m=64 kernel_us=500 of_floor=16 correctness=pass\n";
    decided(&lab, "scale", &lines(2000.0, matmul), "keep");
    let row = lab.lab("ls").is(0).out;
    let row = row.lines().find(|line| line.contains("kernels/scale"));
    let cells: Vec<&str> = row.unwrap().split_whitespace().collect();
    assert_eq!(cells[3..6], ["500", "-", "1"], "{cells:?}");
    assert_eq!(
        lab.lab("ls --json").is(0).json()["kernels"][1]["bounds"],
        Value::Null
    );
    lab.lab("report").is(0);
    let html = lab.read(".lab/report.html");
    assert!(html.contains("m=64") && !html.contains(">16<"), "{html}");
}

#[test]
fn what_a_clone_cannot_vouch_for_is_marked() {
    let lab = worked_on();
    lab.git("add -f results.tsv");
    lab.git("commit -qm results");
    lab.git("clone -q . ../clone");
    let mut command = lab.lab_command("ls");
    let listed = finish(command.current_dir(lab.path("../clone")).spawn().unwrap()).is(0);
    for line in [
        "kernels/scale    †2,000 sps  500        -           2     1          -     -       \
         1.25× F.scale (1.20 … 1.30), 1.05× torch.compile",
        "`†` of somebody else, or without a record here",
    ] {
        assert!(listed.out.contains(line), "{listed:?}");
    }
}

#[test]
fn an_emulated_figure_is_marked_and_compared_with_nothing() {
    let lab = twice::repository(
        &(twice::problem("[[workload]]\ndims = { n = 30 }\n")
            + "[[peer]]\nname = \"other\"\nkernel = \"other.cu\"\n"),
        &[("other.cu", twice::KERNEL.to_owned() + "// the other\n")],
    );
    lab.lab("bench --verdict").is(0);
    lab.lab("keep -m first").is(0);
    let listed = lab
        .lab("ls")
        .is(0)
        .says("`~` measured on an emulated device")
        .out;
    let line = listed.lines().nth(1).unwrap();
    assert!(
        line.starts_with("kernel.cu  ~") && line.ends_with(" -"),
        "{listed}"
    );
}

#[test]
fn a_name_that_a_terminal_does_not_show_is_as_wide_as_it_is_printed() {
    let lab = three();
    fs::create_dir(lab.path("kernels/x\u{1b}y")).unwrap();
    lab.write("kernels/x\u{1b}y/kernel.cu", "");
    let listed = lab.lab("ls").is(0).out;
    let at = |line: &str| line.find(" -  ").unwrap();
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(at(lines[1]), at(lines[4]), "{listed}");
}

#[test]
fn a_repository_without_kernels_says_how_to_begin() {
    Lab::empty()
        .lab("ls")
        .is(0)
        .says("no kernel is here: `lab new NAME`");
}

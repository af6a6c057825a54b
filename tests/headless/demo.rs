//! `examples/demo/try`: a repository with experiments in one command, without a GPU, a terminal and
//! an identity of the user's.

use crate::lab::Lab;
use std::fs;

#[test]
fn the_demonstration_makes_its_experiments_and_leaves_a_kernel_to_try() {
    let lab = Lab::empty();
    // Without Landlock, kernels run in trusted folders only.
    let program = env!("CARGO_BIN_EXE_lab");
    lab.script(
        "../bin/lab",
        &format!("[ \"$1\" != run ] || '{program}' trust >&2 || :\nexec '{program}' \"$@\""),
    );
    lab.write("../home/.gitconfig", "");
    fs::create_dir(lab.path("../tmp")).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/demo/try");
    let said = lab
        .sh(&format!("TMPDIR=\"$PWD/../tmp\" '{script}'"))
        .is(0)
        .says("keep  ")
        .says("A tile with its own guard; no barrier between load and store")
        .says("Three things to try")
        .out;
    let folder = said
        .lines()
        .find_map(|line| {
            line.strip_prefix("open it with: cd ")?
                .strip_suffix(" && lab")
        })
        .unwrap();

    let there = |line: &str| lab.sh(&format!("cd {folder} && {line}"));
    let experiments = there("lab log").is(0).out;
    let marked = |status: &str| experiments.matches(&format!("  {status}  ")).count();
    assert_eq!((marked("keep"), marked("discard")), (2, 2), "{experiments}");
    // problem.toml chose the bytes per second.
    assert!(
        experiments.contains(" GB/s ") && !experiments.contains(" sps "),
        "{experiments}"
    );
    let log: serde_json::Value = serde_json::from_str(&there("lab log --json").is(0).out).unwrap();
    assert_eq!(log["experiments"][0]["objective_name"], "throughput_gbps");
    assert!(log["experiments"][0]["throughput_sps"].is_number());
    assert_eq!(
        there("git config --local user.name").is(0).out,
        "lab demo\n"
    );
    assert_eq!(there("git status --short").is(0).out, "");
    assert_eq!(lab.read("../home/.gitconfig"), "");

    there("cp tries/4-padded.cu transpose/kernel.cu && lab run")
        .is(0)
        .says("● PASS");
    there("lab keep -m 'Rows of the tile are one longer'").is(0);
}

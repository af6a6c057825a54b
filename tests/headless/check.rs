//! `lab check`: its findings are printed and recorded, and they do not replace a verdict.

use crate::built_in::rmsnorm;
use crate::lab::Lab;

const KERNEL: &str = "kernels/rmsnorm/kernel.cu";

#[test]
fn a_race_is_found_in_a_kernel_and_the_verdict_stays_what_it_was() {
    let lab = rmsnorm();
    lab.lab("run").is(0);
    lab.lab("check")
        .is(0)
        .says("check: address, race clean")
        .says("✓ check 2 of kernels/rmsnorm/kernel.cu");
    // A check cannot be kept; the run before it can.
    lab.lab("keep -m 'as it was'").is(0).says("run 1");
    assert_eq!(lab.read("results.cpu.tsv").lines().count(), 2);

    let right = lab.read(KERNEL);
    let barrier = "    __syncthreads();\n";
    // The barrier's line is above them.
    let lines = ["= partial[0];", "= partial[w / 4];"]
        .map(|read| right[..right.find(read).unwrap()].matches('\n').count());
    lab.write(KERNEL, right.replacen(barrier, "", 1));
    let output = lab.lab("check --tool race --json").is(1).json();
    let found = output["findings"].as_array().unwrap();
    assert!(
        found
            .iter()
            .all(|f| f["file"] == KERNEL && lines.iter().any(|line| f["line"] == *line)),
        "lines {lines:?}: {output}"
    );
    assert!(
        found[0]["message"]
            .as_str()
            .unwrap()
            .contains("no __syncthreads() lies between"),
        "{output}"
    );
    // The bytes were never judged.
    lab.lab("keep -m 'not judged'")
        .is(1)
        .says("changed after the verdict of run 1");
}

#[test]
fn what_cannot_be_checked_is_said() {
    let lab = Lab::new();
    lab.lab("check")
        .is(64)
        .says("is judged by `uv run harness.py`");
    let lab = rmsnorm();
    lab.lab("check --tool memcheck")
        .is(64)
        .says("device cpu has no tool memcheck: its tools are address, race");
    lab.lab("check --tool valgrind")
        .is(64)
        .says("unknown tool 'valgrind'");
    assert!(!lab.path(".lab/runs").exists());
}

/// Builds are cached for all folders of a user, so a build must not remember the folder that it was
/// made in.
#[test]
fn a_second_clone_with_the_same_kernel_names_its_own_file() {
    for _ in 0..2 {
        let lab = rmsnorm();
        lab.write(
            KERNEL,
            lab.read(KERNEL).replacen("    __syncthreads();\n", "", 1),
        );
        let output = lab.lab("check --tool race --json").is(1).json();
        let found = output["findings"].as_array().unwrap();
        assert!(
            !found.is_empty() && found.iter().all(|f| f["file"] == KERNEL),
            "{output}"
        );
    }
}

//! A disk that is full while something is compiled: that is the machine's failure and not the kernel's.
//! A script stands for a compiler whose files cannot be written.

use crate::lab::{CommandOutput, Lab, finish};
use crate::sweep::{records, swept};
use std::fs;

/// Runs a command with a compiler that runs `text` where its arguments match `pattern`.
fn with_compiler(lab: &Lab, words: &str, pattern: &str, text: &str) -> CommandOutput {
    let script = format!("case \" $* \" in\n{pattern}) {text} ;;\n*) exec g++ \"$@\" ;;\nesac");
    lab.script("../bin/full-g++", &script);
    let mut command = lab.lab_command(words);
    command.env("CXX", lab.path("../bin/full-g++"));
    finish(command.spawn().unwrap())
}

const FULL: &str = "echo 'kernel.cu:14: fatal error: error writing to /c/private/ccTN.s: No space left on device' >&2; exit 1";
const KERNEL: &str = "*\" -c \"*kernel*";

#[test]
fn a_sweep_ends_without_a_verdict_on_its_points_and_the_next_one_goes_on() {
    let mut lab = swept();
    lab.use_own_cache();
    let full = with_compiler(&lab, "sweep", KERNEL, FULL)
        .is(64)
        .says("sweep 1 of kernel.cu: 0 of 5 points: 0 passed\n")
        .says("full-g++ failed, and the disk is full: make room on the disk of the build cache, then judge again (")
        .says("`lab sweep` goes on\n");
    assert_eq!(records(&lab), 0, "{full:?}");
    lab.lab("sweep")
        .is(0)
        .says("sweep 1 of kernel.cu: 5 of 5 points: 3 passed; 1 wrong; 1 not built");
}

#[test]
fn a_run_judges_neither_the_kernel_nor_its_reference() {
    let mut lab = swept();
    lab.use_own_cache();
    for text in [FULL, "exit 1"] {
        let full = with_compiler(&lab, "run", KERNEL, text).is(64);
        assert!(!full.out.contains("does not build"), "{full:?}");
        full.says("NOT JUDGED")
            .says("full-g++ failed, and ")
            .says("make room on the disk of the build cache, then judge again");
    }
    lab.lab("run").is(0);
}

#[test]
fn headers_that_cannot_be_precompiled_are_no_fault_of_the_compiler() {
    let mut lab = swept();
    lab.use_own_cache();
    fs::remove_file(lab.cache().join("headers")).unwrap();
    let full = with_compiler(&lab, "run", "*c++-header*", "exit 1")
        .is(64)
        .says("NOT JUDGED")
        .says(
            "it named no error, as when the disk is full: make room on the disk of the build cache",
        );
    assert!(!full.out.contains("Install g++"), "{full:?}");
    lab.lab("run").is(0);
}

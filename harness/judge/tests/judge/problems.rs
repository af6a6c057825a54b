//! Valid and invalid problem.toml files. To add a case, add a file to `problems/`. The first line of an invalid file
//! has, behind `# expected:`, what its error must contain.

use crate::support::{self, Folder};
use lab_judge::JudgeOptions;
use lab_protocol::Exit;
use std::path::{Path, PathBuf};

fn files(folder: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/judge/problems").join(folder);
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let files: Vec<_> = paths.map(|p| (p.clone(), std::fs::read_to_string(p).unwrap())).collect();
    assert!(!files.is_empty());
    files
}

/// Opens the text as the problem.toml of a folder.
fn open(text: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("problem.toml"), text).unwrap();
    let opened = lab_judge::problem::open(folder.path());
    opened.map(|_| ()).map_err(|stop| stop.to_string().replace(folder.path().to_str().unwrap(), "DIR"))
}

#[test]
fn valid_ones_open() {
    for (path, text) in files("valid") {
        assert_eq!(open(&text), Ok(()), "{}", path.display());
    }
}

#[test]
fn invalid_ones_give_the_place_and_the_reason() {
    let mut wrong = Vec::new();
    for (path, text) in files("invalid") {
        let name = path.file_name().unwrap().display();
        let expected = text.lines().next().and_then(|l| l.strip_prefix("# expected: "));
        let expected = expected.unwrap_or_else(|| panic!("{name} says no error"));
        let error = open(&text).err().unwrap_or_default();
        if !(error.starts_with("DIR/problem.toml:") && error.contains(expected)) {
            wrong.push(format!("{name}\n  expected {expected}\n  got {error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_folder_without_a_problem_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let error = lab_judge::problem::open(folder.path()).err().unwrap().to_string();
    assert!(error.starts_with("there is no problem.toml in ") && error.contains("write one"), "{error}");
}

#[test]
fn the_example_in_the_manual_opens() {
    let manual = include_str!("../../../../kernels/README.md");
    let example = manual.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert_eq!(open(example), Ok(()));
}

/// i32 values gathered from a table, in place and with a scalar: what rmsnorm does not use.
const GATHER: &str = r#"
entry = "gather"
dims = ["rows", "picks"]
[[tensor]]
name = "table"
role = "in"
type = "i32"
shape = ["rows", 2]
values = { integers = { low = -100, high = 100 } }
[[tensor]]
name = "picked"
role = "inout"
type = "i32"
shape = ["picks"]
values = { integers = { low = 0, high = 4 } }
[[scalar]]
name = "shift"
type = "i32"
value = 7
[objective]
samples = "picks"
[[workload]]
dims = { rows = 5, picks = 40 }
"#;

const GATHER_KERNEL: &str = r#"#include "lab.h"
extern "C" __global__ void gather(const int* table, int* picked, int shift, int rows, int picks) {
    int i = threadIdx.x;
    if (i < picks) picked[i] = table[2 * picked[i] + 1] + shift;
}
LAB_LAUNCH(gather) { launch.block[0] = dims.picks; }
"#;

fn gather(kernel: &str) -> Folder {
    Folder::new(&[("problem.toml", GATHER), ("reference.cu", GATHER_KERNEL), ("kernel.cu", kernel)])
}

#[test]
fn integers_in_place_are_judged_exactly_and_dumped() {
    let folder = gather(GATHER_KERNEL);
    let out = folder.path().join("dump");
    let judged = support::run(JudgeOptions { dump: Some(out.clone()), ..folder.options() });
    judged.expect(Exit::Passed).expect_in("picked_mismatched", "0e0 limit=0e0");

    let read = |name: &str| -> Vec<i32> {
        let bytes = std::fs::read(out.join(name)).unwrap();
        npyz::NpyFile::new(&bytes[..]).unwrap().into_vec().unwrap()
    };
    let table = read("rows5-picks40-table.npy");
    let picks = read("rows5-picks40-picked.npy");
    let expected: Vec<i32> = picks.iter().map(|p| table[2 * *p as usize + 1] + 7).collect();
    assert_eq!(read("rows5-picks40-picked_reference.npy"), expected);
    assert_eq!(read("rows5-picks40-picked_kernel.npy"), expected);
}

#[test]
fn an_integer_that_is_off_by_one_fails() {
    let judged = gather(&GATHER_KERNEL.replace("+ shift", "+ shift + (i == 39)")).judge();
    judged.expect(Exit::Wrong).expect_in("first_failure", "picked[39] is ").expect_no_measure();
    judged.expect_in("first_failure", "(1 of 40 cells off, at worst inf times the tolerance)");
}

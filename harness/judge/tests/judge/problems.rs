//! Valid and invalid problem.toml files. To add a case, add a file to `problems/`. The first line
//! of an invalid file has, behind `# expected:`, a text that its error must contain.

use crate::support::{self, Folder};
use lab_protocol::Exit;
use lab_protocol::JudgeRequest;
use std::path::{Path, PathBuf};

fn files(folder: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/judge/problems")
        .join(folder);
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let files: Vec<_> = paths
        .map(|p| (p.clone(), std::fs::read_to_string(p).unwrap()))
        .collect();
    assert!(!files.is_empty());
    files
}

/// Opens the text as the problem.toml of a folder.
fn open(text: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("problem.toml"), text).unwrap();
    let opened = lab_judge::problem::open(folder.path());
    opened.map(|_| ()).map_err(|stop| {
        stop.to_string()
            .replace(folder.path().to_str().unwrap(), "DIR")
    })
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
        let expected = text
            .lines()
            .next()
            .and_then(|l| l.strip_prefix("# expected: "));
        let expected = expected.unwrap_or_else(|| panic!("{name} says no error"));
        let error = open(&text).err().unwrap_or_default();
        if !(has_place(&error) && error.contains(expected)) {
            wrong.push(format!("{name}\n  expected {expected}\n  got {error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether the error begins with the file, a line and a column, as a compiler's message does.
fn has_place(error: &str) -> bool {
    let mut parts = error.splitn(4, ':');
    let number = |part: Option<&str>| part.is_some_and(|n| n.parse::<usize>().is_ok_and(|n| n > 0));
    parts.next() == Some("DIR/problem.toml")
        && number(parts.next())
        && number(parts.next())
        && parts
            .next()
            .is_some_and(|what| what.starts_with(" error: "))
}

/// Replaces a part of the example by a mistake, and returns the line and column that the error
/// names.
fn place_of(old: &str, new: &str) -> String {
    let manual = include_str!("../../../../kernels/README.md");
    let example = manual
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap();
    assert_eq!(example.matches(old).count(), 1, "'{old}' is there once");
    let error = open(&example.replace(old, new)).unwrap_err();
    assert!(has_place(&error), "{error}");
    error
        .split(" error: ")
        .next()
        .unwrap()
        .replace("DIR/problem.toml:", "")
}

#[test]
fn each_error_names_the_line_and_column_of_its_key() {
    let wrong = [
        // Errors of TOML itself and of the types of the keys.
        ("role = \"in\"", "role = \"in", "6:11:"),
        (
            "shape = [\"n\"]\nvalues = { normal",
            "shape = [true]\nvalues = { normal",
            "8:9:",
        ),
        (
            "normal = { std = 1.0 }",
            "normal = { std = \"wide\" }",
            "9:29:",
        ),
        ("normal = { std = 1.0 }", "normal = { sdt = 1.0 }", "9:23:"),
        ("atol = 1e-6\n", "atol = 1e-6\nratio = 2\n", "25:1:"),
        ("name = \"a\"\n", "", "18:1:"),
        ("type = \"f32\"\nvalue = 0.5", "type = \"f32\"", "18:1:"),
        ("dims = { n = 1000 }", "dims = { n = \"many\" }", "31:14:"),
        // Errors of the checks.
        ("entry = \"axpy\" ", "entry = \"a b\" ", "1:9:"),
        ("dims = [\"n\"]", "dims = [\"n\", \"2\"]", "2:14:"),
        ("name = \"y\"", "name = \"x\"", "12:8:"),
        ("role = \"inout\"", "role = \"in\"", "6:8:"),
        (
            "shape = [\"n\"]\nvalues = { normal",
            "shape = [2, \"m\"]\nvalues = { normal",
            "8:13:",
        ),
        ("low = -1.0", "low = 1.0", "16:30:"),
        ("[tolerance.f32]\natol = 1e-6\nrtol = 1e-6", "", "14:8:"),
        ("atol = 1e-6", "atol = -1e-6", "24:8:"),
        ("rtol = 1e-6", "rtol = -1e-6", "25:8:"),
        (
            "type = \"f32\"\nvalue = 0.5",
            "type = \"i32\"\nvalue = 0.5",
            "21:9:",
        ),
        ("samples = \"n\"", "samples = \"m\"", "28:11:"),
        // Values, tolerances and scalars.
        ("std = 1.0", "std = \"m\"", "9:29:"),
        ("std = 1.0", "std = \"1 / (n - n)\"", "9:29:"),
        ("std = 1.0", "std = -1", "9:29:"),
        ("values = { normal = { std = 1.0 } }", "", "4:1:"),
        (
            "values = { normal = { std = 1.0 } }",
            "values = { permutation = false }",
            "9:26:",
        ),
        (
            "values = { normal = { std = 1.0 } }",
            "values = { integers = { low = \"n\", high = 3 } }",
            "9:31:",
        ),
        (
            "values = { normal = { std = 1.0 } }",
            "values = { ascending = { low = 0, high = \"n / 3\" } }",
            "9:42:",
        ),
        (
            "values = { normal = { std = 1.0 } }",
            "values = { npy = \"x.npy\" }",
            "9:18:",
        ),
        (
            "values = { normal = { std = 1.0 } }",
            "values = { npy = 3 }",
            "9:18:",
        ),
        (
            "values = { normal = { std = 1.0 } }",
            "values = { permutation = true }\nplanted = true",
            "10:11:",
        ),
        (
            "values = { normal",
            "tolerance = { atol = 1 }\nvalues = { normal",
            "9:13:",
        ),
        (
            "values = { uniform",
            "tolerance = { atol = \"-n\" }\nvalues = { uniform",
            "16:22:",
        ),
        (
            "values = { uniform",
            "tolerance = { matched = 2 }\nvalues = { uniform",
            "16:25:",
        ),
        ("atol = 1e-6", "atol = \"1e-6 * k\"", "24:8:"),
        ("value = 0.5", "value = \"sqrt(0 - n)\"", "21:9:"),
        ("value = 0.5", "value = \"1e30 * 1e30\"", "21:9:"),
        (
            "dims = { n = 1000 }",
            "dims = { n = 1000 }\nvalues = { z = { constant = 0 } }",
            "32:16:",
        ),
        (
            "dims = { n = 1000 }",
            "dims = { n = 1000 }\nvalues = { x = { constant = \"1 / 0\" } }",
            "32:29:",
        ),
        // Errors of expressions for the numbers of a workload.
        ("samples = \"n\"", "samples = \"n / (n - 1000)\"", "28:11:"),
        ("samples = \"n\"", "samples = \"exp(n)\"", "28:11:"),
        ("samples = \"n\"", "samples = \"n ^ n\"", "28:11:"),
        (
            "shape = [\"n\"]\nvalues = { normal",
            "shape = [\"n ^ 9\"]\nvalues = { normal",
            "8:10:",
        ),
        ("dims = { n = 1000 }", "dims = { n = 0 }", "31:14:"),
        (
            "dims = { n = 1000 }",
            "dims = { n = 1000, m = 1 }",
            "31:24:",
        ),
        ("dims = { n = 1000 }", "dims = { }", "31:8:"),
        ("dims = { n = 1000 }", "dims = { n = 2000000000 }", "31:8:"),
        (
            "dims = { n = 1000 }",
            "dims = { n = 1000 }\n[[held_out]]\ndims = { n = -1 }",
            "33:14:",
        ),
        (
            "dims = { n = 1000 }",
            "dims = { n = 1 }\n[[keep]]\ndims = { n = { from = 2, to = 1 } }",
            "33:14:",
        ),
        (
            "dims = { n = 1000 }",
            "dims = { n = 1 }\n[[keep]]\ndraws = 0\ndims = { n = 1 }",
            "33:9:",
        ),
        // A shape that a keep draws needs the extent of the macro too, on each device.
        (
            "dims = { n = 1000 }",
            "dims = { n = 1000 }\n[[keep]]\ndims = { n = 1000 }\ncpu = { n = 10 }\n[macros]\nLAB_N = \"n\"",
            "36:9:",
        ),
        (
            "dims = { n = 1000 }",
            "dims = { n = 1000 }\ncpu = { n = 10 }\n[[keep]]\ndims = { n = 1000 }\n[macros]\nLAB_N = \"n\"",
            "36:9:",
        ),
        (
            "dims = [\"n\"]",
            "bytes = \"1 / (n - n)\"\ndims = [\"n\"]",
            "2:9:",
        ),
        ("dims = [\"n\"]", "flops = \"-n\"\ndims = [\"n\"]", "2:9:"),
    ];
    let mut failures = Vec::new();
    for (old, new, expected) in wrong {
        let place = place_of(old, new);
        if place != expected {
            failures.push(format!("{new}: at {place} instead of {expected}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_word_that_is_none_of_the_allowed_ones_is_told_those() {
    let manual = include_str!("../../../../kernels/README.md");
    let example = manual
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap();
    let cases = [
        (
            "role = \"inout\"",
            "role = 3",
            "expected one of the words that kernels/README.md lists for this key, in quotes",
        ),
        (
            "role = \"inout\"",
            "role = \"both\"",
            "unknown variant `both`, expected one of `in`, `out`, `inout`, `scratch`",
        ),
        // A scalar has fewer types than a tensor.
        (
            "type = \"f32\"\nvalue",
            "type = \"f16\"\nvalue",
            "no scalar has the type f16: pass an f32, which the kernel rounds",
        ),
    ];
    for (old, new, says) in cases {
        assert_eq!(example.matches(old).count(), 1, "'{old}' is there once");
        let error = open(&example.replace(old, new)).unwrap_err();
        assert!(
            has_place(&error) && error.ends_with(&format!(": error: {says}")),
            "{error}"
        );
    }
}

#[test]
fn an_expression_that_fails_names_its_workload_and_its_key() {
    let manual = include_str!("../../../../kernels/README.md");
    let example = manual
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap();
    let two = format!("{example}\n[[workload]]\ndims = {{ n = 7 }}\n");
    let error = open(&two.replace("samples = \"n\"", "samples = \"1 / (n - 7)\"")).unwrap_err();
    assert!(
        error.ends_with(
            "error: workload 2 (n=7): objective.samples: '1 / (n - 7)' divides 1 by zero"
        ),
        "{error}"
    );
}

#[test]
fn a_folder_without_a_problem_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let error = lab_judge::problem::open(folder.path())
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.starts_with("there is no problem.toml in ") && error.contains("write one"),
        "{error}"
    );
}

#[test]
fn the_example_in_the_manual_opens() {
    let manual = include_str!("../../../../kernels/README.md");
    let example = manual
        .split("```toml\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap();
    assert_eq!(open(example), Ok(()));
}

/// i32 values gathered from a table, in place and with a scalar: features that rmsnorm does not
/// use.
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
    Folder::new(&[
        ("problem.toml", GATHER),
        ("reference.cu", GATHER_KERNEL),
        ("kernel.cu", kernel),
    ])
}

#[test]
fn integers_in_place_are_judged_exactly_and_dumped() {
    let folder = gather(GATHER_KERNEL);
    let out = folder.path().join("dump");
    let judged = support::run(JudgeRequest {
        dump: Some(out.clone()),
        ..folder.options()
    });
    judged
        .expect(Exit::Passed)
        .expect_in("picked_mismatched", "0e0 limit=0e0");

    let read = |name: &str| -> Vec<i32> {
        let bytes = std::fs::read(out.join(name)).unwrap();
        npyz::NpyFile::new(&bytes[..]).unwrap().into_vec().unwrap()
    };
    let table = read("rows5-picks40-table.npy");
    let picks = read("rows5-picks40-picked.npy");
    let expected: Vec<i32> = picks
        .iter()
        .map(|p| table[2 * *p as usize + 1] + 7)
        .collect();
    assert_eq!(read("rows5-picks40-picked_reference.npy"), expected);
    assert_eq!(read("rows5-picks40-picked_kernel.npy"), expected);
}

#[test]
fn an_integer_that_is_off_by_one_fails() {
    let judged = gather(&GATHER_KERNEL.replace("+ shift", "+ shift + (i == 39)")).judge();
    judged
        .expect(Exit::Wrong)
        .expect_in("first_failure", "picked[39] is ")
        .expect_no_measure();
    judged.expect_in("first_failure", "(1 of 40 cells differ)");
}

#[test]
fn each_bad_input_of_the_table_has_its_tests() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let table =
        std::fs::read_to_string(root.join("harness/judge/tests/kernels/README.md")).unwrap();
    let table = table
        .split("\n## Bad input\n")
        .nth(1)
        .and_then(|rest| rest.split("\n## ").next())
        .unwrap();
    let rows: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains('`'))
        .collect();
    assert!(rows.len() > 10, "{table}");
    for row in rows {
        let tests = row.split(" | ").nth(1).unwrap();
        let mut source = String::new();
        // A path, and behind the path of a Rust file the name of a test.
        for word in tests.split('`').skip(1).step_by(2) {
            if word.contains('.') {
                let path = word
                    .replace("kernels:", "harness/judge/tests/kernels/")
                    .replace("judge:", "harness/judge/tests/judge/");
                source = std::fs::read_to_string(root.join(&path))
                    .unwrap_or_else(|e| panic!("{path}: {e}"));
            } else {
                assert!(
                    source.contains(&format!("\nfn {word}()"))
                        || source.contains(&format!(" fn {word}()")),
                    "{row}"
                );
            }
        }
        assert!(!source.is_empty(), "{row}");
    }
}

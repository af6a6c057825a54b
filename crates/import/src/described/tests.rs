//! What the program saw, and the problem that it is.
#![allow(clippy::unwrap_used)]

use super::*;
use serde_json::json;

/// A tensor as the program describes it.
fn leaf(name: &str, kind: &str, shape: &[i64], values: Value, role: &str) -> Value {
    json!({ "name": name, "kind": kind, "shape": shape, "values": values, "role": role })
}

/// A call with one input of rows × cols, a number, and an output of `cells`.
fn seen(case: Option<usize>, rows: i64, cols: i64, cells: i64) -> Value {
    let leaves = [
        leaf(
            "in",
            "f32",
            &[rows, cols],
            json!({ "normal": [0.0, 1.0] }),
            "in",
        ),
        leaf(
            "at",
            "i64",
            &[rows],
            json!({ "integers": [0, cols - 1] }),
            "in",
        ),
        json!({ "name": "count", "number": rows * cols }),
        leaf("Y", "f16", &[cells], Value::Null, "out"),
    ];
    json!({ "dims": { "rows": rows, "cols": cols, "seed": 7, "mode": "fast" }, "call": "({0}, {1}, {{'n': {2}}})",
            "leaves": leaves, "returned": [3], "case": case })
}

fn task() -> Task {
    let text = "lang: py\nfiles:\n  - {name: reference.py, source: reference.py}\nranking_by: mean\n\
                benchmarks:\n  - {rows: 4, cols: 6, seed: 7, mode: fast}\n  - {rows: 5, cols: 9, seed: 7, mode: fast}\n";
    Task::read(text).unwrap()
}

fn problem(answer: Value) -> Result<crate::Problem, String> {
    let answer: Answer = serde_json::from_value(answer).unwrap();
    let texts = TaskTexts {
        name: "scan",
        reference: "def ref_kernel(data):\n    pass",
        submission: None,
        modules: &[],
    };
    task().problem(&texts, &answer)
}

#[test]
fn extents_values_and_numbers_become_expressions_over_the_sizes() {
    let observations = [
        seen(Some(0), 4, 6, 10),
        seen(Some(1), 5, 9, 14),
        seen(None, 8, 6, 14),
    ];
    let made = problem(json!({ "observations": observations, "exact": true })).unwrap();
    let text = |name: &str| {
        made.files
            .iter()
            .find(|file| file.name == name)
            .unwrap()
            .text
            .clone()
    };
    let toml = text("problem.toml");
    for wanted in [
        "dims = [\"cols\", \"rows\"]",
        "name = \"in_\"\nrole = \"in\"\ntype = \"f32\"\nshape = [\"rows\", \"cols\"]",
        "values = { integers = { low = 0, high = \"cols - 1\" } }",
        "name = \"y\"\nrole = \"out\"\ntype = \"f16\"\nshape = [\"(cols + rows)\"]",
        "[tolerance.f16]\natol = 0\nrtol = 0",
        "aggregate = \"arithmetic\"",
        "[[workload]]\ndims = { cols = 6, rows = 4 }\n\n[[workload]]\ndims = { cols = 9, rows = 5 }",
    ] {
        assert!(toml.contains(wanted), "{wanted} is not in {toml}");
    }
    let kernel = text("kernel.py");
    assert!(
        kernel.contains("def scan(in_, at, y, cols, rows):"),
        "{kernel}"
    );
    assert!(
        kernel.contains("ref_kernel((in_, at, {'n': cols * rows}))"),
        "{kernel}"
    );
    assert!(
        made.notes
            .iter()
            .any(|note| note.ends_with("nothing depends on mode, seed")),
        "{:?}",
        made.notes
    );
}

#[test]
fn an_extent_that_follows_from_no_size_is_a_dimension_of_its_own() {
    let observations = [seen(Some(0), 4, 6, 1000), seen(Some(1), 5, 9, 77)];
    let made = problem(json!({ "observations": observations, "is_guess": true })).unwrap();
    let toml = &made.files[0].text;
    assert!(toml.contains("shape = [\"y_0\"]"), "{toml}");
    assert!(
        toml.contains("dims = { cols = 9, rows = 5, y_0 = 77 }"),
        "{toml}"
    );
    assert!(
        toml.contains("# A guess: check_implementation computes the tolerances."),
        "{toml}"
    );
    // Of a case that nobody saw its extent is not known.
    let error =
        problem(json!({ "observations": [seen(Some(0), 4, 6, 1000), seen(None, 5, 9, 77)] }))
            .unwrap_err();
    assert!(error.starts_with("the extents of the case"), "{error}");
}

#[test]
fn what_differs_between_cases_is_named() {
    let mut other = seen(Some(1), 5, 9, 14);
    other["leaves"][0]["kind"] = json!("f16");
    let error = problem(json!({ "observations": [seen(Some(0), 4, 6, 10), other] })).unwrap_err();
    assert_eq!(
        error,
        "in has another type or another number of extents in another case"
    );
}

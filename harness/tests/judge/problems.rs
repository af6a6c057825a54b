//! Good and bad problem.toml files: adding a case is adding a file to `problems/`. A bad one says in its
//! first line, behind `# expected:`, what its error must contain.

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
    let opened = harness::problem::open(folder.path());
    opened.map(|_| ()).map_err(|stop| stop.to_string().replace(folder.path().to_str().unwrap(), "DIR"))
}

#[test]
fn good_ones_open() {
    for (path, text) in files("valid") {
        assert_eq!(open(&text), Ok(()), "{}", path.display());
    }
}

#[test]
fn bad_ones_say_where_and_what() {
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
fn a_folder_without_a_problem_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let error = harness::problem::open(folder.path()).err().unwrap().to_string();
    assert!(error.contains("problem.toml: No such file"), "{error}");
}

#[test]
fn the_example_in_the_manual_opens() {
    let manual = include_str!("../../../kernels/README.md");
    let example = manual.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    assert_eq!(open(example), Ok(()));
}

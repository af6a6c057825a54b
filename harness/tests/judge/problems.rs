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
    for (path, text) in files("invalid") {
        let path = path.display();
        let first = text.lines().next().unwrap_or("");
        let expected = first.strip_prefix("# expected: ").unwrap_or_else(|| panic!("{path} says no error"));
        let error = open(&text).expect_err(&path.to_string());
        assert!(error.starts_with("DIR/problem.toml:"), "{path}: {error}");
        assert!(error.contains(expected), "{path}: expected '{expected}', got '{error}'");
    }
}

#[test]
fn a_folder_without_a_problem_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let error = harness::problem::open(folder.path()).err().unwrap().to_string();
    assert!(error.contains("problem.toml: No such file"), "{error}");
}

//! The unit tests of the Python package, each file of them as a test.

use crate::python;
use libtest_mimic::{Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::Command;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../python")
}

pub fn trials() -> Vec<Trial> {
    let entries = std::fs::read_dir(folder().join("tests")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut modules: Vec<String> = names
        .filter(|name| name.starts_with("test_"))
        .filter_map(|name| Some(name.strip_suffix(".py")?.to_owned()))
        .collect();
    modules.sort();
    assert!(!modules.is_empty(), "the package has tests");
    let trial = |module: String| Trial::test(format!("package/{module}"), move || run(&module));
    modules.into_iter().map(trial).collect()
}

fn run(module: &str) -> Result<(), Failed> {
    let mut command = Command::new(python::interpreter());
    command
        .args(["-m", "unittest", &format!("tests.{module}")])
        .current_dir(folder());
    // The sources' folder stays as it is.
    command
        .env("PYTHONDONTWRITEBYTECODE", "1")
        // The worker takes its folder for one of caches, which kernels may open.
        .env_remove("TMPDIR")
        .env_remove("PYTHONPATH");
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{}\n{text}", String::from_utf8_lossy(&output.stdout)).into());
    }
    if text.contains("Ran 0 tests") || text.contains("NO TESTS RAN") {
        return Err("it has no test".into());
    }
    Ok(())
}

//! The Python of these tests.

use crate::support;
use lab_protocol::JudgeRequest;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The kind of the tests that need no NumPy.
pub const WITHOUT: &str = "any python";

/// LAB_TEST_PYTHON, else the interpreter that scripts/python-for-tests makes, else python3.
pub fn interpreter() -> PathBuf {
    let named = std::env::var_os("LAB_TEST_PYTHON")
        .filter(|named| !named.is_empty())
        .map(PathBuf::from);
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python/bin/python");
    named.unwrap_or_else(|| {
        if made.exists() {
            made
        } else {
            "python3".into()
        }
    })
}

/// Why the tests cannot run; `None` if the interpreter has what they need.
pub fn missing() -> Option<String> {
    static MISSING: LazyLock<Option<String>> = LazyLock::new(|| {
        let found = import("import numpy, ml_dtypes").err();
        found.map(|why| format!("{why}; scripts/python-for-tests makes one that has it"))
    });
    MISSING.clone()
}

/// Why the tests of Triton's interpreter cannot run; `None` if Triton and PyTorch are there.
pub fn missing_triton() -> Option<String> {
    static MISSING: LazyLock<Option<String>> =
        LazyLock::new(|| import("import torch, triton").err());
    MISSING.clone()
}

/// Executes a line of imports. The error says what is missing.
fn import(line: &str) -> Result<(), String> {
    let python = interpreter();
    let tried = Command::new(&python)
        .args(["-c", line])
        .output()
        .map_err(|error| format!("{} cannot be started: {error}", python.display()))?;
    if tried.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&tried.stderr).into_owned();
    let last = text.lines().last().unwrap_or("it failed").to_owned();
    Err(format!("{}: {last}", python.display()))
}

/// Options for the cpu device.
pub fn options(folder: &Path) -> JudgeRequest {
    JudgeRequest {
        python: interpreter(),
        shown_as: Some("kernels/a/kernel.py".into()),
        load_limit: support::options(folder).time_limit,
        ..support::options(folder)
    }
}

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
        let python = interpreter();
        let tried = Command::new(&python)
            .args(["-c", "import numpy, ml_dtypes"])
            .output();
        match tried {
            Ok(output) if output.status.success() => None,
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stderr).into_owned();
                let last = text.lines().last().unwrap_or("it failed").to_owned();
                Some(format!(
                    "{}: {last}; scripts/python-for-tests makes one that has it",
                    python.display()
                ))
            }
            Err(error) => Some(format!("{} cannot be started: {error}", python.display())),
        }
    });
    MISSING.clone()
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

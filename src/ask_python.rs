//! Asks a Python interpreter: it runs a program of the lab's own, which prints one line.

use lab_judge::process::limited::{self, Limit};
use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Most bytes of the interpreter's output.
const OUTPUT_LIMIT: u64 = 1 << 22;

/// What the interpreter is asked.
pub struct Question<'q> {
    /// The program, which prints its answer behind `mark`.
    pub program: &'q str,
    pub mark: &'q str,
    /// How long it may take.
    pub limit: Duration,
    /// What it does in that time, as the end of "did not …".
    pub work: &'q str,
}

impl Question<'_> {
    /// The answer of an interpreter. The error is the end of a sentence whose subject is the
    /// interpreter.
    pub fn ask(
        &self,
        interpreter: &Path,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> Result<String, String> {
        let mut command = Command::new(interpreter);
        command
            .args(["-c", self.program])
            .args(arguments)
            .current_dir("/")
            .env("PYTHONDONTWRITEBYTECODE", "1");
        let limit = Limit {
            time: self.limit,
            bytes: OUTPUT_LIMIT,
        };
        let printed = limited::run(&mut command, self.work, limit)?;
        let status = printed.status;
        let texts = [printed.output, printed.errors];
        let [output, errors] = texts.map(|text| String::from_utf8_lossy(&text).into_owned());
        let mut lines = output.lines().rev();
        let line = lines.find_map(|line| line.strip_prefix(self.mark));
        line.map(str::to_owned).ok_or_else(|| {
            let last = errors
                .lines()
                .rev()
                .find(|line| !line.trim().is_empty())
                .unwrap_or("no message");
            format!("does not run ({status}): {last}")
        })
    }
}

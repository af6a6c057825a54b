//! `lab trust`: allows the harness command of this lab.toml to run.

use super::{here, say};
use anyhow::{Context, Result};
use lab_core::config::{Config, FILE};
use lab_core::project::{self, trust};
use std::process::ExitCode;

/// Works without a kernel: trust belongs to lab.toml alone.
pub fn main() -> Result<ExitCode> {
    let from = here()?;
    let root = project::work_tree(&from)?;
    let from = from.canonicalize().context("the current folder is gone")?;
    let file = Config::find(&from, &root)
        .with_context(|| format!("no {FILE} here or above: `lab init` writes one"))?;
    match Config::read(&file)?.harness {
        Some(command) => {
            trust::grant_file(&file)?;
            say(&format!("trusted: `{command}` of {} runs until that file changes", file.display()));
        }
        None => say(&format!("{} names no harness command: there is nothing to trust", file.display())),
    }
    Ok(ExitCode::SUCCESS)
}

//! `lab trust`: allows the harness command of this lab.toml to run, and kernels where Linux cannot confine them.

use super::{here, say};
use anyhow::{Context, Result};
use lab_core::config::Config;
use lab_core::project::{self, trust};
use std::process::ExitCode;

/// Works without a kernel: trust belongs to lab.toml, or to the repository where there is none.
pub fn main() -> Result<ExitCode> {
    let from = here()?;
    let root = project::work_tree(&from)?;
    let from = from.canonicalize().context("the current folder is gone")?;
    let Some(file) = Config::find(&from, &root) else {
        trust::grant_folder(&root)?;
        say(&format!(
            "trusted: kernels of {} may run without a sandbox, until a lab.toml is there",
            root.display()
        ));
        return Ok(ExitCode::SUCCESS);
    };
    let config = Config::read(&file, &root)?;
    trust::grant_file(&file)?;
    say(&match config.harness {
        Some(command) => format!("trusted: `{command}` of {} runs until that file changes", file.display()),
        None => format!(
            "trusted: kernels of {} may run without a sandbox, and the compiler may read what it names, until that file changes",
            file.display()
        ),
    });
    Ok(ExitCode::SUCCESS)
}

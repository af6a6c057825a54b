//! `lab` without a subcommand, in a terminal: the screen.

use anyhow::{Result, bail};
use std::path::Path;
use std::process::ExitCode;

pub fn screen(from: &Path, kernel: Option<&Path>, theme: Option<&str>) -> Result<ExitCode> {
    let _ = (from, kernel, theme);
    bail!("the screen needs a terminal; `lab run` judges the kernel without one");
}

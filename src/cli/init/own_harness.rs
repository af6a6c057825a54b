//! The harness of the user's own that `lab init` finds.

use super::relative;
use anyhow::{Context, Result};
use lab_project::config::Harness;
use lab_system::listing;
use lab_text::shell::quote;
use rustix::fs::FileType;
use std::fs;
use std::path::Path;

/// Files that build or run what a user has of their own.
const BUILDS: [&str; 8] = [
    "Makefile",
    "makefile",
    "GNUmakefile",
    "CMakeLists.txt",
    "meson.build",
    "justfile",
    "build.sh",
    "run.sh",
];

/// What a program that judges is called, whatever its language.
const JUDGES: [&str; 2] = ["judge", "harness"];

/// The name of a file in the folder by which the user has a harness of their own there.
pub fn sign(folder: &Path) -> Option<String> {
    let entries = listing::read_dir(folder).into_iter().flatten().flatten();
    let files = entries.filter(|entry| entry.file_type().is_ok_and(FileType::is_file));
    let names = files.filter_map(|entry| entry.file_name().into_string().ok());
    let is_sign = |name: &String| {
        let stem = name.split('.').next().unwrap_or_default();
        BUILDS.contains(&name.as_str()) || JUDGES.contains(&stem)
    };
    names.filter(is_sign).min()
}

/// How a script in Python is run as the harness: by the project's interpreter; by uv where it says
/// that uv installs its packages (the inline metadata of PEP 723).
pub fn of_script(script: &Path, folder: &Path) -> Result<Harness> {
    let name = relative(script, folder)?;
    let bytes = fs::read(script).with_context(|| format!("cannot read {}", script.display()))?;
    let has_metadata = String::from_utf8_lossy(&bytes)
        .lines()
        .any(|line| line.trim_end() == "# /// script");
    Ok(match has_metadata && which::which("uv").is_ok() {
        true => Harness::Command(format!("uv run {}", quote(&name))),
        false => Harness::Python { python: name },
    })
}

//! Lists the files of the Python package, so that no file of it can be forgotten in the program.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The package's folder, beside this file.
const PACKAGE: &str = "lab_harness";

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut files = Vec::new();
    list(&root.join(PACKAGE), &mut files)?;
    files.sort();
    let mut text = String::from("&[\n");
    for file in &files {
        let name = file.strip_prefix(&root).unwrap_or(file);
        // The text names no folder of this machine, so it is the same wherever the crate is.
        let line = format!(
            "    ({:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {:?}))),",
            name.display().to_string(),
            format!("/{}", name.display())
        );
        writeln!(text, "{line}").map_err(io::Error::other)?;
    }
    text.push_str("]\n");
    fs::write(
        PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("files.rs"),
        text,
    )
}

/// Adds every source file below a folder. A new or a removed file changes its folder, which starts
/// this script again.
#[allow(clippy::disallowed_methods, reason = "the folder is of the sources")]
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    rerun_if_changed(folder);
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            if entry.file_name() != "__pycache__" {
                list(&path, files)?;
            }
        } else if path
            .extension()
            .is_some_and(|extension| extension == "py" || extension == "ptx")
        {
            files.push(path);
        }
    }
    Ok(())
}

/// Cargo reads this line of a build script's output.
#[allow(clippy::disallowed_macros, reason = "Cargo reads it")]
fn rerun_if_changed(path: &Path) {
    println!("cargo:rerun-if-changed={}", path.display());
}

//! What is to be computed, and how to tell that a kernel computes it.
//!
//! A problem is a folder with a `problem.toml`. The kind `wavegru` is written in Rust ([`wavegru`]); every other
//! problem is declarative ([`tensor`]). A problem runs the candidate through a [`Worker`](crate::worker::Worker),
//! which is another process and never sees what is expected.

mod api;
pub mod tensor;
pub mod wavegru;

pub use api::{
    BuildNeeds, CHECKED_LAUNCHES, HeldOutUse, Problem, ProblemContext, Timed, WorkerRole, in_digits,
};

use crate::outcome::Stop;
use api::toml_error;
use std::path::{Path, PathBuf};

/// Reads `problem.toml` in `folder`. An error names the file and the place in it.
pub fn open(folder: &Path) -> Result<Box<dyn Problem>, Stop> {
    let path: PathBuf = folder.join("problem.toml");
    let text =
        std::fs::read_to_string(&path).map_err(|e| Stop::Problem(format!("{}: {e}", path.display())))?;
    #[derive(serde::Deserialize)]
    struct Head {
        #[serde(default)]
        kind: Option<String>,
    }
    let head: Head = toml::from_str(&text).map_err(|e| toml_error(&path, &text, &e))?;
    match head.kind.as_deref() {
        Some("wavegru") => wavegru::open(&path, &text),
        None | Some("tensor") => tensor::open(&path, &text),
        Some(other) => Err(Stop::Problem(format!(
            "{}: unknown kind '{other}': it is \"tensor\" (the default) or \"wavegru\"",
            path.display()
        ))),
    }
}

//! What is to be computed, and how to tell that a kernel computes it.
//!
//! A problem is a folder with a `problem.toml` and a reference ([`tensor`]). It runs the candidate
//! through a [`Worker`](crate::worker::Worker), which is another process and never sees what is
//! expected.

mod api;
mod key_error;

mod peer;
pub mod philox;
pub mod tensor;

pub use api::{
    BuildNeeds, CHECKED_LAUNCHES, LeftOut, ProblemCase, ProblemContext, SetsUp, StockUse, Timed,
    WorkerFor, WorkerRole, WorkloadFigures, in_digits,
};
pub use peer::PeerSpec;
pub use tensor::{Prepared, Problem, Watched};

use crate::outcome::Stop;
use key_error::{KeyError, toml_error};
use lab_system::root::read_anywhere;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Most bytes of a problem.toml.
const SIZE_LIMIT: u64 = 8 << 20;

/// Reads `problem.toml` in `folder`. An error names the file and the place in it.
pub fn open(folder: &Path) -> Result<Problem, Stop> {
    let path: PathBuf = folder.join("problem.toml");
    // The folder may be a stranger's, with a link to a device in place of the file.
    let bytes = read_anywhere(&path, SIZE_LIMIT).map_err(|error| unreadable(folder, &error))?;
    let text = String::from_utf8(bytes).map_err(|error| not_utf8(&path, &error))?;
    #[derive(serde::Deserialize)]
    struct Head {
        kind: Option<String>,
    }
    let head: Head = toml::from_str(&text).map_err(|e| toml_error(&path, &text, &e))?;
    match head.kind.as_deref() {
        None | Some("tensor") => tensor::open(&path, &text),
        Some(other) => {
            let what = format!("unknown kind '{other}': it is \"tensor\", or is left out");
            Err(KeyError::at("kind", what).stop(&path, &text))
        }
    }
}

/// The place of the first byte that is not UTF-8.
fn not_utf8(path: &Path, error: &std::string::FromUtf8Error) -> Stop {
    let valid = error.utf8_error().valid_up_to();
    let before = String::from_utf8_lossy(error.as_bytes().get(..valid).unwrap_or_default());
    let what = "problem.toml cannot be read, because it is not UTF-8 text: save it as UTF-8";
    Stop::Problem(key_error::message(path, &before, valid, what))
}

/// Why there is no problem in `folder`, and what to do.
fn unreadable(folder: &Path, error: &io::Error) -> Stop {
    let shown = folder.display();
    Stop::Problem(match error.kind() {
        ErrorKind::NotFound if !folder.exists() => {
            format!(
                "there is no folder {shown}: name the folder of a problem, which holds problem.toml and kernel.cu"
            )
        }
        ErrorKind::NotADirectory => format!(
            "{shown} is not a folder: name the folder of a problem, which holds problem.toml and kernel.cu"
        ),
        ErrorKind::NotFound => format!(
            "there is no problem.toml in {shown}, so it is unknown what the kernel must compute: write one \
             (kernels/README.md), or name another folder"
        ),
        _ => format!(
            "{shown}/problem.toml cannot be read: {error}. Check the file and its permissions"
        ),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_missing_problem_says_where_it_was_looked_for_and_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let error = |folder: &Path| match open(folder) {
            Err(Stop::Problem(why)) => why,
            _ => panic!("a problem was found"),
        };
        let here = folder.path().display().to_string();
        let missing = error(folder.path());
        assert!(
            missing.starts_with(&format!("there is no problem.toml in {here}, ")),
            "{missing}"
        );
        assert!(missing.contains("write one"), "{missing}");
        let nowhere = error(&folder.path().join("x"));
        assert!(
            nowhere.starts_with(&format!("there is no folder {here}/x: name ")),
            "{nowhere}"
        );
        std::fs::write(folder.path().join("file"), "").unwrap();
        let file = error(&folder.path().join("file"));
        assert!(
            file.starts_with(&format!("{here}/file is not a folder: ")),
            "{file}"
        );
        std::fs::write(
            folder.path().join("problem.toml"),
            b"# a comment\nname = \"\xff\"",
        )
        .unwrap();
        let bytes = error(folder.path());
        assert!(
            bytes.starts_with(&format!("{here}/problem.toml:2:9: error: ")),
            "{bytes}"
        );
        assert!(
            bytes.contains("problem.toml cannot be read, because it is not UTF-8"),
            "{bytes}"
        );
    }
}

//! Declarative tensor problems: a `problem.toml` and a `reference.cu`, no Rust.

use super::{Problem, Stop};
use std::path::Path;

pub fn open(path: &Path, _text: &str) -> Result<Box<dyn Problem>, Stop> {
    Err(Stop::Problem(format!("{}: tensor problems are not there yet", path.display())))
}

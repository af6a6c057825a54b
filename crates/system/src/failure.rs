//! Says of a failure which file it is about, and what came of it.

use crate::space;
use anyhow::{Context, Result};
use std::path::Path;

/// What a failed step with a file is told with.
///
/// ```
/// use lab_system::failure::Failure;
/// use std::path::Path;
///
/// let file = Path::new("/none/kernel.cu");
/// let error = std::fs::read(file).cannot("read", file).unwrap_err();
/// assert!(format!("{error:#}").starts_with("cannot read /none/kernel.cu: No such file"));
/// ```
pub trait Failure<T> {
    /// The error says what could not be done to which file.
    fn cannot(self, act: &str, file: &Path) -> Result<T>;

    /// The error says what came of it if the disk is full or may not be written; see
    /// [`space::explain`].
    fn and_so(self, what: &str) -> Result<T>;
}

impl<T, E> Failure<T> for std::result::Result<T, E>
where
    Self: Context<T, E>,
    E: Into<anyhow::Error>,
{
    fn cannot(self, act: &str, file: &Path) -> Result<T> {
        self.with_context(|| format!("cannot {act} {}", file.display()))
    }

    fn and_so(self, what: &str) -> Result<T> {
        self.map_err(|error| space::explain(error.into(), what))
    }
}

//! The kernels that rows of the ledgers are about, under the names that they have today: what was
//! found in git, so that each look at the repository does not search again.

use lab_run::peers::PeerFigure;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

/// A cache, which `find_kernels_of_rows` fills.
#[derive(Debug, Default)]
pub struct KernelNames {
    /// The commit of HEAD that `renamed` was searched from.
    pub(crate) head: Option<String>,
    /// The present name of a kernel that is not on disk; `None` if no rename is known.
    pub(crate) renamed: HashMap<String, Option<String>>,
    /// The kernel of a commit whose row has no record; `None` if the commit does not tell.
    pub(crate) of_commit: HashMap<String, Option<String>>,
    /// The device of a commit whose record is in a bundle.
    pub device: HashMap<String, String>,
    /// The peers that the trailers of a commit name whose row has no record.
    pub peers: HashMap<String, Vec<PeerFigure>>,
    /// The bundles that were read, with their sizes.
    pub(crate) bundles: HashSet<(PathBuf, u64)>,
    /// The only kernel of the repository, which rows without a record are about.
    pub(crate) only: Option<String>,
}

impl KernelNames {
    /// The name that a kernel has today.
    pub fn present<'n>(&'n self, kernel: &'n str) -> &'n str {
        let renamed = self.renamed.get(kernel).and_then(Option::as_deref);
        renamed.unwrap_or(kernel)
    }

    /// The kernel of a row without a record, by its commit.
    pub fn of_commit(&self, commit: &str) -> Option<&str> {
        let found = self.of_commit.get(commit).and_then(Option::as_deref);
        let found = found.map(|kernel| self.present(kernel));
        found.or(self.only.as_deref())
    }

    /// The kernels that were found by commits.
    pub fn found(&self) -> impl Iterator<Item = &String> {
        self.of_commit.values().flatten()
    }
}

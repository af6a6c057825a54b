//! The kernels that rows of the ledgers are about, under the names that they have today: what was
//! found in git, so that each look at the repository does not search again.

use crate::run::peers::PeerFigure;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// A cache. It is filled by `history::problems`, which knows git.
#[derive(Debug, Default)]
pub struct KernelNames {
    /// The commit of HEAD that `renamed` was searched from.
    head: Option<String>,
    /// The present name of a kernel that is not on disk; `None` if no rename is known.
    renamed: HashMap<String, Option<String>>,
    /// The kernel of a commit whose row has no record; `None` if the commit does not tell.
    of_commit: HashMap<String, Option<String>>,
    /// The device of a commit whose record is in a bundle.
    device: HashMap<String, String>,
    /// The peers that a commit names whose row has no record.
    peers: HashMap<String, Vec<PeerFigure>>,
    /// The bundles that were read, with their sizes.
    bundles: HashSet<(PathBuf, u64)>,
    /// The only kernel of the repository, which rows without a record are about.
    pub only: Option<String>,
}

impl KernelNames {
    /// Forgets the renames if HEAD is at another commit now.
    pub fn set_head(&mut self, head: Option<String>) {
        if self.head != head {
            self.renamed.clear();
            self.head = head;
        }
    }

    /// Keeps the renames of these kernels only, and finds those that are not known.
    pub fn search(&mut self, gone: &[String], mut find: impl FnMut(&str) -> Option<String>) {
        self.renamed.retain(|kernel, _| gone.contains(kernel));
        for kernel in gone {
            if !self.renamed.contains_key(kernel) {
                self.renamed.insert(kernel.clone(), find(kernel));
            }
        }
    }

    /// A kernel of HEAD that is not on disk is called otherwise there, or is deleted.
    pub fn set_moved(&mut self, kernel: &str, to: Option<String>) {
        self.renamed.insert(kernel.to_owned(), to);
    }

    /// The name that a kernel has today.
    pub fn present<'n>(&'n self, kernel: &'n str) -> &'n str {
        self.renamed
            .get(kernel)
            .and_then(Option::as_deref)
            .unwrap_or(kernel)
    }

    /// The kernel of a row without a record, by its commit.
    pub fn of_commit(&self, commit: &str) -> Option<&str> {
        let found = self
            .of_commit
            .get(commit)
            .and_then(Option::as_deref)
            .map(|kernel| self.present(kernel));
        found.or(self.only.as_deref())
    }

    /// Whether the commit was looked at before.
    pub fn knows_commit(&self, commit: &str) -> bool {
        self.of_commit.contains_key(commit)
    }

    pub fn set_commit(&mut self, commit: &str, kernel: Option<String>) {
        self.of_commit.insert(commit.to_owned(), kernel);
    }

    /// Whether a bundle of this size was not read before. It counts as read from then on.
    pub fn is_new_bundle(&mut self, path: &Path, size: u64) -> bool {
        self.bundles.insert((path.to_owned(), size))
    }

    /// The device that a row without a record was measured on, by its commit.
    pub fn device_of(&self, commit: &str) -> Option<&str> {
        self.device.get(commit).map(String::as_str)
    }

    pub fn set_device(&mut self, commit: &str, device: String) {
        self.device.insert(commit.to_owned(), device);
    }

    /// The peers that the trailers of a commit name whose row has no record.
    pub fn peers_of(&self, commit: &str) -> &[PeerFigure] {
        self.peers.get(commit).map_or(&[], Vec::as_slice)
    }

    /// Whether the trailers of the commit were read before.
    pub fn knows_peers(&self, commit: &str) -> bool {
        self.peers.contains_key(commit)
    }

    pub fn set_peers(&mut self, commit: &str, peers: Vec<PeerFigure>) {
        self.peers.insert(commit.to_owned(), peers);
    }

    /// The kernels that were found by commits.
    pub fn found(&self) -> impl Iterator<Item = &String> {
        self.of_commit.values().flatten()
    }
}

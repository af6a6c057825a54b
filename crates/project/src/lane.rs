//! A lane of `lab auto --lanes`: a linked work tree of the repository in `.lab/lanes`. It has a
//! branch of its own, and shares the records and the ledgers of the work tree that it was made for.

use super::{LAB_DIR, work_tree};
use std::path::{Path, PathBuf};

/// The folder of the lanes in `.lab`.
pub(super) const LANES: &str = "lanes";

/// The work tree that a lane was made for, and the name of the lane. `None` if `root` is no lane's
/// work tree.
pub(super) fn of(root: &Path) -> Option<(PathBuf, String)> {
    let name = root.file_name()?.to_str()?.to_owned();
    let lanes = root
        .parent()
        .filter(|lanes| lanes.ends_with(Path::new(LAB_DIR).join(LANES)))?;
    let base = lanes.parent()?.parent()?.to_owned();
    work_tree::share_repository(root, &base).then_some((base, name))
}

impl super::Project {
    /// Where the work tree of a lane is.
    pub fn lane_root(&self, name: &str) -> PathBuf {
        self.lab_dir.join(LANES).join(name)
    }

    /// The names of the lanes of this work tree, sorted.
    pub fn lanes(&self) -> Vec<String> {
        let names = self
            .files()
            .entries(&self.lab_dir.join(LANES))
            .unwrap_or_default();
        let mut names: Vec<String> = names
            .into_iter()
            .filter_map(|name| name.into_string().ok())
            .collect();
        names.sort();
        names
    }
}

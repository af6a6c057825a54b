//! The files of a harness of the user's own. The loop decides nothing by a harness that changed since the loop began: the command may
//! have changed what judges it.

use crate::config::Harness;
use crate::inputs::{self, Role};
use crate::project::Project;
use lab_system::root::read_anywhere;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Most bytes of a file that is compared. A script is shorter.
const MOST_BYTES: u64 = 64 << 20;

/// The hashes of the files, by path; `None` for one that cannot be read. Empty for the built-in harness, whose rules a keep compares
/// with HEAD.
#[derive(PartialEq)]
pub(super) struct JudgedBy(BTreeMap<PathBuf, Option<blake3::Hash>>);

impl JudgedBy {
    /// The files as they are now: those that the harness's command line names, or its script with what that imports, and those of
    /// `watch.extra`.
    pub fn now(project: &Project) -> JudgedBy {
        JudgedBy(files(project).into_iter().map(|path| (path.clone(), hash(&path))).collect())
    }

    /// The first file that is not as it was, relative to the work tree.
    pub fn changed(&self, project: &Project) -> Option<String> {
        let found = self.0.iter().find(|(path, before)| hash(path) != **before)?;
        Some(project.relative(found.0).unwrap_or_else(|| found.0.display().to_string()))
    }
}

fn files(project: &Project) -> Vec<PathBuf> {
    let Some(harness) = &project.config.harness else { return Vec::new() };
    let named = match harness {
        // Shells separate words by these. A word that is no file is none of the harness.
        Harness::Command(line) => line
            .split(|c: char| c.is_whitespace() || "'\"()|&;<>=`$".contains(c))
            .filter(|word| !word.is_empty())
            .map(|word| project.home.join(word))
            .filter(|path| path.is_file() && *path != project.kernel)
            .collect(),
        Harness::Python { .. } => Vec::new(),
    };
    let sources = inputs::read(project).map(|inputs| inputs.sources.clone()).unwrap_or_default();
    let extra = sources.into_iter().filter(|source| source.role == Role::Extra).map(|source| source.path);
    extra.chain(named).collect()
}

fn hash(path: &Path) -> Option<blake3::Hash> {
    read_anywhere(path, MOST_BYTES).ok().map(|bytes| blake3::hash(&bytes))
}

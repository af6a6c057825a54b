//! The files of a harness of the user's own. The loop decides nothing by a harness that changed
//! since the loop began: the command may have changed what judges it.

use lab_project::Project;
use lab_project::config::Harness;
use lab_run::inputs::{self, KernelError};
use lab_system::root::read_anywhere;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Most bytes of a file that is compared. A script is shorter.
const MOST_BYTES: u64 = 64 << 20;

/// The hashes of the files, by path; `None` for one that cannot be read. Empty for the built-in
/// harness, whose rules a keep compares with HEAD.
type Hashes = BTreeMap<PathBuf, Option<blake3::Hash>>;

/// The harness as it was when the loop began, and as the run of the present kernel found it.
pub struct JudgedBy {
    /// The files that lab.toml names.
    named: Vec<PathBuf>,
    at_first: Hashes,
    /// What was not as at first when the last run of the present kernel began.
    changed_before_run: Option<String>,
}

impl JudgedBy {
    /// The files as they are now: those that the harness's command line names, or its script, what
    /// these import, and those of `watch.extra`. Returns an error for a file that no run could
    /// read either.
    pub fn now(project: &Project) -> Result<JudgedBy, KernelError> {
        let named = named(project);
        let at_first = hashes(project, &named)?;
        Ok(JudgedBy {
            named,
            at_first,
            changed_before_run: None,
        })
    }

    /// Notes that the next kernel is another one, which no run judged yet.
    pub fn next_kernel(&mut self) {
        self.changed_before_run = None;
    }

    /// Looks at the files before a run. Its verdict is that of a changed harness also if the
    /// harness is as at first when the run ends: a person may put it back meanwhile, and a script
    /// may do so itself.
    pub fn look_before_run(&mut self, project: &Project) {
        self.changed_before_run = self.difference(project);
    }

    /// Why nothing is decided by the harness: what is not as it was, or was not when the last run
    /// began.
    pub fn changed(&self, project: &Project) -> Option<String> {
        self.changed_before_run
            .clone()
            .or_else(|| self.difference(project))
    }

    fn difference(&self, project: &Project) -> Option<String> {
        let now = match hashes(project, &self.named) {
            Ok(now) => now,
            Err(why) => return Some(why.to_string()),
        };
        let mut paths = self.at_first.keys().chain(now.keys());
        let path = paths.find(|path| self.at_first.get(*path) != now.get(*path))?;
        let name = project
            .relative(path)
            .unwrap_or_else(|| path.display().to_string());
        let is_there = |hashes: &Hashes| hashes.get(path).is_some_and(Option::is_some);
        let (what, mend) = match (is_there(&self.at_first), path.symlink_metadata().is_ok()) {
            (false, true) => ("is new", "remove it"),
            (_, false) => ("was removed", "put it back"),
            (true, true) => ("changed", "put it back"),
        };
        Some(format!(
            "{name} {what} since the loop began, and it says how kernels are judged: {mend}, or start the loop again"
        ))
    }
}

/// The files that lab.toml names. A word of a command line that is no file when the loop begins is
/// none of the harness: it may be what the harness builds.
fn named(project: &Project) -> Vec<PathBuf> {
    let Some(harness) = &project.config.harness else {
        return Vec::new();
    };
    let mut named: Vec<PathBuf> = match harness {
        // Shells separate words by these.
        Harness::Command(line) => line
            .split(|c: char| c.is_whitespace() || "'\"()|&;<>=`$".contains(c))
            .filter(|word| !word.is_empty())
            .map(|word| project.home.join(word))
            .filter(|path| path.is_file())
            .collect(),
        Harness::Python { python } => vec![project.home.join(python)],
    };
    named.extend(
        project
            .config
            .watch
            .extra
            .iter()
            .map(|extra| project.home.join(extra)),
    );
    named
        .into_iter()
        .map(|path| inputs::plain(&path))
        .filter(|path| *path != project.kernel)
        .collect()
}

fn hashes(project: &Project, named: &[PathBuf]) -> Result<Hashes, KernelError> {
    let imported = inputs::imported_by(project, named)?;
    let paths = named.iter().cloned().chain(imported);
    Ok(paths.map(|path| (path.clone(), hash(&path))).collect())
}

fn hash(path: &Path) -> Option<blake3::Hash> {
    read_anywhere(path, MOST_BYTES)
        .ok()
        .map(|bytes| blake3::hash(&bytes))
}

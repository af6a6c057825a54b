//! The kernels of a repository with what is known of each, for people who choose one.

use lab_project::Project;
use lab_project::config::{Config, Goal};
use lab_project::kernels::KernelList;
use lab_project::objective::Objective;
use lab_run::RunId;
use lab_run::experiment::Status;
use lab_run::verdict::Outcome;
use lab_store::{Fact, Keys, RunIndex, RunSummary};
use std::path::Path;

/// A kernel that can be opened.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedKernel {
    /// Path of the kernel, relative to the work tree.
    pub name: String,
    /// The measure that its lab.toml names, and which way is better.
    pub objective: Objective,
    pub goal: Goal,
    /// The newest run with a verdict; `None` if its records are not here.
    pub last: Option<LastRun>,
}

/// The newest run of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastRun {
    pub run: RunId,
    pub outcome: Outcome,
    /// `None` if it is undecided.
    pub decided: Option<Status>,
}

/// Lists the kernels of the repository, and the present one if the list leaves it out. Call
/// [`RunIndex::refresh`] first. Reads the disk.
pub fn list(project: &Project, index: &RunIndex) -> Vec<ListedKernel> {
    let mut names = KernelList::of(&project.root, &project.problem_dir).find();
    if let Err(at) = names.binary_search(&project.kernel_name) {
        names.insert(at, project.kernel_name.clone());
    }
    // A check gives no verdict.
    let is_judged = |keys: &Keys| keys.is(Fact::HasVerdict) && !keys.is(Fact::IsCheck);
    let former = index.kernels();
    let listed = |name: String| {
        let was = former
            .iter()
            .filter(|former| index.kernel_names.present(former) == name);
        let runs = was
            .map(String::as_str)
            .chain([name.as_str()])
            .filter_map(|kernel| index.newest_of_kernel(kernel, is_judged).next());
        let last = runs.max_by_key(|summary| summary.id).and_then(LastRun::of);
        let config = config_of(project, &name);
        ListedKernel {
            objective: config.objective,
            goal: config.goal,
            last,
            name,
        }
    };
    names.into_iter().map(listed).collect()
}

impl LastRun {
    fn of(summary: &RunSummary) -> Option<LastRun> {
        let decided = summary.decision.as_ref().map(|decision| decision.status);
        Some(LastRun {
            run: summary.id,
            outcome: summary.outcome()?,
            decided,
        })
    }
}

/// The settings that a kernel has. A lab.toml that cannot be read has the defaults: opening the
/// kernel reports it.
fn config_of(project: &Project, kernel: &str) -> Config {
    let kernel = project.root.join(kernel);
    let file = Config::find(
        kernel.parent().unwrap_or_else(|| Path::new("")),
        &project.root,
    );
    file.and_then(|file| Config::read(&file, &project.root).ok())
        .unwrap_or_default()
}

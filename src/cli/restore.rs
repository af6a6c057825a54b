//! `lab restore`: put an older kernel.cu on disk.

use super::{here, open, say};
use anyhow::{Context, Result};
use clap::Args;
use lab_core::decide;
use lab_core::history::resolve_kernel as about;
use lab_core::project::Project;
use lab_core::repo::short;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct Options {
    /// A commit, as git names it, or the number of a discarded run
    commit: String,
    /// The kernel, or its folder; without one that of the experiment, else as everywhere
    #[arg(value_name = "KERNEL_OR_FOLDER")]
    kernel: Option<PathBuf>,
}

pub fn main(options: &Options) -> Result<ExitCode> {
    let commit = &options.commit;
    let (project, about) = match &options.kernel {
        Some(kernel) => {
            let project = open(Some(kernel))?;
            let about = about::kernel(&project, commit)?.filter(|about| *about != project.kernel_name);
            (project, about)
        }
        None => (of_experiment(commit)?, None),
    };
    let restored = decide::restore(&project, &options.commit)?;
    let commit = format!("{} {}", short(&restored.commit), restored.subject);
    if restored.changed {
        say(&format!("{} is now that of {commit}", project.kernel_name));
    } else {
        say(&format!("{} is that of {commit} already", project.kernel_name));
    }
    if let Some(kernel) = &about {
        let commit = &options.commit;
        say(&format!("  {commit} is about {kernel}: `lab restore {commit}` puts that back"));
    }
    if let Some(saved) = &restored.saved {
        let saved = short(saved);
        say(&format!("  the bytes that were on disk are kept as {saved} (`lab restore {saved}`)"));
    }
    Ok(ExitCode::SUCCESS)
}

/// That of the experiment, also where no kernel is meant here; else the one that is.
fn of_experiment(commit: &str) -> Result<Project> {
    let any = Project::of_any(&here()?)?;
    match about::kernel(&any, commit)? {
        Some(kernel) => Project::open(&any.root, Some(Path::new(&kernel)))
            .with_context(|| format!("{commit} is about {kernel}")),
        None => open(None),
    }
}

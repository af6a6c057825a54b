//! `lab restore`: puts an older kernel.cu on disk.

use super::{JsonArg, any, here, open, say, told};
use anyhow::{Context, Result, ensure};
use clap::Args;
use lab_decide::Restored;
use lab_git::{Repo, short};
use lab_history::names::Named;
use lab_project::Project;
use lab_text::shell::quote;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct RestoreArgs {
    /// A commit, as git names it, or the number of a run
    commit: String,
    /// The kernel or its folder [default: the kernel of the experiment]
    #[arg(value_name = "KERNEL_OR_FOLDER")]
    kernel: Option<PathBuf>,
    #[command(flatten)]
    json: JsonArg,
}

/// What `lab restore` prints with `--json`.
#[derive(JsonSchema, Serialize)]
pub struct RestoreAnswer {
    /// The kernel that was put on disk.
    kernel: String,
    #[serde(flatten)]
    restored: Restored,
    /// The kernel of the experiment, if another one was named.
    kernel_of_experiment: Option<String>,
}

impl RestoreAnswer {
    /// `kernel_of_experiment` is the kernel of the experiment, if another kernel was named.
    pub fn of(
        project: &Project,
        restored: Restored,
        kernel_of_experiment: Option<String>,
    ) -> RestoreAnswer {
        RestoreAnswer {
            kernel: project.kernel_name.clone(),
            restored,
            kernel_of_experiment,
        }
    }
}

/// A restore in one line.
pub fn restored_line(project: &Project, restored: &Restored) -> String {
    let (kernel, commit) = (&project.kernel_name, short(&restored.commit));
    let word = if restored.changed { "now" } else { "already" };
    format!(
        "{kernel} {word} holds the bytes of {commit} {}",
        restored.subject
    )
}

pub fn main(options: &RestoreArgs) -> Result<ExitCode> {
    let name = &options.commit;
    let (project, named, other) = match &options.kernel {
        Some(kernel) => {
            // The commit may hold what is nowhere else.
            let project = Project::open(&here()?, Some(kernel))?;
            let named = lab_decide::named(&Repo::open(&project)?, name)?;
            let other = named
                .kernel
                .clone()
                .filter(|kernel| *kernel != project.kernel_name);
            (project, named, other)
        }
        None => {
            let (project, named) = of_experiment(name)?;
            (project, named, None)
        }
    };
    let restored = lab_decide::restore(&project, &named.commit)?;
    let answered = RestoreAnswer::of(&project, restored, other);
    Ok(told(&answered, || {
        let RestoreAnswer {
            restored,
            kernel_of_experiment: other,
            ..
        } = &answered;
        say(&restored_line(&project, restored));
        if let Some(kernel) = other {
            let commit = &options.commit;
            say(&format!(
                "  {commit} is about {kernel}: `lab restore {commit}` puts that kernel on disk"
            ));
        }
        if let Some(saved) = &restored.saved {
            let saved = short(saved);
            say(&format!(
                "  the bytes that were on disk are saved as {saved} (`lab restore {saved}`)"
            ));
        }
    }))
}

/// Opens the project of the experiment's kernel; if the commit is no experiment, that of the
/// present kernel.
fn of_experiment(name: &str) -> Result<(Project, Named)> {
    let any = any()?;
    let named = lab_decide::named(&Repo::open(&any)?, name)?;
    let project = match &named.kernel {
        Some(kernel) => {
            let project = Project::open(&any.root, Some(Path::new(kernel)))
                .with_context(|| format!("{name} is about {kernel}"))?;
            ensure!(
                project.is_named_as_kernel(),
                "{name} is about {kernel}, which is no kernel by its name: look at it, then `lab restore {name} {path}` puts it \
                 on disk",
                path = quote(kernel)
            );
            project
        }
        None => open(None)?,
    };
    Ok((project, named))
}

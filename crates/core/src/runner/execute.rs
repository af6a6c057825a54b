//! One run from its start to its verdict, on the calling thread.

use crate::inputs::KernelError;
use crate::project::Project;
use crate::project::trust::{self, Trust};
use crate::run::record::Record;
use crate::run::{Reason, RunId};
use crate::runner::announced::Announced;
use crate::runner::event::RunEvent;
use crate::runner::process::Control;
use crate::runner::spec::RunSpec;
use crate::store::LOG;
use lab_protocol::Exit;
use std::fs;
use std::path::PathBuf;

/// Why no run started.
#[derive(Debug, thiserror::Error)]
pub enum NotRun {
    #[error(
        "{} wants to run `{command}`, and you have not trusted it yet. Read it, then `lab trust`",
        file.display()
    )]
    NeedsTrust { command: String, file: PathBuf },
    #[error("{0}")]
    NoProblem(String),
    #[error(transparent)]
    Kernel(#[from] KernelError),
    #[error("{0:#}")]
    Failed(#[from] anyhow::Error),
}

impl NotRun {
    /// The exit code of `lab run` and `lab check`.
    pub fn exit(&self) -> Exit {
        match self {
            NotRun::NeedsTrust { .. } | NotRun::NoProblem(_) => Exit::Usage,
            NotRun::Kernel(_) => Exit::NotBuilt,
            NotRun::Failed(_) => Exit::Crashed,
        }
    }
}

/// Runs the harness once, without a standby judge, and returns the record with its verdict. `tell` gets
/// [`RunEvent::Started`] and then [`RunEvent::Progress`]. An error means that no run was announced.
pub fn execute(
    project: &Project,
    spec: &RunSpec,
    control: &Control,
    mut tell: impl FnMut(RunEvent),
) -> Result<Record, NotRun> {
    let run = announce(project, spec, &mut tell)?;
    Ok(run.judge(None, control, &mut tell))
}

/// Checks that a run may start, creates it on disk, and announces it by [`RunEvent::Started`].
pub(super) fn announce<'a>(
    project: &'a Project,
    spec: &'a RunSpec,
    tell: &mut dyn FnMut(RunEvent),
) -> Result<Announced<'a>, NotRun> {
    if let Trust::Needed { command, file } = trust::check(project)? {
        return Err(NotRun::NeedsTrust { command, file });
    }
    if let Some(line) = project.config.harness.as_ref().filter(|_| spec.reason == Reason::Check) {
        return Err(NotRun::NoProblem(format!(
            "lab check runs the kernel in the built-in harness, and this one is judged by `{line}`"
        )));
    }
    let inputs = spec.read_inputs(project)?;
    if let Some(why) = no_problem(project) {
        return Err(NotRun::NoProblem(why));
    }
    let run = Announced::create(project, spec, inputs)?;
    point_to_log(project, run.start().id);
    tell(RunEvent::Started(Box::new(run.start().clone())));
    Ok(run)
}

/// A message for the user where neither problem.toml nor a harness command says how to judge the kernel.
fn no_problem(project: &Project) -> Option<String> {
    if project.external() || project.problem_dir.join("problem.toml").symlink_metadata().is_ok() {
        return None;
    }
    let name = &project.kernel_name;
    Some(match &project.config_file {
        None => format!(
            "{name} has no problem.toml beside it, and there is no lab.toml that names a harness: `lab init` writes \
             one for the harness.py that is here; or write a problem.toml (kernels/README.md)"
        ),
        Some(file) => format!(
            "{name} has no problem.toml beside it, and {} names no harness: set `harness` there, as in `harness = \
             \"uv run harness.py\"` (without the file `lab init` writes it), or write a problem.toml (kernels/README.md)",
            file.strip_prefix(&project.root).unwrap_or(file).display()
        ),
    })
}

/// Makes `run.log` beside lab.toml a link to the log of this run, for `grep`. A file or link of the user's by that name
/// stays. The link is relative, so that the repository can be moved.
fn point_to_log(project: &Project, id: RunId) {
    let up = project.home.strip_prefix(&project.root).map_or(0, |inside| inside.components().count());
    let target = format!("{}.lab/runs/{id}/{LOG}", "../".repeat(up));
    let link = project.home.join(LOG);
    match fs::read_link(&link) {
        Ok(old) if old.to_string_lossy().contains(".lab/runs/") => {
            let _ = project.files().remove_file(&link);
        }
        Ok(_) => return,
        Err(_) if link.exists() => return,
        Err(_) => {}
    }
    let _ = std::os::unix::fs::symlink(target, &link);
}

//! One run from its start to its verdict, on the calling thread.

use crate::inputs::{self, KernelError};
use crate::project::Project;
use crate::project::trust::{self, Trust};
use crate::run::record::Record;
use crate::run::{Reason, RunId, RunStart};
use crate::runner::announced::Announced;
use crate::runner::follow::Batch;
use crate::runner::process::Control;
use crate::runner::spec::Order;
use crate::runner::standby::Standby;
use crate::store::LOG;
use lab_protocol::Exit;
use std::fs;
use std::path::PathBuf;

/// What a run tells, besides its record at the end.
pub enum Told {
    Started(Box<RunStart>),
    Progress(RunId, Batch),
}

/// Why no run came of it.
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
    /// How `lab run` and `lab check` exit.
    pub fn exit(&self) -> Exit {
        match self {
            NotRun::NeedsTrust { .. } | NotRun::NoProblem(_) => Exit::Usage,
            NotRun::Kernel(_) => Exit::NotBuilt,
            NotRun::Failed(_) => Exit::Crashed,
        }
    }
}

pub fn execute(
    project: &Project,
    order: &Order,
    control: &Control,
    tell: impl FnMut(Told),
) -> std::result::Result<Record, NotRun> {
    execute_with(None, project, order, control, tell)
}

/// The same with a judge on standby, which is used where it fits.
pub fn execute_with(
    standby: Option<Standby>,
    project: &Project,
    order: &Order,
    control: &Control,
    mut tell: impl FnMut(Told),
) -> std::result::Result<Record, NotRun> {
    if let Trust::Needed { command, file } = trust::check(project)? {
        return Err(NotRun::NeedsTrust { command, file });
    }
    if let Some(line) = project.config.harness.as_ref().filter(|_| order.reason == Reason::Check) {
        return Err(NotRun::NoProblem(format!(
            "lab check runs the kernel in the built-in harness, and this one is judged by `{line}`"
        )));
    }
    let inputs = inputs::read(project)?;
    if let Some(why) = no_problem(project) {
        return Err(NotRun::NoProblem(why));
    }
    let announced = Announced::create(project, order, inputs)?;
    point_to_log(project, announced.id());
    tell(Told::Started(Box::new(announced.start().clone())));
    Ok(announced.judge(standby, control, &mut tell))
}

/// In words, where nothing says how to judge the kernel.
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

/// `run.log` beside lab.toml names the log of the last run, for `grep`. A file of the user's by
/// that name stays. The link is relative, so that a repository can be moved.
fn point_to_log(project: &Project, id: RunId) {
    let up = project.home.strip_prefix(&project.root).map_or(0, |inside| inside.components().count());
    let target = format!("{}.lab/runs/{id}/{LOG}", "../".repeat(up));
    let link = project.home.join(LOG);
    match fs::read_link(&link) {
        Ok(old) if old.to_string_lossy().contains(".lab/runs/") => {
            let _ = fs::remove_file(&link);
        }
        Ok(_) => return,
        Err(_) if link.exists() => return,
        Err(_) => {}
    }
    let _ = std::os::unix::fs::symlink(target, &link);
}

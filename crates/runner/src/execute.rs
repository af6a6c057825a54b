//! One run from its start to its verdict, on the calling thread.

use crate::announced::Announced;
use crate::duplicate::{self, Followed};
use crate::event::RunEvent;
use crate::log_link;
use crate::process::Control;
use crate::spec::RunSpec;
use crate::standby::Standby;
use lab_project::python;
use lab_project::trust::{self, Trust, TrustRequest};
use lab_project::{Project, loop_claim};
use lab_protocol::{Exit, Language};
use lab_run::inputs::{self, Inputs, KernelError};
use lab_run::record::Record;
use lab_run::verdict::{Outcome, Verdict};
use lab_run::{Reason, RunId};
use lab_store::{RunIndex, RunStore};
use lab_text::shell::quote;
use std::sync::Arc;
use std::time::Duration;

/// How often a run looks whether the loop that judges its bytes has begun.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Why no run started.
#[derive(Debug, thiserror::Error)]
pub enum NotRun {
    #[error("{0}")]
    NeedsTrust(Box<TrustRequest>),
    #[error("{0}")]
    /// What is asked for does not fit the kernel, this machine or an earlier run. The text says what to do.
    Refused(String),
    #[error(transparent)]
    Kernel(#[from] KernelError),
    #[error("{}", lab_git::told(.0))]
    Failed(#[from] anyhow::Error),
}

impl NotRun {
    /// The exit code of `lab run` and `lab check`.
    pub fn exit(&self) -> Exit {
        match self {
            NotRun::NeedsTrust(_) | NotRun::Refused(_) => Exit::Usage,
            NotRun::Failed(_) | NotRun::Kernel(KernelError::NoDescriptor(..)) => Exit::NOT_JUDGED,
            NotRun::Kernel(_) => Exit::NotBuilt,
        }
    }
}

/// Runs the harness once, by the judge on `standby` if that fits, and returns the record. `tell`
/// gets [`RunEvent::Started`] and then [`RunEvent::Progress`]; [`RunEvent::Joined`] comes first
/// where another process judges the same inputs. `index` finds the incumbent's record, if it is
/// needed; it need not have read anything yet. An error means that no run was announced.
pub fn execute(
    standby: Option<Standby>,
    project: &Project,
    spec: &RunSpec,
    index: &mut RunIndex,
    control: &Control,
    mut tell: impl FnMut(RunEvent),
) -> Result<Record, NotRun> {
    match begin(project, spec, &[], control, &mut tell)? {
        Begun::Own(run) => Ok(run.judge(standby, index, control, &mut tell)),
        Begun::Joined(record) | Begun::Left(record) => Ok(*record),
    }
}

/// How a run began.
pub(super) enum Begun<'a> {
    /// It was announced.
    Own(Box<Announced<'a>>),
    /// Another process judged these inputs.
    Joined(Box<Record>),
    /// Another process judges these inputs, and following it or waiting for it was ended. The
    /// record is that of no run.
    Left(Box<Record>),
}

/// Announces a run; where another process judges the same inputs, follows that run to its end
/// instead. `begun` are the runs that the caller began before.
pub(super) fn begin<'a>(
    project: &'a Project,
    spec: &'a RunSpec,
    begun: &[RunId],
    control: &Control,
    tell: &mut dyn FnMut(RunEvent),
) -> Result<Begun<'a>, NotRun> {
    // The inputs of a run that was followed and ended without a verdict.
    let mut gone = None;
    let (mut is_beside_loop, mut joined) = (false, None);
    loop {
        let inputs = inputs_of(project, spec)?;
        let lock = duplicate::lock(project);
        let run = Announced::create(project, spec, inputs)?;
        // A loop of `lab auto` judges the bytes that it puts on disk. This run follows that one,
        // once it has begun.
        let is_of_loop =
            spec.reason.is_automatic() && loop_claim::judges(project, run.inputs().kernel());
        is_beside_loop |=
            is_of_loop || (spec.reason.is_automatic() && loop_claim::is_running(project));
        let looks = is_of_loop || gone.as_ref() != Some(&run.start().fingerprint);
        let duplicate = looks.then(|| run.duplicate(begun, is_beside_loop));
        let duplicate = duplicate.flatten();
        let Some(duplicate) = duplicate else {
            // A loop that is done with its bytes has put others on disk, perhaps before this run
            // could begin.
            if !is_of_loop && (!is_beside_loop || is_on_disk(project, &run.inputs())) {
                drop(lock);
                log_link::point_to(project, &RunStore::of(project).folder(run.start().id));
                tell(RunEvent::Started(Box::new(run.start().clone())));
                return Ok(Begun::Own(Box::new(run)));
            }
            let mut own = run.withdraw();
            drop(lock);
            if is_of_loop && !control.wait(LOOK_EVERY) {
                continue;
            }
            tell(joined.map_or(RunEvent::Withdrawn, RunEvent::Left));
            own.verdict = Some(Verdict::bare(
                Outcome::Void,
                "`lab auto` judges these bytes".to_owned(),
            ));
            return Ok(Begun::Left(Box::new(own)));
        };
        let mut own = run.withdraw();
        drop(lock);
        let id = duplicate.start().id;
        joined = Some(id);
        tell(RunEvent::Joined(Box::new(duplicate.start().clone())));
        match duplicate.follow(project, control, tell) {
            Followed::Ended(mut record) => {
                if spec.reason == Reason::Command {
                    duplicate::claim(project, &mut record);
                }
                return Ok(Begun::Joined(record));
            }
            // It has no verdict, so these inputs are judged here.
            Followed::Gone => gone = Some(own.start.fingerprint),
            Followed::Left => {
                tell(RunEvent::Left(id));
                own.verdict = Some(Verdict::bare(
                    Outcome::Void,
                    format!("run {id} of these bytes goes on"),
                ));
                return Ok(Begun::Left(Box::new(own)));
            }
        }
    }
}

fn is_on_disk(project: &Project, inputs: &Inputs) -> bool {
    inputs::on_disk(project).is_ok_and(|present| present == inputs.kernel())
}

/// Checks that a run may start, and returns its inputs. Writes nothing.
pub fn inputs_of(project: &Project, spec: &RunSpec) -> Result<Arc<Inputs>, NotRun> {
    if let Some(why) = python::missing_script(project) {
        return Err(NotRun::Refused(why));
    }
    // A kernel that is not there has a message of its own.
    let problem = no_problem(project).filter(|_| project.kernel.is_file());
    let trust = trust::check(project, || spec.unconfined(project))?;
    if problem.is_some() || trust != Trust::Given {
        return Err(refused(problem, (spec.lacks)(project), trust));
    }
    if let Some(line) = project
        .config
        .harness
        .as_ref()
        .filter(|_| spec.reason == Reason::Check)
    {
        return Err(NotRun::Refused(format!(
            "lab check runs the kernel in the built-in harness, and this one is judged by `{line}`"
        )));
    }
    Ok(spec.read_inputs(project)?)
}

/// All that keeps a kernel from being judged, in the order to mend it. Trust comes last, and alone only if the kernel
/// could run then.
fn refused(problem: Option<String>, lacks: Option<String>, trust: Trust) -> NotRun {
    let mut missing: Vec<String> = problem.into_iter().chain(lacks).collect();
    if let Trust::Needed(request) = trust {
        if missing.is_empty() {
            return NotRun::NeedsTrust(request);
        }
        missing.push(request.to_string());
    }
    NotRun::Refused(match missing.as_slice() {
        [only] => only.clone(),
        all => {
            let numbered = (1..).zip(all);
            let numbered = numbered.map(|(number, what)| format!("\n{number}. {what}"));
            format!(
                "this kernel cannot run yet:{}",
                numbered.collect::<String>()
            )
        }
    })
}

/// A message for the user where neither problem.toml nor a harness command says how to judge the
/// kernel.
fn no_problem(project: &Project) -> Option<String> {
    if project.external()
        || project
            .problem_dir
            .join("problem.toml")
            .symlink_metadata()
            .is_ok()
    {
        return None;
    }
    let name = &project.kernel_name;
    let has_harness = project.problem_dir.join("harness.py").is_file();
    let is_cuda = Language::of(&project.kernel) == Language::Cuda;
    Some(match &project.config_file {
        None => {
            let writes = match (has_harness, project.kernel.file_name()) {
                (true, _) => {
                    "`lab init` writes one for the harness.py that is here; or ".to_owned()
                }
                (false, Some(file)) if is_cuda => {
                    let file = quote(&file.to_string_lossy());
                    let kernel = match project.argument.as_str() {
                        "" => file,
                        argument => argument.trim_start().to_owned(),
                    };
                    format!("`lab init {kernel}` writes a problem around it; or ")
                }
                _ => String::new(),
            };
            format!(
                "{name} has no problem.toml beside it, and there is no lab.toml that names a harness: {writes}write a \
                 problem.toml (`lab help kernels`)"
            )
        }
        Some(file) => format!(
            "{name} has no problem.toml beside it, and {} names no harness: set `harness` there, as in `harness = \
             {{ python = \"harness.py\" }}`, or write a problem.toml (`lab help kernels`)",
            file.strip_prefix(&project.root).unwrap_or(file).display()
        ),
    })
}

//! One task of a job array: it judges its points as a sweep of its own.

use super::{
    ArrayName, Ended, Executor, NotRun, Session, SweepArgs, SweepEvent, SweepRequest, code,
    complain, text,
};
use crate::cli::interrupt::controlled;
use crate::confinement;
use anyhow::Result;
use lab_project::Project;
use lab_protocol::Exit;
use lab_run::Reason;
use lab_runner::spec::RunSpec;
use lab_sweep::slurm::TASK;
use lab_sweep::task::Task;
use std::process::ExitCode;
use std::sync::Arc;

pub fn main(mut project: Project, array: ArrayName, options: &SweepArgs) -> Result<ExitCode> {
    let control = controlled()?;
    let number = std::env::var(TASK)
        .ok()
        .and_then(|number| number.parse().ok());
    let missing = || {
        NotRun::Refused(format!(
            "{TASK} names no task: Slurm sets it in a job array"
        ))
    };
    project.config.executor = Executor::Local;
    let task = Task::read(project, array, number.ok_or_else(missing)?)?;
    if task.is_done {
        return Ok(code(Exit::Passed));
    }
    let spec = RunSpec {
        inputs: Some(Arc::new(task.inputs)),
        ..confinement::spec(Reason::Command, options.device.first().copied())
    };
    let request = SweepRequest {
        devices: options.device.clone(),
        builders: options.builders,
        only: Some(task.points),
        ..SweepRequest::default()
    };
    let mut session = Session::begin(&task.project, spec, &request)?;
    let (wanted, start) = (session.wanted(), session.sweep.start.clone());
    let ended = session.run(&control, &mut |event| {
        if let SweepEvent::Recorded(point) = event {
            complain(&text::point_line(&start, point, wanted));
        }
    });
    // The last line of its log says why a task ended early.
    Ok(match ended? {
        Ended::Complete | Ended::BudgetSpent => code(Exit::Passed),
        Ended::Interrupted => code(Exit::Crashed),
        Ended::NotJudged(why) => {
            complain(&why);
            code(Exit::NOT_JUDGED)
        }
    })
}

//! `lab undo`: takes back the last keep or discard.

use super::{JsonArg, KernelArg, answer, open, refused, say};
use anyhow::Result;
use clap::Args;
use lab_decide::Undone;
use lab_decide::policy::LastDecision;
use lab_git::short;
use lab_project::Project;
use lab_protocol::Exit;
use lab_run::RunId;
use lab_run::experiment::Status;
use serde::Serialize;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct UndoArgs {
    #[command(flatten)]
    kernel: KernelArg,
    #[command(flatten)]
    json: JsonArg,
}

/// What `lab undo` prints with `--json`.
#[derive(Serialize)]
pub struct UndoAnswer {
    /// The run, which is undecided again.
    run: RunId,
    kernel: String,
    undone: UndoneReport,
    notes: Vec<String>,
}

/// The decision that was taken back.
#[derive(Serialize)]
struct UndoneReport {
    status: Status,
    commit: String,
    description: String,
}

impl UndoAnswer {
    pub fn of(project: &Project, undone: &Undone) -> UndoAnswer {
        let Undone { last, notes } = undone.clone();
        let LastDecision {
            run,
            status,
            description,
            commit,
            ..
        } = last;
        let undone = UndoneReport {
            status,
            commit,
            description,
        };
        UndoAnswer {
            run,
            kernel: project.kernel_name.clone(),
            undone,
            notes,
        }
    }
}

/// An undo in one line.
pub fn undone_line(project: &Project, undone: &Undone) -> String {
    let LastDecision {
        run,
        status,
        description,
        commit,
        ..
    } = &undone.last;
    format!(
        "run {run} of {} is undecided again: {} {} '{description}' is undone",
        project.kernel_name,
        status.word(),
        short(commit)
    )
}

pub fn main(options: &UndoArgs) -> Result<ExitCode> {
    let project = open(options.kernel.kernel.as_deref())?;
    // Told before it counts as done: an undo of which nobody was told must not be followed by a
    // second one.
    match lab_decide::undo(&project, None, |undone| {
        tell(&project, undone, options.json.json);
    }) {
        Ok(_) => Ok(ExitCode::SUCCESS),
        Err(refusal) => Ok(refused(&refusal)),
    }
}

fn tell(project: &Project, undone: &Undone, json: bool) {
    if json {
        answer(Exit::Passed, UndoAnswer::of(project, undone));
        return;
    }
    say(&undone_line(project, undone));
    undone
        .notes
        .iter()
        .for_each(|note| say(&format!("  {note}")));
}

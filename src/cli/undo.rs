//! `lab undo`: takes back the last keep or discard.

use super::{JsonArg, KernelArg, say, say_below, told};
use anyhow::Result;
use clap::Args;
use lab_decide::Undone;
use lab_decide::policy::LastDecision;
use lab_git::short;
use lab_project::Project;
use lab_run::RunId;
use lab_run::experiment::Status;
use schemars::JsonSchema;
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
#[derive(JsonSchema, Serialize)]
pub struct UndoAnswer {
    /// The run, which is undecided again.
    run: RunId,
    /// Its kernel.
    kernel: String,
    undone: UndoneReport,
    /// What the user should know besides.
    notes: Vec<String>,
}

/// The decision that was taken back.
#[derive(JsonSchema, Serialize)]
struct UndoneReport {
    /// How it was decided.
    status: Status,
    /// Full id of the commit that holds the bytes.
    commit: String,
    /// What was tried.
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
        "run {run} of {} is open again: {} {} '{description}' is undone",
        project.kernel_name,
        status.word(),
        short(commit)
    )
}

pub fn main(options: &UndoArgs) -> Result<ExitCode> {
    let project = options.kernel.open()?;
    // Told before it counts as done: an undo of which nobody was told must not be followed by a
    // second one.
    lab_decide::undo(&project, None, |undone| {
        told(UndoAnswer::of(&project, undone), || {
            say(&undone_line(&project, undone));
            say_below(&undone.notes);
        });
    })?;
    Ok(ExitCode::SUCCESS)
}

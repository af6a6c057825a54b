//! `lab undo`: takes back the last keep or discard.

use super::{JsonArg, KernelArg, answer, open, refused, say};
use anyhow::Result;
use clap::Args;
use lab_core::decide::{self, Undone};
use lab_core::repo::short;
use lab_core::run::RunId;
use lab_core::run::experiment::Status;
use lab_protocol::Exit;
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
struct UndoAnswer {
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

pub fn main(options: &UndoArgs) -> Result<ExitCode> {
    let project = open(options.kernel.kernel.as_deref())?;
    match decide::undo(&project, None) {
        Ok(undone) if options.json.json => {
            let Undone { run, status, description, commit, notes } = undone;
            let undone = UndoneReport { status, commit, description };
            Ok(answer(Exit::Passed, UndoAnswer { run, kernel: project.kernel_name, undone, notes }))
        }
        Ok(undone) => {
            let (run, word) = (undone.run, undone.status.word());
            say(&format!(
                "run {run} of {} is undecided again: {word} {} '{}' is undone",
                project.kernel_name,
                short(&undone.commit),
                undone.description
            ));
            undone.notes.iter().for_each(|note| say(&format!("  {note}")));
            Ok(ExitCode::SUCCESS)
        }
        Err(refusal) => Ok(refused(&refusal)),
    }
}

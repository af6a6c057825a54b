//! `lab undo`: takes back the last keep or discard.

use super::{KernelArg, complain, open, say};
use anyhow::Result;
use clap::Args;
use lab_core::decide;
use lab_core::repo::short;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct UndoArgs {
    #[command(flatten)]
    kernel: KernelArg,
}

pub fn main(options: &UndoArgs) -> Result<ExitCode> {
    let project = open(options.kernel.kernel.as_deref())?;
    match decide::undo(&project, None) {
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
        Err(refusal) => {
            complain(&refusal.to_string());
            Ok(ExitCode::FAILURE)
        }
    }
}

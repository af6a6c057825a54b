//! `lab undo`: takes back the last keep or discard.

use super::{KernelArg, open, refused, say};
use anyhow::Result;
use clap::Args;
use lab_core::decide::{self, Undone};
use lab_core::repo::short;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct UndoArgs {
    #[command(flatten)]
    kernel: KernelArg,
}

pub fn main(options: &UndoArgs) -> Result<ExitCode> {
    let project = open(options.kernel.kernel.as_deref())?;
    // Told before it counts as done: an undo of which nobody was told must not be followed by a second one.
    let tell = |undone: &Undone| {
        let (run, word) = (undone.run, undone.status.word());
        say(&format!(
            "run {run} of {} is undecided again: {word} {} '{}' is undone",
            project.kernel_name,
            short(&undone.commit),
            undone.description
        ));
        undone.notes.iter().for_each(|note| say(&format!("  {note}")));
    };
    match decide::undo_and_tell(&project, None, tell) {
        Ok(_) => Ok(ExitCode::SUCCESS),
        Err(refusal) => Ok(refused(&refusal)),
    }
}

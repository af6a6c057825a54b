//! `lab describe`: an experiment in other words.

use super::{complain, here, say};
use anyhow::Result;
use clap::Args;
use lab_core::decide;
use lab_core::project::Project;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct Options {
    /// The commit of the experiment, as git names it, or the number of a discarded run
    commit: String,
    /// What was tried, in one line
    #[arg(short, long, value_name = "TEXT")]
    message: String,
}

pub fn main(options: &Options) -> Result<ExitCode> {
    // Its kernel is that of the experiment.
    let project = Project::of_any(&here()?)?;
    match decide::describe(&project, &options.commit, &options.message) {
        Ok(described) => {
            let row = &described.row;
            say(&format!("{} is now '{}', and was '{}'", row.commit, row.description, described.before));
            say("  the commit keeps its own message: others are built on it");
            described.notes.iter().for_each(|note| say(&format!("  {note}")));
            Ok(ExitCode::SUCCESS)
        }
        Err(refusal) => {
            complain(&refusal.to_string());
            Ok(ExitCode::FAILURE)
        }
    }
}

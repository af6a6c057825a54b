//! `lab describe`: changes the description of an experiment.

use super::{here, refused, say};
use anyhow::Result;
use clap::Args;
use lab_core::decide;
use lab_core::project::Project;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct DescribeArgs {
    /// The commit of the experiment, as git names it, or the number of a discarded run
    commit: String,
    /// What was tried, in one line
    #[arg(short, long, value_name = "TEXT")]
    message: String,
}

pub fn main(options: &DescribeArgs) -> Result<ExitCode> {
    // The experiment names its kernel.
    let project = Project::of_any(&here()?)?;
    match decide::describe(&project, &options.commit, &options.message) {
        Ok(described) => {
            let row = &described.row;
            say(&format!("{} is now '{}', and was '{}'", row.commit, row.description, described.before));
            say("  the commit message stays as it is: a commit cannot change without its id");
            described.notes.iter().for_each(|note| say(&format!("  {note}")));
            Ok(ExitCode::SUCCESS)
        }
        Err(refusal) => Ok(refused(&refusal)),
    }
}

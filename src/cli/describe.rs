//! `lab describe`: changes the description of an experiment.

use super::{JsonArg, answer, here, refused, say};
use anyhow::Result;
use clap::Args;
use lab_core::decide::{self, Described};
use lab_core::project::Project;
use lab_core::run::experiment::Row;
use lab_protocol::Exit;
use serde::Serialize;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct DescribeArgs {
    /// The commit of the experiment, as git names it, or the number of a discarded run
    commit: String,
    /// What was tried, in one line
    #[arg(short, long, value_name = "TEXT")]
    message: String,
    #[command(flatten)]
    json: JsonArg,
}

/// What `lab describe` prints with `--json`.
#[derive(Serialize)]
struct DescribeAnswer {
    /// The row as it is now.
    row: Row,
    /// The description before.
    before: String,
    notes: Vec<String>,
}

pub fn main(options: &DescribeArgs) -> Result<ExitCode> {
    // The experiment names its kernel.
    let project = Project::of_any(&here()?)?;
    match decide::describe(&project, &options.commit, &options.message) {
        Ok(Described { row, before, notes }) if options.json.json => {
            Ok(answer(Exit::Passed, DescribeAnswer { row, before, notes }))
        }
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

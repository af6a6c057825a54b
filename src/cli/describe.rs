//! `lab describe`: changes the description of an experiment, its hypothesis or its lesson.

use super::decide::LearnedArgs;
use super::json::decision::{TrailerReport, trailers};
use super::{JsonArg, answer, here, refused, say};
use anyhow::Result;
use clap::Args;
use lab_decide::{Changes, Described};
use lab_project::Project;
use lab_protocol::Exit;
use lab_run::experiment::Row;
use serde::Serialize;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct DescribeArgs {
    /// The commit of the experiment, as git names it, or the number of a discarded run
    commit: String,
    /// What was tried, in one line
    #[arg(short, long, value_name = "TEXT", required_unless_present_any = ["hypothesis", "lesson"])]
    message: Option<String>,
    #[command(flatten)]
    learned: LearnedArgs,
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
    /// The trailers that were given.
    trailers: Vec<TrailerReport>,
    notes: Vec<String>,
}

pub fn main(options: &DescribeArgs) -> Result<ExitCode> {
    // The experiment names its kernel.
    let project = Project::of_any(&here()?)?;
    let given: Vec<_> = options.learned.trailers().collect();
    let changes = Changes {
        description: options.message.as_deref(),
        trailers: &given,
    };
    match lab_decide::describe(&project, &options.commit, &changes) {
        Ok(Described {
            row,
            before,
            trailers: given,
            notes,
        }) if options.json.json => Ok(answer(
            Exit::Passed,
            DescribeAnswer {
                row,
                before,
                trailers: trailers(&given),
                notes,
            },
        )),
        Ok(described) => {
            let row = &described.row;
            if options.message.is_some() {
                say(&format!(
                    "{} is now '{}', and was '{}'",
                    row.commit, row.description, described.before
                ));
            }
            for (key, value) in &described.trailers {
                say(&format!(
                    "{} of {} is now '{}'",
                    key,
                    row.commit,
                    value.replace('\n', " ")
                ));
            }
            say("  the commit message stays as it is: a commit cannot change without its id");
            described
                .notes
                .iter()
                .for_each(|note| say(&format!("  {note}")));
            Ok(ExitCode::SUCCESS)
        }
        Err(refusal) => Ok(refused(&refusal)),
    }
}

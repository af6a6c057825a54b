//! `lab describe`: changes the description of an experiment, or gives it trailers such as a note.

use super::decide::LearnedArgs;
use super::json::decision::{TrailerReport, trailers};
use super::{JsonArg, any, say, say_below, told};
use anyhow::Result;
use clap::Args;
use lab_decide::{Changes, Described};
use lab_run::experiment::Row;
use lab_run::message::{self, Trailer};
use schemars::JsonSchema;
use serde::Serialize;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct DescribeArgs {
    /// The commit of the experiment, as git names it, or the number of its run
    commit: String,
    /// What was tried, in one line
    #[arg(short, long, value_name = "TEXT", required_unless_present_any = ["hypothesis", "lesson", "trailer"])]
    message: Option<String>,
    /// A note, tags, or any other trailer: 'Note: slower on small rows', 'Tags: warp, smem'; 'Note:'
    /// removes the note
    #[arg(long, value_name = "'KEY: VALUE'", value_parser = message::changed_trailer)]
    trailer: Vec<Trailer>,
    #[command(flatten)]
    learned: LearnedArgs,
    #[command(flatten)]
    json: JsonArg,
}

/// What `lab describe` prints with `--json`.
#[derive(JsonSchema, Serialize)]
pub struct DescribeAnswer<'a> {
    /// The row as it is now.
    row: &'a Row,
    /// The description before.
    before: &'a str,
    /// The trailers that were given: Hypothesis, Lesson. An empty value: the trailer was removed.
    trailers: Vec<TrailerReport>,
    /// What the user should know besides.
    notes: &'a [String],
}

pub fn main(options: &DescribeArgs) -> Result<ExitCode> {
    // The experiment names its kernel.
    let project = any()?;
    let given = options.learned.trailers();
    let given: Vec<_> = given.chain(options.trailer.iter().cloned()).collect();
    let changes = Changes {
        description: options.message.as_deref(),
        trailers: &given,
    };
    let Described {
        row,
        before,
        trailers: now,
        notes,
    } = lab_decide::describe(&project, &options.commit, &changes)?;
    let answered = DescribeAnswer {
        row: &row,
        before: &before,
        trailers: trailers(&now),
        notes: &notes,
    };
    Ok(told(answered, || {
        if options.message.is_some() {
            say(&format!(
                "{} is now '{}', and was '{before}'",
                row.commit, row.description
            ));
        }
        for (key, value) in &now {
            let now = match value.replace('\n', " ") {
                none if none.is_empty() => "removed".to_owned(),
                value => format!("now '{value}'"),
            };
            say(&format!("{key} of {} {} {now}", row.commit, key.verb()));
        }
        say("  the commit message stays as it is: a commit cannot change without its id");
        say_below(&notes);
    }))
}

//! `lab rules`: shows how the rules of a problem differ from those in HEAD, and commits the change
//! on its own.

use super::json::decision::DecisionAnswer;
use super::{JsonArg, KernelArg, answer, failed, open, problem_file, refused, say};
use anyhow::Result;
use clap::Args;
use lab_git::short;
use lab_protocol::Exit;
use lab_run::message::{self, Message, Trailer};
use lab_store::RunIndex;
use serde::Serialize;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct RulesArgs {
    #[command(flatten)]
    kernel: KernelArg,
    /// Commit the change with this subject, and write its row; without it, only show the change
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// A trailer of the commit message, such as 'Constraint: …'
    #[arg(long, value_name = "'KEY: VALUE'", value_parser = message::trailer, requires = "message")]
    trailer: Vec<Trailer>,
    #[command(flatten)]
    json: JsonArg,
}

/// What `lab rules` prints with `--json` where it commits nothing.
#[derive(Serialize)]
struct RulesAnswer {
    kernel: String,
    /// How the rules differ from those in HEAD, one sentence each.
    changed: Vec<String>,
    /// Files that the first keep commits.
    first: Vec<String>,
}

pub fn main(options: &RulesArgs) -> Result<ExitCode> {
    let project = open(options.kernel.kernel.as_deref())?;
    let Some(subject) = &options.message else {
        let rules = lab_decide::read_rules(&project)?;
        let mistake = problem_file::mistake(&project);
        if let (true, Some(why)) = (options.json.json, &mistake) {
            return Ok(failed(why, Exit::Usage));
        }
        if options.json.json {
            let changed = rules.changed.iter().map(ToString::to_string).collect();
            let first = rules.first.iter().map(ToString::to_string).collect();
            let rules = RulesAnswer {
                kernel: project.kernel_name,
                changed,
                first,
            };
            return Ok(answer(Exit::Passed, rules));
        }
        rules
            .changed
            .iter()
            .for_each(|change| say(&change.to_string()));
        rules
            .first
            .iter()
            .for_each(|path| say(&format!("{path} is committed with the first keep")));
        if rules.changed.is_empty() && rules.first.is_empty() {
            say(&format!(
                "the rules of {} are as in HEAD",
                project.kernel_name
            ));
        }
        return Ok(mistake.map_or(ExitCode::SUCCESS, |why| failed(&why, Exit::Usage)));
    };
    if let Some(why) = problem_file::mistake(&project) {
        return Ok(failed(&why, Exit::Usage));
    }
    let message = Message::new(subject, options.trailer.iter().cloned());
    match lab_decide::change_rules(&project, &message) {
        Ok(decided) if options.json.json => Ok(answer(
            Exit::Passed,
            DecisionAnswer::of(&project, &RunIndex::open(&project), &decided),
        )),
        Ok(decided) => {
            say(&format!(
                "the rules of {} changed: {}",
                project.kernel_name,
                short(&decided.commit)
            ));
            decided
                .notes
                .iter()
                .for_each(|note| say(&format!("  {note}")));
            Ok(ExitCode::SUCCESS)
        }
        Err(refusal) => Ok(refused(&refusal)),
    }
}

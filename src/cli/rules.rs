//! `lab rules`: shows how the rules of a problem differ from those in HEAD, and commits the change
//! on its own.

use super::json::decision::DecisionAnswer;
use super::{JsonArg, KernelArg, failed, is_json, problem_file, say, say_below, told};
use anyhow::Result;
use clap::Args;
use lab_git::{Repo, short, typed_message};
use lab_project::Project;
use lab_protocol::Exit;
use lab_run::message::{self, Trailer};
use lab_store::RunIndex;
use lab_system::root::read_anywhere;
use schemars::JsonSchema;
use serde::Serialize;
use std::iter::repeat;
use std::process::ExitCode;

/// Most bytes of a file whose diff is shown.
const SIZE_LIMIT: u64 = 4 << 20;

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
#[derive(JsonSchema, Serialize)]
pub struct RulesAnswer<'a> {
    /// The kernel.
    kernel: &'a str,
    /// How the rules differ from those in HEAD.
    changed: Vec<String>,
    /// Files that the first keep commits.
    first: Vec<String>,
    /// The diffs of the files in `changed`; empty where a file is no text.
    #[serde(skip)]
    diffs: Vec<String>,
}

pub fn main(options: &RulesArgs) -> Result<ExitCode> {
    let project = options.kernel.open()?;
    let Some(subject) = &options.message else {
        let rules = RulesAnswer::of(&project)?;
        let mistake = problem_file::mistake(&project);
        if mistake.is_none() || !is_json() {
            told(&rules, || {
                let diffs = rules.diffs.iter().map(String::as_str);
                for (line, diff) in rules.lines().iter().zip(diffs.chain(repeat(""))) {
                    say(line);
                    diff.lines().for_each(say);
                }
            });
        }
        return Ok(mistake.map_or(ExitCode::SUCCESS, |why| failed(&why, Exit::Usage)));
    };
    if let Some(why) = problem_file::mistake(&project) {
        return Ok(failed(&why, Exit::Usage));
    }
    let message = typed_message(subject, options.trailer.iter().cloned());
    let decided = lab_decide::change_rules(&project, &message)?;
    let answered = DecisionAnswer::of(&project, &RunIndex::open(&project), &decided);
    Ok(told(answered, || {
        let commit = short(&decided.commit);
        say(&format!(
            "the rules of {} changed: {commit}",
            project.kernel_name
        ));
        say_below(&decided.notes);
    }))
}

impl<'a> RulesAnswer<'a> {
    pub fn of(project: &'a Project) -> Result<Self> {
        let rules = lab_decide::read_rules(project)?;
        let repo = Repo::open(project)?;
        let diffs = rules.changed.iter().map(|file| diff(&repo, &file.path));
        Ok(RulesAnswer {
            kernel: &project.kernel_name,
            changed: rules.changed.iter().map(ToString::to_string).collect(),
            first: rules.first.iter().map(ToString::to_string).collect(),
            diffs: diffs.collect::<Result<_>>()?,
        })
    }

    /// Whether a keep is refused until a person has committed the rules.
    pub fn has_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    pub fn lines(&self) -> Vec<String> {
        let first = self.first.iter();
        let first = first.map(|path| format!("{path} is committed with the first keep"));
        let lines: Vec<String> = self.changed.iter().cloned().chain(first).collect();
        match lines.is_empty() {
            true => vec![format!("the rules of {} are as in HEAD", self.kernel)],
            false => lines,
        }
    }
}

/// The diff of a file from HEAD to the disk; empty where it is no text.
fn diff(repo: &Repo, path: &str) -> Result<String> {
    let old = lab_git::bytes_in_head(repo, &lab_git::behind_links(repo, path)?)?;
    let new = read_anywhere(&repo.project.root.join(path), SIZE_LIMIT).ok();
    let text = |bytes: Option<Vec<u8>>| String::from_utf8(bytes.unwrap_or_default());
    match (text(old), text(new)) {
        (Ok(old), Ok(new)) => lab_git::text_diff(&old, &new, 3),
        _ => Ok(String::new()),
    }
}

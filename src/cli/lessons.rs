//! `lab lessons`: tells by idea what the experiments brought and taught, within a number of tokens.

use super::output::resume;
use super::{JsonArg, KernelArg, answer, is_json, say};
use anyhow::Result;
use clap::Args;
use itertools::Itertools;
use lab_history::Session;
use lab_history::lessons::{Brought, EXPERIMENTS, Idea, fitting, lessons};
use lab_protocol::Exit;
use schemars::JsonSchema;
use serde::Serialize;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct LessonsArgs {
    #[command(flatten)]
    kernel: KernelArg,
    /// Tokens of a language model that the ideas may take; estimated as a third of their bytes
    #[arg(long, value_name = "N", default_value_t = 2000)]
    tokens: usize,
    #[command(flatten)]
    json: JsonArg,
}

/// What `lab lessons` prints with `--json`.
#[derive(JsonSchema, Serialize)]
pub struct LessonsAnswer<'a> {
    /// The kernel of the experiments.
    kernel: &'a str,
    /// Those with a lesson first, then those with a kept experiment, then the others; the newest
    /// first among each.
    ideas: Vec<Idea>,
    /// Ideas that did not fit into the tokens.
    left_out: usize,
    /// A third of the bytes of `ideas`.
    estimated_tokens: usize,
    /// Only so many experiments are looked at, the newest.
    experiments_limit: usize,
}

pub fn main(options: &LessonsArgs) -> Result<ExitCode> {
    let project = options.kernel.open()?;
    resume(&project);
    let history = Session::open(&project)?.history;
    let newest_first = history.experiments.iter().rev();
    let newest_first = newest_first.filter(|e| e.is_about(&project.kernel_name));
    let ideas = lessons(newest_first, &project.config.objective, project.config.goal);
    let count = ideas.len();
    if is_json() {
        let length = |idea: &Idea| serde_json::to_string_pretty(idea).unwrap_or_default();
        let (ideas, estimated_tokens) = fitting(ideas, options.tokens, length);
        let left_out = count - ideas.len();
        let (kernel, experiments_limit) = (project.kernel_name.as_str(), EXPERIMENTS);
        let rest = LessonsAnswer {
            kernel,
            ideas,
            left_out,
            estimated_tokens,
            experiments_limit,
        };
        return Ok(answer(Exit::Passed, rest));
    }
    if count == 0 {
        say(&format!(
            "no experiment of {} yet: keep or discard a run",
            project.kernel_name
        ));
    }
    let (texts, _) = fitting(ideas.iter().map(as_text), options.tokens, String::clone);
    texts.iter().flat_map(|text| text.lines()).for_each(say);
    if texts.len() < count {
        let left_out = count - texts.len();
        say(&format!(
            "{left_out} more ideas: `lab lessons --tokens {}`",
            options.tokens.saturating_mul(2).max(1000)
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn as_text(idea: &Idea) -> String {
    let counts = [
        (idea.kept, "kept"),
        (idea.discarded, "discarded"),
        (idea.crashed, "crashed"),
    ];
    let mut counts = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"));
    let mut text = format!("{}: {}", idea.name, counts.join(", "));
    let figures = [
        ("best", idea.best),
        (
            "worst",
            idea.worst.filter(|worst| Some(*worst) != idea.best),
        ),
    ];
    for (word, brought) in figures {
        let Some(Brought {
            ratio,
            run,
            foreign,
        }) = brought
        else {
            continue;
        };
        text += &format!("; {word} {:.3}×", ratio.value);
        if let (Some(low), Some(high)) = (ratio.low, ratio.high) {
            text += &format!(" ({low:.3} … {high:.3})");
        }
        text += &run.map(|run| format!(" run {run}")).unwrap_or_default();
        text += if foreign { ", foreign" } else { "" };
    }
    text += &match idea.last_run {
        Some(run) => format!("; last run {run}"),
        None => format!("; last {}", idea.last_commit),
    };
    for lesson in &idea.lessons {
        text += &format!("\n  lesson: {lesson}");
    }
    text
}

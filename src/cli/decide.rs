//! `lab keep` and `lab discard`: decide the last run.

use super::{Kernel, complain, open, say};
use crate::session::decide::{self, Decided, Refusal};
use crate::session::execute;
use crate::session::held_out::Asked;
use crate::session::message::Message;
use crate::session::process::Control;
use crate::session::project::Project;
use crate::session::repo::short;
use crate::session::run::RunId;
use anyhow::Result;
use clap::Args;
use std::process::ExitCode;
use std::sync::Arc;

#[derive(Args, Debug)]
pub struct Keep {
    #[command(flatten)]
    kernel: Kernel,
    /// What was tried, in one line
    #[arg(short, long, value_name = "TEXT")]
    message: String,
    /// Another run than the last one
    #[arg(long, value_name = "N")]
    run: Option<u64>,
}

#[derive(Args, Debug)]
pub struct Discard {
    #[command(flatten)]
    kernel: Kernel,
    /// What was tried, in one line
    #[arg(short, long, value_name = "TEXT")]
    message: String,
    /// Another run than the last one
    #[arg(long, value_name = "N")]
    run: Option<u64>,
    /// Also where the present bytes are newer than the verdict, or have none; they are saved first
    #[arg(long)]
    unjudged: bool,
}

pub fn keep(options: &Keep) -> Result<ExitCode> {
    let project = open(options.kernel.kernel.as_deref())?;
    let control = Arc::new(Control::new()?);
    super::run::end_on_signals(control.clone())?;
    let mut asked = Asked {
        control: &control,
        program: execute::own_program(),
        tell: &mut |_, batch| super::run::say_batch(&batch),
    };
    let kept = decide::keep(&project, options.run.map(RunId), &Message::from(&*options.message), &mut asked);
    Ok(told(&project, kept))
}

pub fn discard(options: &Discard) -> Result<ExitCode> {
    let project = open(options.kernel.kernel.as_deref())?;
    Ok(told(
        &project,
        decide::discard(
            &project,
            options.run.map(RunId),
            &Message::from(&*options.message),
            options.unjudged,
        ),
    ))
}

fn told(project: &Project, result: std::result::Result<Decided, Refusal>) -> ExitCode {
    match result {
        Ok(decided) => {
            let run = decided.run.map_or_else(|| "unjudged bytes".to_owned(), |id| format!("run {id}"));
            say(&format!(
                "{} {run} of {}: {}",
                decided.status.word(),
                project.kernel_name,
                short(&decided.commit)
            ));
            decided.notes.iter().for_each(|note| say(&format!("  {note}")));
            ExitCode::SUCCESS
        }
        Err(refusal) => {
            complain(&refusal.to_string());
            ExitCode::FAILURE
        }
    }
}

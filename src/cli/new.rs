//! `lab new`: writes a new problem from a template.

use super::{JsonArg, answer, here, say};
use anyhow::Result;
use clap::builder::PossibleValuesParser;
use clap::{Args, builder::TypedValueParser};
use lab_core::project::new_problem::{self, Template};
use lab_protocol::Exit;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct NewArgs {
    /// The problem's name: its folder is kernels/NAME if this folder has a folder kernels, else NAME. Or a path
    #[arg(value_name = "NAME")]
    name: PathBuf,
    /// What it computes at first
    #[arg(long, value_name = "TEMPLATE", default_value = Template::default().name(), value_parser = templates())]
    template: Template,
    #[command(flatten)]
    json: JsonArg,
}

fn templates() -> impl TypedValueParser<Value = Template> {
    PossibleValuesParser::new(Template::ALL.map(Template::name)).map(|name: String| {
        Template::ALL.into_iter().find(|template| template.name() == name).unwrap_or_default()
    })
}

/// What `lab new` prints with `--json`.
#[derive(Serialize)]
struct NewAnswer<'a> {
    name: &'a str,
    template: &'static str,
    /// Relative to the work tree, as the kernel.
    folder: &'a str,
    kernel: &'a str,
    /// In the folder.
    files: &'a [&'static str],
    /// Commands to go on with.
    next: [String; 2],
    notes: &'a [String],
}

pub fn main(options: &NewArgs) -> Result<ExitCode> {
    let made = new_problem::create(&here()?, &options.name, options.template)?;
    let argument = &made.argument;
    let next = [format!("lab run {argument}"), format!("lab {argument}")];
    if options.json.json {
        let template = made.template.name();
        let (name, folder, kernel) = (&made.name, &made.folder, &made.kernel);
        let (files, notes) = (&made.files, &made.notes);
        return Ok(answer(Exit::Passed, NewAnswer { name, template, folder, kernel, files, next, notes }));
    }
    say(&format!("wrote {} ({}): {}", made.folder, made.template, made.files.join(", ")));
    made.notes.iter().for_each(|note| say(&format!("  {note}")));
    say(&format!("next: `{}` judges it once, `{}` opens the screen", next[0], next[1]));
    Ok(ExitCode::SUCCESS)
}

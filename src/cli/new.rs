//! `lab new`: writes a new problem from a template.

use super::{JsonArg, here, say, say_below, told};
use anyhow::Result;
use clap::builder::PossibleValuesParser;
use clap::{Args, builder::TypedValueParser};
use lab_project::new_problem::{self, NewProblem, Template};
use lab_project::{Project, trust};
use lab_protocol::Language;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct NewArgs {
    /// The problem's name: its folder is kernels/NAME if this folder has a folder kernels, else
    /// NAME. Or a path
    #[arg(value_name = "NAME")]
    name: PathBuf,
    /// What it computes at first
    #[arg(long, value_name = "TEMPLATE", default_value = Template::default().name(), value_parser = templates())]
    template: Template,
    #[command(flatten)]
    json: JsonArg,
}

fn templates() -> impl TypedValueParser<Value = Template> {
    PossibleValuesParser::new(Template::NAMES).map(|name: String| name.parse().unwrap_or_default())
}

/// What `lab new` prints with `--json`.
#[derive(JsonSchema, Serialize)]
pub struct NewAnswer<'a> {
    #[serde(flatten)]
    made: &'a NewProblem,
    /// Commands to go on with, for the folder that `lab new` ran in.
    next: Vec<String>,
}

pub fn main(options: &NewArgs) -> Result<ExitCode> {
    let from = here()?;
    let made = new_problem::create(&from, &options.name, options.template)?;
    let argument = &made.argument;
    // Python runs in a trusted folder only.
    let trust = needs_trust(&from, &made).then(|| "lab trust".to_owned());
    let judge = format!("lab run {argument}");
    let next: Vec<String> = trust
        .iter()
        .chain([&judge, &format!("lab {argument}")])
        .cloned()
        .collect();
    Ok(told(NewAnswer { made: &made, next }, || {
        say(&format!(
            "wrote {} ({}): {}",
            made.folder,
            options.template.name(),
            made.files.join(", ")
        ));
        say_below(&made.notes);
        let first = if trust.is_some() {
            "`lab trust` lets its Python run with your rights, "
        } else {
            ""
        };
        say(&format!(
            "next: {first}`{judge}` judges it once, `lab {argument}` opens the screen"
        ));
    }))
}

/// Whether the new kernel runs only once the user trusts its folder.
fn needs_trust(from: &Path, made: &NewProblem) -> bool {
    let open = || {
        let root = lab_project::work_tree(from)?;
        Project::open(from, Some(&root.join(&made.kernel)))
    };
    Language::of(&made.kernel) == Language::Python
        && !open().is_ok_and(|project| trust::is_granted(&project))
}

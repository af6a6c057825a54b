//! `lab trust`: allows the harness command of this lab.toml to run, Python kernels, and kernels
//! where Linux cannot confine them.

use super::{JsonArg, answer, ask, here, is_json, say};
use anyhow::{Result, bail};
use clap::Args;
use lab_project::Project;
use lab_project::trust::{self, PythonRequest, TrustRequest};
use lab_protocol::Exit;
use lab_protocol::console::say_each;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct TrustArgs {
    /// Trust without a question; without a terminal none is asked
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    json: JsonArg,
}

/// What `lab trust` prints with `--json`: all that is trusted now.
#[derive(JsonSchema, Serialize)]
pub struct TrustAnswer<'a> {
    /// Path of the lab.toml, or of the repository without one.
    place: Cow<'a, str>,
    /// The command that may run now.
    harness: Option<&'a str>,
    /// The Python that may run now for the kernels of this place; null where none would.
    python: Option<PythonAnswer<'a>>,
    /// The Python files of the peers, relative to the work tree, which a measurement runs.
    peers: Vec<&'a String>,
    /// Paths outside the repository's sources that the compiler may read.
    outside: Vec<Cow<'a, str>>,
    /// All that is trusted, in words.
    text: &'a str,
}

/// Python that may run now.
#[derive(JsonSchema, Serialize)]
struct PythonAnswer<'a> {
    /// The kernel or its reference, relative to the work tree.
    source: &'a str,
    /// The kernels and references in Python of the other kernels that the trust is about.
    others: &'a [String],
    /// Path or name of the interpreter.
    interpreter: Cow<'a, str>,
    /// The interpreter is in the work tree.
    is_inside: bool,
}

/// Works without a kernel: trust belongs to lab.toml, or to the repository where there is none.
/// Prints all that is trusted before it is, and asks on a terminal.
pub fn main(options: &TrustArgs) -> Result<ExitCode> {
    let project = Project::of_any(&here()?)?;
    let request = TrustRequest::of_folder(&project);
    let text = request.text();
    if is_json() {
        trust::grant(&request)?;
        let place = request.place.to_string_lossy();
        let outside = request
            .outside
            .iter()
            .map(|path| path.to_string_lossy())
            .collect();
        let harness = request.command.as_deref();
        let python = request.python.as_ref().map(|python| PythonAnswer {
            source: &python.source,
            others: &python.others,
            interpreter: python.interpreter.program.to_string_lossy(),
            is_inside: python.interpreter.is_inside,
        });
        let peers = request
            .peers
            .iter()
            .flat_map(PythonRequest::sources)
            .collect();
        return Ok(answer(
            Exit::Passed,
            TrustAnswer {
                place,
                harness,
                python,
                peers,
                outside,
                text: &text,
            },
        ));
    }
    say_each(text.lines().map(str::to_owned));
    if !options.yes && ask::can_ask() && !ask::yes("Trust it?")? {
        bail!("nothing was trusted");
    }
    trust::grant(&request)?;
    let place = request.place.display();
    say(&match (&request.command, &project.config_file) {
        (Some(command), _) if !command.contains('\n') => {
            format!("trusted: `{command}` of {place} runs until that file changes")
        }
        (Some(_), _) => format!("trusted: this command of {place} runs until that file changes"),
        (None, Some(_)) if request.python.is_some() => {
            format!(
                "trusted: Python of {place} may run, and its other kernels without a sandbox, until that file changes"
            )
        }
        (None, None) if request.python.is_some() => {
            format!(
                "trusted: Python of {place} may run, and its other kernels without a sandbox, until a lab.toml is there"
            )
        }
        (None, Some(_)) => format!(
            "trusted: kernels of {place} may run without a sandbox, and the compiler may read what it names, until that file changes"
        ),
        (None, None) => {
            format!(
                "trusted: kernels of {place} may run without a sandbox, until a lab.toml is there"
            )
        }
    });
    Ok(ExitCode::SUCCESS)
}

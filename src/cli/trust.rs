//! `lab trust`: allows the harness command of this lab.toml to run, Python kernels, and kernels
//! where Linux cannot confine them.

use super::{JsonArg, any, ask, is_json, say, told};
use anyhow::{Result, bail};
use clap::Args;
use lab_project::Project;
use lab_project::trust::{self, PythonRequest, TrustRequest};
use lab_protocol::console::say_each;
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct TrustArgs {
    /// Trust without a question; a script, and `--json`, must say so
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
    /// The further kernels and references in Python that the trust is about.
    others: &'a [String],
    /// Path or name of the interpreter.
    interpreter: Cow<'a, str>,
    /// The interpreter is in the work tree.
    is_inside: bool,
}

/// Works without a kernel: trust belongs to lab.toml, or to the repository where there is none.
/// Prints all that is trusted before it is, and asks on a terminal. Where nobody can be asked, only
/// `--yes` trusts.
pub fn main(options: &TrustArgs) -> Result<ExitCode> {
    let project = any()?;
    let request = TrustRequest::of_folder(&project);
    let text = request.text();
    if !is_json() {
        say_each(text.lines().map(str::to_owned));
    }
    let agrees = match (options.yes, ask::can_ask()) {
        (true, _) => true,
        (false, true) => ask::yes("Trust it?")?,
        (false, false) => bail!(
            "nothing was trusted: nobody can be asked here. Read what would be, then `lab trust --yes`"
        ),
    };
    if !agrees {
        bail!("nothing was trusted");
    }
    trust::grant(&request)?;
    let python = request.python.as_ref().map(|python| PythonAnswer {
        source: &python.source,
        others: &python.others,
        interpreter: python.interpreter.program.to_string_lossy(),
        is_inside: python.interpreter.is_inside,
    });
    let peers = request.peers.iter().flat_map(PythonRequest::sources);
    let outside = request.outside.iter().map(|path| path.to_string_lossy());
    let answer = TrustAnswer {
        place: request.place.to_string_lossy(),
        harness: request.command.as_deref(),
        python,
        peers: peers.collect(),
        outside: outside.collect(),
        text: &text,
    };
    Ok(told(answer, || tell(&request, &project)))
}

/// Says what is trusted now, and until when.
fn tell(request: &TrustRequest, project: &Project) {
    let place = request.place.display();
    let until = match project.config_file {
        Some(_) => "until that file changes",
        None => "until a lab.toml is there",
    };
    say(&match &request.command {
        Some(command) if !command.contains('\n') => {
            format!("trusted: `{command}` of {place} runs {until}")
        }
        Some(_) => format!("trusted: this command of {place} runs {until}"),
        None if request.python.is_some() => format!(
            "trusted: Python of {place} may run, and its other kernels without a sandbox, {until}"
        ),
        None => {
            let compiler = match project.config_file {
                Some(_) => ", and the compiler may read what it names",
                None => "",
            };
            format!("trusted: kernels of {place} may run without a sandbox{compiler}, {until}")
        }
    });
}

//! `lab trust`: allows the harness command of this lab.toml to run, and kernels where Linux cannot confine them.

use super::{here, say};
use anyhow::Result;
use lab_core::project::Project;
use lab_core::project::trust::{self, TrustRequest};
use lab_protocol::console::say_each;
use std::process::ExitCode;

/// Works without a kernel: trust belongs to lab.toml, or to the repository where there is none. Prints all that is trusted before it
/// is.
pub fn main() -> Result<ExitCode> {
    let project = Project::of_any(&here()?)?;
    let request = TrustRequest::of(&project, None);
    say_each(request.text().lines().map(str::to_owned));
    trust::grant(&request)?;
    let place = request.place.display();
    say(&match (&request.command, &project.config_file) {
        (Some(command), _) if !command.contains('\n') => {
            format!("trusted: `{command}` of {place} runs until that file changes")
        }
        (Some(_), _) => format!("trusted: this command of {place} runs until that file changes"),
        (None, Some(_)) => format!(
            "trusted: kernels of {place} may run without a sandbox, and the compiler may read what it names, until that file changes"
        ),
        (None, None) => {
            format!("trusted: kernels of {place} may run without a sandbox, until a lab.toml is there")
        }
    });
    Ok(ExitCode::SUCCESS)
}

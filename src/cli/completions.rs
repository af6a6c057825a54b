//! `lab completions`: prints a completion script for a shell, made from the same definition as
//! `--help`.

use clap::{Args, Command};
use clap_complete::{Shell, generate};
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// bash, elvish, fish, powershell or zsh
    shell: Shell,
}

pub fn main(options: &CompletionsArgs, mut command: Command) -> ExitCode {
    let mut script = Vec::new();
    generate(options.shell, &mut command, "lab", &mut script);
    super::output::say_lines(String::from_utf8_lossy(&script).trim_end());
    ExitCode::SUCCESS
}

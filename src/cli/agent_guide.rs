//! `lab agent-guide`: prints the contract between `lab auto` and the command that edits the kernel.

use super::say;
use std::process::ExitCode;

const GUIDE: &str = include_str!("../../docs/agent-guide.md");

pub fn main() -> ExitCode {
    GUIDE.lines().for_each(say);
    ExitCode::SUCCESS
}

//! `lab help`: prints the help of a command or a page of the manual. The pages are part of the
//! program, so every page that a message names can be read without a network.

use super::output;
use anyhow::{Context, Result};
use clap::{Args, Command};
use itertools::Itertools;
use lab_protocol::Exit;
use lab_text::suggest::did_you_mean;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args, Debug)]
pub struct HelpArgs {
    /// A command, such as `auto status`, or a page of the manual, such as `verdicts`
    #[arg(value_name = "COMMAND_OR_PAGE")]
    topic: Vec<String>,
}

#[derive(Args, Debug)]
pub struct ManPagesArgs {
    /// The folder for lab.1, lab-run.1 and so on
    folder: PathBuf,
}

/// The contract between `lab auto` and the command that edits the kernel.
pub const AGENT_GUIDE: &str = include_str!("../../docs/agent-guide.md");

/// The pages of these names in docs, with their texts.
macro_rules! pages {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../../docs/", $name, ".md")))),*]
    };
}

/// The pages of the manual in docs: their names and their texts.
const DOCS: [(&str, &str); 33] = pages![
    "agent-guide"
    "agents"
    "auto"
    "bench"
    "check"
    "commands"
    "configuration"
    "cpu-device"
    "deciding"
    "decisions"
    "dependencies"
    "export"
    "files"
    "first-session"
    "formats"
    "glossary"
    "json"
    "launches"
    "memory"
    "peers"
    "problems"
    "profile"
    "published-kernels"
    "python"
    "report"
    "results"
    "run-log"
    "sandbox"
    "screen"
    "sweep"
    "troubleshooting"
    "verdicts"
    "your-own-harness"
];

/// The pages of the manual: their names and their texts.
pub fn pages() -> impl Iterator<Item = (&'static str, &'static str)> {
    let others = [
        ("keys", include_str!("../../KEYS.md")),
        ("kernels", include_str!("../../kernels/README.md")),
        ("security", include_str!("../../SECURITY.md")),
    ];
    DOCS.into_iter().chain(others)
}

/// What `lab --help`, the man page and docs/commands.md say of the kernel and the exit codes.
pub const KERNEL_AND_EXIT_CODES: &str = "\
WHICH KERNEL A COMMAND MEANS
  A kernel file or its folder, for example kernels/rmsnorm. Without it, lab uses:
  1. kernel.cu or kernel.py in the current folder, if the folder has one of them or a
     problem.toml, and no lab.toml;
  2. otherwise the kernel that lab.toml names;
  3. otherwise kernel.cu or kernel.py in the current folder or beside lab.toml, or the only .cu
     file in the current folder.
  Where a folder holds both kernel.cu and kernel.py, name the file.

EXIT CODES
  of lab run, bench, sweep, check, profile and harness:
    0   passed and measured; check: nothing found; profile: a profile was written
    1   the kernel ran, and correctness failed; check: something was found
    2   the kernel could not be built, or could not be read
    3   the kernel or harness crashed, hung or was killed; or nothing was measured
    10, 11, 12   with --decide: kept, discarded, left to you
    64  wrong usage; or not judged: the problem, the reference, the driver or the machine failed
  of all other commands: 0 done, 1 refused or failed, 64 wrong usage.
  The screen: 64 with an invalid config.toml, 128 + N if signal N ended it. lab probe: 3 without
  figures.";

/// Prints the help of the command or the page that the words name; without words, the commands and
/// the names of the pages.
pub fn main(options: &HelpArgs, mut lab: Command) -> ExitCode {
    let Some(first) = options.topic.first() else {
        output::say_lines(lab.render_help().to_string().trim_end());
        output::say("");
        output::say("Pages of the manual, for `lab help PAGE`:");
        let names = pages().map(|(name, _)| name).join(", ");
        output::say_lines(&format!("  {names}"));
        return ExitCode::SUCCESS;
    };
    lab.build();
    let named = options
        .topic
        .iter()
        .try_fold(&mut lab, |command, word| command.find_subcommand_mut(word));
    if let Some(command) = named {
        output::say_lines(command.render_long_help().to_string().trim_end());
        return ExitCode::SUCCESS;
    }
    let page = first.trim_start_matches("docs/").trim_end_matches(".md");
    if let Some((_, text)) = pages().find(|(name, _)| name.eq_ignore_ascii_case(page)) {
        output::say_lines(text.trim_end());
        return ExitCode::SUCCESS;
    }
    let known = pages().map(|(name, _)| name);
    let near = did_you_mean(page, known);
    output::failed(
        &format!(
            "'{}' is neither a command nor a page of the manual{near}; `lab help` lists both",
            options.topic.join(" ")
        ),
        Exit::Usage,
    )
}

/// Writes a man page for `lab` and for each command that `--help` lists.
pub fn man_pages(options: &ManPagesArgs, lab: Command) -> Result<ExitCode> {
    let folder = &options.folder;
    let written = fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(lab, folder));
    written.with_context(|| format!("cannot write man pages to {}", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}

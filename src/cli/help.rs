//! `lab help`: prints the help of a command or a page of the manual. The pages are part of the
//! program, so every page that a message names can be read without a network.

use super::output;
use anyhow::Result;
use clap::{Args, Command};
use itertools::Itertools;
use lab_protocol::Exit;
use lab_system::failure::Failure;
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

/// The pages of the manual: their names and their texts.
pub const PAGES: &[(&str, &str)] = &[
    ("agent-guide", AGENT_GUIDE),
    ("agents", include_str!("../../docs/agents.md")),
    ("auto", include_str!("../../docs/auto.md")),
    ("bench", include_str!("../../docs/bench.md")),
    ("check", include_str!("../../docs/check.md")),
    ("commands", include_str!("../../docs/commands.md")),
    ("configuration", include_str!("../../docs/configuration.md")),
    ("cpu-device", include_str!("../../docs/cpu-device.md")),
    ("deciding", include_str!("../../docs/deciding.md")),
    ("decisions", include_str!("../../docs/decisions.md")),
    ("dependencies", include_str!("../../docs/dependencies.md")),
    ("export", include_str!("../../docs/export.md")),
    ("files", include_str!("../../docs/files.md")),
    ("first-session", include_str!("../../docs/first-session.md")),
    ("formats", include_str!("../../docs/formats.md")),
    ("glossary", include_str!("../../docs/glossary.md")),
    ("json", include_str!("../../docs/json.md")),
    ("launches", include_str!("../../docs/launches.md")),
    ("memory", include_str!("../../docs/memory.md")),
    ("peers", include_str!("../../docs/peers.md")),
    ("problems", include_str!("../../docs/problems.md")),
    ("profile", include_str!("../../docs/profile.md")),
    (
        "published-kernels",
        include_str!("../../docs/published-kernels.md"),
    ),
    ("python", include_str!("../../docs/python.md")),
    ("report", include_str!("../../docs/report.md")),
    ("results", include_str!("../../docs/results.md")),
    ("run-log", include_str!("../../docs/run-log.md")),
    ("sandbox", include_str!("../../docs/sandbox.md")),
    ("screen", include_str!("../../docs/screen.md")),
    ("sweep", include_str!("../../docs/sweep.md")),
    (
        "troubleshooting",
        include_str!("../../docs/troubleshooting.md"),
    ),
    ("verdicts", include_str!("../../docs/verdicts.md")),
    (
        "your-own-harness",
        include_str!("../../docs/your-own-harness.md"),
    ),
    ("keys", include_str!("../../KEYS.md")),
    ("kernels", include_str!("../../kernels/README.md")),
    ("security", include_str!("../../SECURITY.md")),
];

/// What `lab --help`, the man page and docs/commands.md say of the kernel and the exit codes.
pub const KERNEL_AND_EXIT_CODES: &str = "\
WHICH KERNEL A COMMAND MEANS
  A kernel file or its folder, for example kernels/rmsnorm. Without it, lab uses:
  1. kernel.cu or kernel.py in the current folder, if the folder has one of them or a
     problem.toml, and no lab.toml;
  2. otherwise the kernel that lab.toml names;
  3. otherwise kernel.cu or kernel.py in the current folder or beside lab.toml, or the only .cu
     file in the current folder;
  4. otherwise the only kernel of the repository. The first line says which.
  Where a folder holds both kernel.cu and kernel.py, name the file.

EXIT CODES
  of lab run, bench, sweep, check, profile and harness:
    0   passed and measured; check: nothing found; profile: a profile was written
    1   the kernel ran, and correctness failed; check: something was found
    2   the kernel could not be built, or could not be read
    3   the kernel or harness crashed, hung or was killed; or nothing was measured
    10, 11, 12   with --decide: kept, discarded, left to you
    64  wrong usage; or not judged: the problem, the reference, the driver or the machine failed
  of all other commands: 0 done, 1 refused or failed, 64 wrong usage. lab auto: 4 after too many
  failures in a row, 128 + N if signal N ended it.
  of each command: 64 if stdout could not be written, as on a full disk; stderr says so.
  The screen: 64 with an invalid config.toml, 128 + N if signal N ended it. lab probe: 3 without
  figures.";

/// Prints the help of the command and the page that the words name, of which there may be both;
/// without words, the commands and the names of the pages.
pub fn main(options: &HelpArgs, mut lab: Command) -> ExitCode {
    let Some(first) = options.topic.first() else {
        output::say_text(lab.render_help().to_string().trim_end());
        output::say("");
        output::say("Pages of the manual, for `lab help PAGE`:");
        let names = PAGES.iter().map(|(name, _)| name).join(", ");
        output::say_text(&format!("  {names}"));
        return ExitCode::SUCCESS;
    };
    lab.build();
    let named = options
        .topic
        .iter()
        .try_fold(&mut lab, |command, word| command.find_subcommand_mut(word));
    let command = named.map(|command| command.render_long_help().to_string());
    let page = first.trim_start_matches("docs/").trim_end_matches(".md");
    let is_named = |name: &str| options.topic.len() == 1 && name.eq_ignore_ascii_case(page);
    let text = PAGES.iter().find(|(name, _)| is_named(name));
    let both = command.as_deref().into_iter();
    let both = both.chain(text.map(|(_, text)| *text)).map(str::trim_end);
    let both = both.collect_vec().join("\n\n");
    if !both.is_empty() {
        output::say_text(&both);
        return ExitCode::SUCCESS;
    }
    let known = PAGES.iter().map(|(name, _)| *name);
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
    written.cannot("write man pages to", folder)?;
    Ok(ExitCode::SUCCESS)
}

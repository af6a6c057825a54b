//! The command line: one module per subcommand.

mod check;
mod decide;
mod describe;
mod doctor;
mod harness;
mod init;
mod log;
mod measure;
mod probe;
mod restore;
mod run;
pub mod screen;
mod theme;
mod trust;
mod undo;

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};
use lab_core::project::Project;
use lab_protocol::Exit;
use lab_tui::theme::AppearanceChoice;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A workbench for CUDA kernel experiments: save the kernel, get a verdict, keep or discard.
///
/// Without a subcommand the screen opens.
#[derive(Parser, Debug)]
#[command(name = "lab", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    kernel: Kernel,
    #[command(flatten)]
    looks: Looks,
}

#[derive(Args, Clone, Debug)]
struct Looks {
    /// Colour scheme of the screen: a name, or the path of a base16 file
    #[arg(long, value_name = "NAME_OR_PATH")]
    theme: Option<String>,
    /// Colours that the terminal shows: auto, none, 16, 256 or truecolor
    #[arg(long, value_name = "DEPTH")]
    color: Option<String>,
    /// Paint the scheme's background over the terminal's own
    #[arg(long)]
    paint: bool,
}

impl From<Looks> for AppearanceChoice {
    fn from(looks: Looks) -> Self {
        AppearanceChoice { theme: looks.theme, color: looks.color, paint: looks.paint.then_some(true) }
    }
}

#[derive(Args, Clone, Debug)]
struct Kernel {
    /// The kernel, or its folder; without one that of this folder, else of lab.toml
    #[arg(value_name = "KERNEL_OR_FOLDER")]
    kernel: Option<PathBuf>,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Write a lab.toml for the kernel and the harness that are here
    Init(init::Options),
    /// Judge the present bytes once
    Run(run::Options),
    /// Look for wild accesses and races in the present bytes; judges nothing
    Check(check::Options),
    /// Judge the present bytes with the full discipline: warm-up, iterations, trials as in lab.toml
    Measure(run::Options),
    /// Commit the bytes of the last run, and write their row
    Keep(decide::Keep),
    /// Put the incumbent back on disk; the attempt is kept under refs/lab
    Discard(decide::Discard),
    /// Take the last keep or discard back, as long as nothing was built on it
    Undo(undo::Options),
    /// Give an experiment another description: its record, its note and its row
    Describe(describe::Options),
    /// List the experiments
    Log(log::Options),
    /// Put the kernel of an experiment or a commit on disk
    Restore(restore::Options),
    /// Look at git, compiler, driver, terminal and watching, with the remedy for what is missing
    Doctor,
    /// Measure what the device can do: the floor and the estimate of a kernel's time follow from it
    Probe(probe::Options),
    /// Let the harness command of this lab.toml run
    Trust,
    /// List the colour schemes, or show one in this terminal
    Theme(theme::Options),
    /// Judge one problem folder and print the run.log lines
    Harness(Box<harness::Options>),
    #[command(hide = true)]
    HarnessCompiler,
    #[command(hide = true)]
    HarnessWorker,
    #[command(hide = true)]
    Supervise(run::Supervise),
}

pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return if error.use_stderr() { code(Exit::Usage) } else { ExitCode::SUCCESS };
        }
    };
    let outcome = match cli.command {
        None => here().and_then(|from| screen::screen(&from, cli.kernel.kernel.as_deref(), cli.looks.into())),
        // These say their errors themselves: their exit codes are the protocol's.
        Some(Command::Run(options)) => return run::main(&options),
        Some(Command::Check(options)) => return check::main(&options),
        Some(Command::Measure(options)) => return measure::main(&options),
        Some(Command::Supervise(options)) => return run::supervise(&options),
        Some(Command::Probe(options)) => return probe::main(&options),
        Some(Command::Harness(options)) => return harness::main(*options),
        Some(Command::HarnessCompiler) => return harness::compiler(),
        Some(Command::HarnessWorker) => return harness::worker(),
        Some(Command::Init(options)) => init::main(&options),
        Some(Command::Keep(options)) => decide::keep(&options),
        Some(Command::Discard(options)) => decide::discard(&options),
        Some(Command::Undo(options)) => undo::main(&options),
        Some(Command::Describe(options)) => describe::main(&options),
        Some(Command::Log(options)) => log::main(&options),
        Some(Command::Restore(options)) => restore::main(&options),
        Some(Command::Doctor) => doctor::main(),
        Some(Command::Trust) => trust::main(),
        Some(Command::Theme(options)) => theme::main(&options),
    };
    outcome.unwrap_or_else(|error| {
        complain(&format!("{error:#}"));
        ExitCode::FAILURE
    })
}

fn code(exit: Exit) -> ExitCode {
    ExitCode::from(exit as u8)
}

fn here() -> Result<PathBuf> {
    std::env::current_dir().context("the current folder is gone: `cd` into one that is there")
}

fn open(kernel: Option<&Path>) -> Result<Project> {
    Project::open(&here()?, kernel)
}

/// One line on stdout. Nobody may be reading any more (`lab log | head`): that is no error.
fn say(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}

fn complain(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "lab: {text}");
}

/// The answer of a `--json` command: this, and nothing else, on stdout.
fn say_json(value: &serde_json::Value) {
    say(&format!("{value:#}"));
}

//! The command line: one module for each subcommand.

mod ask;
mod auto;
mod auto_status;
mod bench;
mod check;
mod clean;
mod completions;
mod decide;
mod decisions;
mod describe;
mod diagnostics;
mod diff;
mod doctor;
mod export;
mod fetch;
mod harness;
pub mod help;
mod init;
mod interrupt;
mod json;
mod lessons;
mod live;
mod log;
mod ls;
mod mcp;
mod measured;
mod new;
mod output;
mod peer_lines;
mod peers;
mod probe;
mod problem_file;
mod profile;
mod report;
mod restore;
mod rules;
mod run;
mod run_ncu;
pub mod screen;
mod show;
mod shown;
mod sweep;
mod table;
mod theme;
mod trust;
mod unchecked;
mod undo;
mod verdict;

use anyhow::{Context, Result, ensure};
use clap::{Args, CommandFactory, Parser, Subcommand};
use itertools::Itertools;
use lab_history::Session;
use lab_project::{Project, kernels};
use lab_protocol::{Exit, console};
use lab_runner::execute::NotRun;
use lab_text::shell;
use lab_tui::theme::AppearanceChoice;
use output::{answer, code, complain, failed, is_json, refused, say, say_below, told, told_with};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// The version, with the commit and its date in a release build.
const VERSION: &str = env!("LAB_VERSION");

/// A workbench for kernel experiments in CUDA C++ and Python: save the kernel, get a verdict, keep
/// or discard.
///
/// Without a subcommand the screen opens.
#[derive(Parser, Debug)]
#[command(
    name = "lab",
    version = VERSION,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_long_help = help::KERNEL_AND_EXIT_CODES
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    kernel: KernelArg,
    #[command(flatten)]
    appearance: AppearanceArgs,
}

#[derive(Args, Clone, Debug)]
struct AppearanceArgs {
    /// Colour scheme of the screen: a name, or the path of a base16 file
    #[arg(long, value_name = "NAME_OR_PATH")]
    theme: Option<String>,
    /// Colours of the terminal: auto, none, 16, 256 or truecolor
    #[arg(long, value_name = "DEPTH")]
    color: Option<String>,
    /// Paint the scheme's background over the terminal's own
    #[arg(long)]
    paint: bool,
}

impl From<AppearanceArgs> for AppearanceChoice {
    fn from(appearance: AppearanceArgs) -> Self {
        AppearanceChoice {
            theme: appearance.theme,
            color: appearance.color,
            paint: appearance.paint.then_some(true),
        }
    }
}

#[derive(Args, Clone, Debug)]
struct KernelArg {
    /// The kernel or its folder [default: the kernel of this folder, else the one in lab.toml]
    #[arg(value_name = "KERNEL_OR_FOLDER")]
    kernel: Option<PathBuf>,
}

impl KernelArg {
    fn open(&self) -> Result<Project> {
        open(self.kernel.as_deref())
    }
}

#[derive(Args, Clone, Debug)]
struct JsonArg {
    // `output::is_json` reads it, before clap does.
    /// Print JSON, and nothing else, on stdout (`lab help json`)
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Write a problem for a published .cu file, or a lab.toml for the kernel and the harness in this
    /// folder, and say what is missing
    Init(init::InitArgs),
    /// Write a new problem from a template: problem.toml, a reference, a kernel and README.md
    New(new::NewArgs),
    /// Judge the present bytes of the kernel once
    Run(run::RunOnceArgs),
    /// Find invalid memory accesses and races in the present bytes; gives no verdict
    Check(check::CheckArgs),
    /// Profile one launch of the present bytes under Nsight Compute; gives no verdict
    Profile(profile::ProfileArgs),
    /// Let a command edit the kernel again and again; judge, keep or discard each edit by rule
    Auto(auto::AutoArgs),
    /// Print the contract between `lab auto` and the command that edits the kernel
    AgentGuide,
    /// Measure all workloads in several independent runs by a fixed discipline, or once, for a
    /// verdict (--verdict)
    Bench(bench::BenchArgs),
    /// Build, verify and measure the kernel with other values of the constants that its tune lines
    /// name
    Sweep(sweep::SweepArgs),
    /// List the problem's peers with their last figures; `lab peers new` adds the first
    Peers(peers::PeersArgs),
    /// Keep the last run: commit the bytes it judged and write its row
    Keep(decide::KeepArgs),
    /// Discard the last run: put the incumbent back on disk; the attempt stays under refs/lab
    Discard(decide::DiscardArgs),
    /// Undo the last keep or discard, if no later commit is built on it
    Undo(undo::UndoArgs),
    /// Show how the rules of the problem differ from those in HEAD, or commit the change on its own
    /// (-m)
    Rules(rules::RulesArgs),
    /// Change the description of an experiment in its record, note and row
    Describe(describe::DescribeArgs),
    /// Tell by idea what the experiments brought and taught
    Lessons(lessons::LessonsArgs),
    /// Show the verdict of an earlier run
    Show(show::ShowArgs),
    /// Compare two experiments: their kernels, gates, workloads and profiles
    Diff(diff::DiffArgs),
    /// List the experiments
    Log(log::LogArgs),
    /// List the kernels of the repository: the figure of each incumbent, its ratio to each peer, its
    /// percent of the floor
    Ls(ls::LsArgs),
    /// Show the board: each claim with its figures, its status by rule, its evidence and what is to be
    /// measured next
    Decisions(decisions::DecisionsArgs),
    /// Write a report of the experiments as one HTML file, or as a comment for a pull request
    /// (--markdown)
    Report(report::ReportArgs),
    /// Write the chart of a kernel's experiments as SVG
    Plot(report::PlotArgs),
    /// Fetch the commits and records of other clones' experiments from a bundle, a remote or a
    /// repository
    Fetch(fetch::FetchArgs),
    /// Write the kept kernel as a Python file for PyTorch, or as one .cu with a main; each verifies
    /// and times it
    Export(export::ExportArgs),
    /// Pack git's loose objects and the refs of the lab, which take many times the space together, and
    /// remove the whole wrong outputs of failed runs; removes no object and no ref
    Clean(JsonArg),
    /// Put the kernel of an experiment or a commit on disk
    Restore(restore::RestoreArgs),
    /// Check git, compiler, driver, Python, terminal and file watching, and say how to mend what is
    /// missing
    Doctor(doctor::DoctorArgs),
    /// Measure the device: memory, L2, arithmetic, launch and exchange times
    Probe(probe::ProbeArgs),
    /// Allow what runs with your rights here: Python, the harness of lab.toml, and kernels where
    /// Linux cannot confine them
    Trust(trust::TrustArgs),
    /// List the colour schemes, or show one in this terminal
    Theme(theme::ThemeArgs),
    /// Serve an MCP client over stdin and stdout, so that a coding agent can judge and decide
    /// (`lab help agents`)
    Mcp(mcp::McpArgs),
    /// Print the help of a command, or a page of the manual
    Help(help::HelpArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
    /// Write the man pages into a folder
    ManPages(help::ManPagesArgs),
    /// Judge one problem folder with the built-in harness and print the run.log lines
    Harness(Box<harness::HarnessArgs>),
    #[command(hide = true)]
    HarnessCompiler,
    #[command(hide = true)]
    HarnessWorker,
    #[command(hide = true)]
    Supervise(run::SuperviseArgs),
    /// A word that others have for it
    #[command(hide = true, disable_help_flag = true)]
    Import {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        options: Vec<String>,
    },
    /// The word of earlier versions
    #[command(hide = true, disable_help_flag = true)]
    Measure {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
        options: Vec<String>,
    },
}

/// The command line with all its commands and options, from which help, man pages, completions and
/// docs/commands.md are made.
pub fn definition() -> clap::Command {
    Cli::command()
}

/// Says that a command did nothing, because the stack of this process is too small for [`main`].
pub fn without_stack(why: &str) -> ExitCode {
    complain(why);
    code(Exit::Usage)
}

// Its frame must not become part of its caller's, which looks at the stack first.
#[inline(never)]
pub fn main() -> ExitCode {
    output::remember_request(definition);
    output::install_panic_hook();
    if let Some(why) = mistyped() {
        return unknown(&why);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            output::say_of_clap(&error);
            return if error.use_stderr() {
                code(Exit::Usage)
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    // A write beyond the limit of this process for files (`ulimit -f`) is an error, which is told: the signal would end the lab
    // without a word. What it starts has the signal's default effect again.
    let confines_itself = matches!(
        cli.command,
        Some(Command::HarnessCompiler | Command::HarnessWorker)
    );
    if !confines_itself {
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
    }
    // An undo is not among them: nothing may follow the message that it is done. A `lab` that is
    // killed in between would be repeated, and undo a second decision.
    let judges = matches!(
        cli.command,
        None | Some(
            Command::Run(_)
                | Command::Check(_)
                | Command::Profile(_)
                | Command::Bench(_)
                | Command::Sweep(_)
                | Command::Auto(_)
                | Command::Keep(_)
                | Command::Probe(_)
                | Command::Harness(_)
                | Command::Mcp(_)
        )
    );
    name_process(cli.command.as_ref());
    let ended = command(cli);
    if judges {
        // A judge that was ended in the middle of a build leaves the files of its compiler behind.
        lab_judge::judge::remove_unused();
    }
    let Some(why) = console::lost() else {
        return ended;
    };
    complain(&format!(
        "stdout was not written to its end: {why}. What the command did is done"
    ));
    code(Exit::Usage)
}

/// Names a helper for `ps` and `top`: it is started by /proc/self/exe, and would be called `exe`.
fn name_process(command: Option<&Command>) {
    let name = match command {
        Some(Command::Harness(_)) => "lab judge",
        Some(Command::HarnessCompiler) => "lab compiler",
        Some(Command::HarnessWorker) => "lab worker",
        Some(Command::Supervise(_)) => "lab supervise",
        _ => return,
    };
    // Without it the process does the same.
    let _ = std::fs::write("/proc/self/comm", name);
}

fn command(cli: Cli) -> ExitCode {
    let Some(command) = cli.command else {
        let kernel = cli.kernel.kernel.as_deref();
        return ended(here().and_then(|from| screen::screen(&from, kernel, cli.appearance.into())));
    };
    let outcome = match command {
        // These report errors themselves, with the exit codes of the protocol.
        Command::Run(options) if options.ncu => of_judging(run_ncu::main(&options.run)),
        Command::Run(options) => of_judging(run::main(&options)),
        Command::Check(options) => of_judging(check::main(&options)),
        Command::Profile(options) => of_judging(profile::main(&options)),
        Command::Bench(options) => of_judging(bench::main(&options)),
        Command::Sweep(options) => of_judging(sweep::main(&options)),
        Command::Measure { options } => {
            let now = with_words("lab bench --verdict", &options);
            return unknown(&format!("`lab measure` is gone: `{now}` does the same"));
        }
        Command::Import { options } => {
            let now = with_words("lab init", &options);
            return unknown(&format!(
                "there is no `lab import`: `{now}` writes a problem for what somebody published"
            ));
        }
        Command::Supervise(options) => return run::supervise(&options),
        Command::Probe(options) => return probe::main(&options),
        Command::Harness(options) => return harness::main(*options),
        Command::HarnessCompiler => return lab_judge::compiler::main(),
        Command::HarnessWorker => return lab_judge::worker::main(),
        Command::AgentGuide => {
            output::say_text(help::AGENT_GUIDE.trim_end());
            return ExitCode::SUCCESS;
        }
        Command::Auto(options) => auto::main(&options),
        Command::Init(options) => init::main(&options),
        Command::New(options) => new::main(&options),
        Command::Keep(options) => decide::keep(&options),
        Command::Discard(options) => decide::discard(&options),
        Command::Undo(options) => undo::main(&options),
        Command::Peers(options) => peers::main(&options),
        Command::Rules(options) => rules::main(&options),
        Command::Describe(options) => describe::main(&options),
        Command::Lessons(options) => lessons::main(&options),
        Command::Show(options) => show::main(&options),
        Command::Diff(options) => diff::main(&options),
        Command::Log(options) => log::main(&options),
        Command::Ls(options) => ls::main(&options),
        Command::Decisions(options) => decisions::main(&options),
        Command::Report(options) => report::main(&options),
        Command::Plot(options) => report::plot(&options),
        Command::Clean(_) => clean::main(),
        Command::Export(options) => export::main(&options),
        Command::Fetch(options) => fetch::main(&options),
        Command::Restore(options) => restore::main(&options),
        Command::Doctor(options) => doctor::main(&options),
        Command::Trust(options) => trust::main(&options),
        Command::Mcp(options) => mcp::main(&options),
        Command::Theme(options) => theme::main(&options),
        Command::Help(options) => return help::main(&options, definition()),
        Command::ManPages(options) => help::man_pages(&options, definition()),
        Command::Completions(options) => return completions::main(&options, definition()),
    };
    ended(outcome)
}

fn ended(outcome: Result<ExitCode>) -> ExitCode {
    outcome.unwrap_or_else(|error| match error.downcast_ref() {
        Some(refusal) => refused(refusal),
        None => failed(&lab_git::told(&error), output::FAILED),
    })
}

/// What a first word was meant to be that is neither a command nor a kernel that is there, and like a
/// command: clap takes it for a kernel.
fn mistyped() -> Option<String> {
    let mut words = std::env::args_os().skip(1);
    let first = words.next()?.into_string().ok()?;
    let definition = definition();
    if first.starts_with('-')
        || definition.find_subcommand(&first).is_some()
        || Path::new(&first).exists()
    {
        return None;
    }
    let known = definition.get_subcommands().filter(|it| !it.is_hide_set());
    let meant = lab_text::suggest::nearest(&first, known.map(clap::Command::get_name))?;
    let rest: Vec<String> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let meant = with_words(&format!("lab {meant}"), &rest);
    Some(format!(
        "'{first}' is neither a command nor a kernel: did you mean `{meant}`?"
    ))
}

/// The end of a word that is no command.
fn unknown(why: &str) -> ExitCode {
    failed(why, Exit::Usage)
}

/// A command with further words behind it, as a shell takes them.
fn with_words(command: &str, words: &[String]) -> String {
    let words = words.iter().map(|word| shell::quote(word));
    [command.into()].into_iter().chain(words).join(" ")
}

/// The end of a command that judges: an error has the exit code of a run that was not judged, and
/// wrong arguments have [`Exit::Usage`].
fn of_judging(outcome: Result<ExitCode>) -> Result<ExitCode> {
    outcome.or_else(|error| {
        Ok(match error.downcast_ref::<NotRun>() {
            Some(why) => failed(&why.to_string(), why.exit()),
            None => failed(&lab_git::told(&error), Exit::Usage),
        })
    })
}

fn here() -> Result<PathBuf> {
    std::env::current_dir().context("the current folder is gone: `cd` into one that is there")
}

/// The project for a command that needs no kernel.
fn any() -> Result<Project> {
    Project::of_any(&here()?)
}

/// The project of the kernel that a command names or means.
fn open(kernel: Option<&Path>) -> Result<Project> {
    let from = here()?;
    let project = Project::open(&from, kernel)?;
    match kernel {
        Some(named) => is_there(&project, &from, named)?,
        None if !is_json() && project.is_only_one_for(&from.canonicalize()?) => complain(&format!(
            "this is about {}, the only kernel of the repository",
            project.kernel_name
        )),
        None => {}
    }
    Ok(project)
}

/// Refuses a kernel, which a command in the folder `from` named so, if neither the disk nor HEAD
/// holds it and no run and no experiment is of it.
fn is_there(project: &Project, from: &Path, named: &Path) -> Result<()> {
    if project.kernel.symlink_metadata().is_ok() {
        return Ok(());
    }
    let Session {
        repo,
        index,
        history,
    } = Session::open(project)?;
    let name = &project.kernel_name;
    let is_known = lab_git::incumbent(&repo)?.is_some()
        || history.experiments.iter().any(|e| e.is_about(name))
        || index.newest().any(|run| run.judges(project));
    ensure!(
        is_known,
        "there is no {}, and no experiment of it{}: `lab ls` lists the kernels",
        named.display(),
        kernels::did_you_mean(&from.canonicalize()?, &project.root, named)
    );
    Ok(())
}

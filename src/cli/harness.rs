//! `lab harness`: the built-in harness alone, and its two hidden children.

use super::code;
use clap::Args;
use lab_judge::judge;
use lab_judge::measure::plan::{Plan, Trials};
use lab_protocol::Target;
use lab_protocol::Tool;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Args, Debug)]
pub struct Options {
    /// Folder of the problem: problem.toml, kernel.cu, reference.cu
    folder: PathBuf,
    /// Judge this file instead of the folder's kernel.cu
    #[arg(long)]
    kernel: Option<PathBuf>,
    /// The path that diagnostics show
    #[arg(long, value_name = "PATH")]
    shown_as: Option<String>,
    /// auto, cpu, cuda, cuda:1
    #[arg(long, default_value = "auto")]
    device: Target,
    /// A further option for the compiler; may be given several times
    #[arg(long = "option", value_name = "OPTION", allow_hyphen_values = true)]
    options: Vec<String>,
    /// Architecture to build for, as in sm_90
    #[arg(long)]
    arch: Option<String>,
    /// Seconds for the build, and for each launch
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    time_limit: Duration,
    /// Write every tensor into this folder as .npy
    #[arg(long, value_name = "FOLDER")]
    dump: Option<PathBuf>,
    /// Check the gates on what no run has shown, and measure nothing: what `lab keep` does
    #[arg(long)]
    held_out: bool,
    /// Instead of judging, run it under tools that watch each access to memory
    #[arg(long, conflicts_with = "dump")]
    check: bool,
    /// With --check: only this tool; may be given several times
    #[arg(long = "tool", value_name = "TOOL", requires = "check")]
    tools: Vec<Tool>,
    /// Repeat what a run with this seed drew
    #[arg(long)]
    seed: Option<u64>,
    /// Compare with this kernel, or with the kernel.cu of this folder
    #[arg(long, value_name = "PATH")]
    incumbent: Option<PathBuf>,
    /// Milliseconds that timed launches may take; with --trials a limit
    #[arg(long, value_name = "MS", default_value = "250")]
    budget_ms: u64,
    /// Percent within which two speeds are the same
    #[arg(long, value_name = "PERCENT", default_value = "0.5", value_parser = percent)]
    same_within: f64,
    /// Percent of half an interval that is narrow enough
    #[arg(long, value_name = "PERCENT", default_value = "0.25", value_parser = percent)]
    narrow: f64,
    /// The full discipline: so many trials, each in a new process
    #[arg(long)]
    trials: Option<usize>,
    /// Timed launches of a trial
    #[arg(long, default_value = "100", requires = "trials")]
    iterations: usize,
    /// Untimed launches at the beginning of each process
    #[arg(long, default_value = "3", requires = "trials")]
    warm_up: usize,
    /// Get ready, and judge when a line comes on stdin
    #[arg(long, hide = true)]
    standby: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || format!("'{text}' is no number of seconds above 0");
    let number: f64 = text.parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(number).ok().filter(|d| !d.is_zero()).ok_or_else(wrong)
}

fn percent(text: &str) -> Result<f64, String> {
    let wrong = || format!("'{text}' is no percentage from 0.01 to 50");
    text.parse().ok().filter(|p| (0.01..=50.0).contains(p)).ok_or_else(wrong)
}

pub fn main(given: Options) -> ExitCode {
    let mut options = lab_judge::Options::new(given.folder);
    options.kernel = given.kernel;
    options.shown_as = given.shown_as;
    options.device = given.device;
    options.compile_options = given.options;
    options.arch = given.arch;
    options.time_limit = given.time_limit;
    options.dump = given.dump;
    options.held_out = given.held_out;
    options.seed = given.seed;
    options.check = given.check.then_some(given.tools);
    options.incumbent = given.incumbent;
    let Options { iterations, warm_up, .. } = given;
    options.plan = Plan {
        budget: Duration::from_millis(given.budget_ms),
        same_within: given.same_within / 100.0,
        half_width: given.narrow / 100.0,
        trials: given.trials.map(|trials| Trials { warm_up, iterations, trials }),
    };
    code(judge::main(options, given.standby))
}

pub fn compiler() -> ExitCode {
    lab_judge::compiler::main()
}

pub fn worker() -> ExitCode {
    lab_judge::worker::main()
}

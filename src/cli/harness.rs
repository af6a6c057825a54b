//! `lab harness`: the built-in harness alone, and its two hidden children.

use super::code;
use clap::Args;
use harness::device::Target;
use harness::process::check::Tool;
use harness::process::judge;
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
    /// Instead of judging, run it under tools that watch each access to memory
    #[arg(long, conflicts_with = "dump")]
    check: bool,
    /// With --check: only this tool; may be given several times
    #[arg(long = "tool", value_name = "TOOL", requires = "check")]
    tools: Vec<Tool>,
    /// Repeat what a run with this seed drew
    #[arg(long)]
    seed: Option<u64>,
    /// Get ready, and judge when a line comes on stdin
    #[arg(long, hide = true)]
    standby: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || format!("'{text}' is no number of seconds above 0");
    let number: f64 = text.parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(number).ok().filter(|d| !d.is_zero()).ok_or_else(wrong)
}

pub fn main(given: Options) -> ExitCode {
    let mut options = judge::Options::new(given.folder);
    options.kernel = given.kernel;
    options.shown_as = given.shown_as;
    options.device = given.device;
    options.compile_options = given.options;
    options.arch = given.arch;
    options.time_limit = given.time_limit;
    options.dump = given.dump;
    options.seed = given.seed;
    options.check = given.check.then_some(given.tools);
    code(judge::main(options, given.standby))
}

pub fn compiler() -> ExitCode {
    harness::process::compiler::main()
}

pub fn worker() -> ExitCode {
    harness::process::worker::main()
}

//! What `lab check` and `lab profile` do first: they open the problem, start the compiler and look
//! at the device.

use super::confinement;
use super::processes::{auto_caveat, cache_dir, sandbox_of, start_compiler, start_worker};
use crate::compiler::Compiler;
use crate::options::JudgeOptions;
use crate::outcome::Stop;
use crate::problem::{self, Problem};
use crate::sink::SharedSink;
use lab_device::DeviceInfo;
use lab_protocol::report::{Stage, Writer};
use lab_protocol::{Language, Target};
use std::path::PathBuf;

/// The compiler and the device of a tool's launches.
pub struct ToolStart {
    pub compiler: Compiler,
    pub device: DeviceInfo,
    pub cache_dir: PathBuf,
}

/// Opens the problem of a kernel in CUDA C++. The error for Python ends with `why_no_python`.
pub fn open_problem(
    options: &JudgeOptions,
    why_no_python: &str,
    out: &mut Writer,
) -> Result<Box<dyn Problem>, Stop> {
    out.stage(Stage::Build)?;
    if options.language() == Language::Python {
        return Err(Stop::Lab(format!(
            "{} is Python, and {why_no_python}",
            options.shown_as()
        )));
    }
    let problem = problem::open(&options.folder)?;
    out.line("problem", problem.name())?;
    Ok(problem)
}

/// Starts the compiler, asks a worker for the device, and writes what confines both.
pub fn start(
    options: &JudgeOptions,
    target: Target,
    sink: &SharedSink,
    out: &mut Writer,
) -> Result<ToolStart, Stop> {
    let cache_dir = cache_dir(options)?;
    let mut compiler = start_compiler(options, target, sink)?;
    let worker = start_worker(options, Language::Cuda, target, sink)?.ready()?;
    let device = worker.info().clone();
    out.line("device", &device.name)?;
    if let Some(caveat) = auto_caveat(options.device) {
        out.caveat(caveat)?;
    }
    compiler.version()?;
    confinement::declare(options, &device, &sandbox_of(&worker, Some(&compiler)), out)?;
    Ok(ToolStart {
        compiler,
        device,
        cache_dir,
    })
}

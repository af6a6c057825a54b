//! What every kind of run sets up first: the children with their output in run.log, the cache
//! folder, the architecture.

use crate::compiler::Compiler;
use crate::outcome::{OrLab, Result, Stop};
use crate::process::child::LineSink;
use crate::process::private_folder;
use crate::sink::SharedSink;
use crate::worker::{Interpreter, StartingWorker, Worker, WorkerProgram};
use lab_device::sandbox::SandboxState;
use lab_device::{DeviceInfo, FolderTrust};
use lab_protocol::JudgeRequest;
use lab_protocol::report::Writer;
use lab_protocol::{Language, Target};
use lab_system::threads::lock;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// Starts the compiler process. What it prints becomes log text.
pub fn start_compiler(
    request: &JudgeRequest,
    target: Target,
    sink: &SharedSink,
) -> Result<Compiler> {
    let cache_dir = cache_dir(request)?;
    let readable = super::confinement::readable(request);
    Compiler::start(
        &request.compiler,
        (target, FolderTrust::of(request.trusted)),
        request.time_limit,
        &cache_dir,
        readable,
        lines_to(sink.writer(), Writer::text),
    )
}

/// Starts a worker process for code in this language. `output` takes what the code prints.
pub fn start_worker(
    request: &JudgeRequest,
    language: Language,
    target: Target,
    output: LineSink,
) -> Result<StartingWorker> {
    let (cache_dir, limit) = (cache_dir(request)?, request.time_limit);
    let python;
    let program = match language {
        Language::Cuda => WorkerProgram::Own(&request.worker),
        Language::Python => {
            python = Interpreter::of(request);
            WorkerProgram::Python(&python)
        }
    };
    Worker::start(program, target, limit, &cache_dir, output)
}

/// [`start_worker`] for code whose output is written into run.log.
pub fn start_shown(
    request: &JudgeRequest,
    language: Language,
    target: Target,
    sink: &SharedSink,
) -> Result<StartingWorker> {
    let output = as_kernel_output(sink.writer());
    let shown = request.shown_as();
    let output: LineSink = match language {
        Language::Cuda => output,
        Language::Python => Arc::new(move |line: &str| output(&python_line(line, &shown))),
    };
    start_worker(request, language, target, output)
}

/// A line about a place in a kernel in Python, with the path that is shown for it.
pub fn python_line(line: &str, shown: &str) -> String {
    let name = Language::Python.kernel_name();
    match line.strip_prefix(name) {
        Some(rest) if rest.starts_with(':') => format!("{shown}{rest}"),
        _ => line.replace(&format!("File \"{name}\""), &format!("File \"{shown}\"")),
    }
}

/// The workers of a run on a GPU that are lab's own. Each initialises the driver, which takes 0.2 s and
/// more: they do so at the same time, and the judge does not.
pub struct GpuWorkers {
    pub target: Target,
    /// The judge's own, which holds inputs and results on the device. Elsewhere the judge has them in
    /// its own memory.
    pub memory: Worker,
    pub reference: Option<StartingWorker>,
    pub candidate: Option<StartingWorker>,
}

impl GpuWorkers {
    /// Starts them, those of the reference and the candidate if these are CUDA C++, and waits for the
    /// judge's own. `None` where the device of the request is no GPU.
    pub fn start(
        request: &JudgeRequest,
        (reference, candidate): (Option<Language>, Language),
        sink: &SharedSink,
    ) -> Result<Option<Self>> {
        let Some(target) = lab_device::likely_cuda(request.device) else {
            return Ok(None);
        };
        let shown = |language| start_shown(request, language, target, sink);
        let own = |language: &Language| *language == Language::Cuda;
        // In the order in which they are waited for: one opens the device after the other.
        let memory = start_worker(request, Language::Cuda, target, no_output())?;
        let reference = reference.filter(own).map(shown).transpose()?;
        let candidate = Some(candidate).filter(own).map(shown).transpose()?;
        match memory.ready() {
            Ok(memory) => Ok(Some(GpuWorkers {
                target,
                memory,
                reference,
                candidate,
            })),
            // A driver that does not work, or no GPU.
            Err(_) if lab_device::resolve(request.device) == Target::Cpu => Ok(None),
            Err(stop) => Err(stop),
        }
    }
}

/// Drops what a kernel that is not the candidate prints: in run.log it would look like the
/// candidate's output.
pub fn no_output() -> LineSink {
    Arc::new(|_: &str| {})
}

/// What holds back the children of a run: the weaker of the two, if there is a compiler.
pub fn sandbox_of(worker: &Worker, compiler: Option<&Compiler>) -> SandboxState {
    let of_compiler = compiler.and_then(Compiler::sandbox);
    let states = [worker.sandbox(), of_compiler]
        .into_iter()
        .flatten()
        .cloned();
    let missing = || SandboxState::None {
        why: "the worker is not confined".into(),
    };
    states.reduce(SandboxState::and).unwrap_or_else(missing)
}

/// Writes each line behind `| `, so that the kernel's output never begins a result line.
pub fn as_kernel_output(out: Writer) -> LineSink {
    lines_to(out, |out, line| out.kernel_output(line.as_bytes()))
}

fn lines_to(out: Writer, write: fn(&mut Writer, &str) -> io::Result<()>) -> LineSink {
    let out = Mutex::new(out);
    Arc::new(move |line| {
        // If nobody reads run.log any more, the judge's own next line fails and ends the run.
        let _ = write(&mut lock(&out), line);
    })
}

/// The caveat of a run that asked for any device and got the cpu device because the NVIDIA driver
/// does not work.
pub fn auto_caveat(asked: Target) -> Option<String> {
    let why = lab_device::why_not_cuda(asked)?;
    Some(format!(
        "device auto is the cpu device here, because the NVIDIA driver cannot be used: {why}"
    ))
}

/// The caveat of a device that is a part of a card. The driver says so in its name, as in
/// `NVIDIA H200 MIG 1g.18gb`.
pub fn part_of_a_card_caveat(name: &str) -> Option<String> {
    let is_part = name.split_whitespace().any(|word| word == "MIG");
    is_part.then(|| {
        format!(
            "{name} is a part of a card: the work of others on its other parts changes the clocks and the times, and the lab \
             cannot see it"
        )
    })
}

/// Creates the folder for what outlives a run, and returns its absolute path: the children may have
/// another current folder.
pub fn cache_dir(request: &JudgeRequest) -> Result<PathBuf> {
    let folder = match &request.cache_dir {
        Some(folder) => folder.clone(),
        None => users_cache_dir().map_err(|e| {
            Stop::Lab(format!(
                "there is no home folder for the cache folder: {e}; set HOME"
            ))
        })?,
    };
    let made = std::fs::create_dir_all(&folder).and_then(|()| folder.canonicalize());
    made.or_lab(|| format!("the cache folder {} cannot be made", folder.display()))
}

fn users_cache_dir() -> Result<PathBuf, etcetera::HomeDirError> {
    use etcetera::BaseStrategy;
    Ok(etcetera::choose_base_strategy()?.cache_dir().join("lab"))
}

/// Removes what judges that were killed left in the user's cache folder: copies of kernels, and
/// files of compilers. For a process that has started judges and is about to end.
pub fn remove_unused() {
    if let Ok(folder) = users_cache_dir() {
        private_folder::remove_unused(&folder);
    }
}

/// The architecture to build for: that of `--arch`, else that of a compiler option, else the
/// device's own.
pub fn arch(request: &JudgeRequest, device: &DeviceInfo) -> String {
    let named = request
        .compile_options
        .architecture()
        .filter(|_| !device.emulated);
    request
        .arch
        .as_deref()
        .or(named)
        .map_or_else(|| device.arch.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::part_of_a_card_caveat;

    #[test]
    fn a_part_of_a_card_is_told_from_a_card() {
        let caveat = part_of_a_card_caveat("NVIDIA H200 MIG 1g.18gb");
        assert!(caveat.is_some_and(|caveat| caveat.starts_with(
            "NVIDIA H200 MIG 1g.18gb is a part of a card: the work of others on its other parts"
        )));
        assert_eq!(part_of_a_card_caveat("NVIDIA H200"), None);
    }
}

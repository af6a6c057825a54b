//! The trusted kernel, reference.cu or reference.py, in a worker of its own. Expected values never
//! enter the candidate's process.

use super::launcher::{CaseLauncher, Inputs, Outputs, Written};
use super::parameters::require_entries;
use super::spec::{Case, ProblemSpec, TensorRole};
use crate::gates;
use crate::outcome::Stop;
use crate::problem::api::{ProblemContext, WorkerFor};
use crate::source_place::with_line;
use crate::worker::{ModuleId, Worker};
use lab_device::ExecutionOrder;
use lab_protocol::Language;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub struct ReferenceKernel {
    /// The reference, which is loaded in its worker.
    source: PathBuf,
    worker: Worker,
    module: ModuleId,
    /// Whether it gave the same results twice on the same inputs.
    is_deterministic: bool,
}

/// Most cells of the case in which the reference runs twice on the same inputs.
const RUN_TWICE: usize = 4 << 20;

/// The language of the reference in a problem's folder. CUDA if it is unclear which file is the
/// reference.
pub fn language(folder: &Path) -> Language {
    source(folder).map_or(Language::Cuda, |(_, language)| language)
}

/// The reference in a problem's folder. Returns [`Stop::Problem`] if there is none, or one in each
/// language: it would be unclear which of them judges.
fn source(folder: &Path) -> Result<(PathBuf, Language), Stop> {
    let path = |language: Language| folder.join(language.reference_name());
    let [cuda, python] = [Language::Cuda, Language::Python].map(path);
    match (cuda.is_file(), python.is_file()) {
        (true, false) => Ok((cuda, Language::Cuda)),
        (false, true) => Ok((python, Language::Python)),
        (true, true) => Err(Stop::Problem(format!(
            "{} and reference.py are both there: remove one of them, because a problem has one reference",
            cuda.display()
        ))),
        (false, false) => Err(Stop::Problem(format!(
            "{} is missing, and so is reference.py: write one of them, a plain and correct kernel with the entries of problem.toml",
            cuda.display()
        ))),
    }
}

impl ReferenceKernel {
    /// Builds reference.cu, or loads reference.py, in a worker of its own. Returns
    /// [`Stop::Problem`] if the file is missing, does not build or lacks an entry.
    pub fn start(spec: &ProblemSpec, folder: &Path, cx: &mut ProblemContext) -> Result<Self, Stop> {
        let (source, language) = source(folder)?;
        let image = Self::image(spec, folder, cx)?;
        let mut worker = (cx.spawn_worker)(WorkerFor::Reference(language))?;
        let module = worker
            .load(&image)
            .map_err(|stop| as_problem(&source, stop))?;
        require_entries(spec, &mut worker, module).map_err(|stop| as_problem(&source, stop))?;
        Ok(ReferenceKernel {
            source,
            worker,
            module,
            is_deterministic: false,
        })
    }

    /// Builds reference.cu, unless it was built before. Returns the image, or reference.py itself.
    /// The errors are those of [`ReferenceKernel::start`].
    pub fn image(
        spec: &ProblemSpec,
        folder: &Path,
        cx: &mut ProblemContext,
    ) -> Result<PathBuf, Stop> {
        let (source, language) = source(folder)?;
        match language {
            // The name of the file stands in the compiler's messages already.
            Language::Cuda => (cx.build)(&source, &spec.header())
                .map(|image| image.path)
                .map_err(|stop| match stop {
                    stop @ (Stop::Problem(_) | Stop::Lab(_)) => stop,
                    stop @ (Stop::Crash(_) | Stop::Build(_)) => as_problem(&source, stop),
                }),
            Language::Python => Ok(source),
        }
    }

    /// Returns what launches on each of these sets of inputs must write. Returns [`Stop::Problem`]
    /// if the reference crashes, breaks a rule or leaves a cell unwritten.
    pub fn expect(&mut self, case: &Arc<Case>, sets: &[Inputs]) -> Result<Vec<Expected>, Stop> {
        if sets.is_empty() {
            return Ok(Vec::new());
        }
        self.all_launches(case, sets)
            .map_err(|stop| as_problem(&self.source, stop))
    }

    fn all_launches(&mut self, case: &Arc<Case>, sets: &[Inputs]) -> Result<Vec<Expected>, Stop> {
        let launcher = CaseLauncher::set_up_shared(case, &mut self.worker)?;
        let expected: Vec<Expected> = (0..sets.len())
            .map(|set| self.launches(&launcher, sets, set))
            .collect::<Result<_, _>>()?;
        if !self.is_deterministic && case.cells() <= RUN_TWICE {
            self.require_same_again(&launcher, sets, &expected[0].outputs)?;
            self.is_deterministic = true;
        }
        launcher.take_down(&mut self.worker)?;
        Ok(expected)
    }

    fn launches(
        &mut self,
        launcher: &CaseLauncher,
        sets: &[Inputs],
        set: usize,
    ) -> Result<Expected, Stop> {
        let (worker, module, case) = (&mut self.worker, self.module, launcher.case());
        let mut other = None;
        if case.needs_two_launches() {
            launcher.launch(worker, module, set, sets, ExecutionOrder::Forward)?;
            other = Some(launcher.written(worker, set)?);
        }
        let seconds = launcher.launch(worker, module, set, sets, ExecutionOrder::Forward)?;
        let written = launcher.written(worker, set)?;
        let mut after_steps = None;
        if case.steps > 1 {
            for _ in 1..case.steps {
                launcher.launch_again(worker, module, set, ExecutionOrder::Forward)?;
            }
            after_steps = Some(launcher.written(worker, set)?);
        }
        // Before the inputs of the next set lie over a change of these.
        if let Some(breach) = worker.breaches()?.first() {
            return Err(Stop::Crash(launcher.describe(breach)));
        }
        require_written(case, &written, other.as_ref())?;
        if let Some(written) = &after_steps {
            require_written(case, written, None)?;
        }
        Ok(Expected {
            outputs: written.outputs,
            after_steps: after_steps.map(|written| written.outputs),
            seconds,
        })
    }

    /// Launches once more on the first set, and returns an error if that gives other results: no
    /// kernel could be right.
    fn require_same_again(
        &mut self,
        launcher: &CaseLauncher,
        sets: &[Inputs],
        first: &Outputs,
    ) -> Result<(), Stop> {
        let (worker, case) = (&mut self.worker, launcher.case());
        launcher.launch(worker, self.module, 0, sets, ExecutionOrder::Forward)?;
        let again = launcher.outputs(worker, 0)?;
        for ((tensor, first), again) in case.tensors.iter().zip(first).zip(&again) {
            let (Some(first), Some(again)) = (first, again) else {
                continue;
            };
            let unwritten = gates::Unwritten::Unknown;
            let compared = gates::compare(tensor.dtype, again, first, &tensor.tolerance, unwritten);
            let wrong = compared.first_wrong();
            if let Some(cell) = wrong.filter(|_| !compared.passes(&tensor.tolerance)) {
                let (cell, label) = (tensor.cell(cell.index), &case.label);
                return Err(Stop::Crash(format!(
                    "the reference is not deterministic: a second launch on the same inputs gives another {cell} ({label}). Give each random \
                     number generator a fixed seed, and use no result of an earlier launch"
                )));
            }
        }
        Ok(())
    }
}

/// What the reference says that launches on a set of inputs must write.
pub struct Expected {
    /// After one launch.
    pub outputs: Outputs,
    /// After the problem's number of launches in a row; `None` if it is 1.
    pub after_steps: Option<Outputs>,
    /// How long the launch took.
    pub seconds: f64,
}

/// Returns an error that names the first cell of a pure output which the launch never wrote.
/// `other` is another launch on the same inputs.
fn require_written(case: &Case, written: &Written, other: Option<&Written>) -> Result<(), Stop> {
    for (i, tensor) in case.tensors.iter().enumerate() {
        let content = written.outputs[i].as_ref();
        let Some(content) = content.filter(|_| tensor.role == TensorRole::Out) else {
            continue;
        };
        let unwritten = written.unwritten(i, tensor.dtype, other);
        if let Some(cell) = gates::first_unwritten(tensor.dtype, content, unwritten) {
            let (cell, label) = (tensor.cell(cell), &case.label);
            return Err(Stop::Crash(format!("never wrote {cell} ({label})")));
        }
    }
    Ok(())
}

/// Any failure of the reference is a mistake in the problem, not in the candidate. What the lab or
/// the machine failed at stays that.
fn as_problem(source: &Path, stop: Stop) -> Stop {
    let name = source.file_name().unwrap_or_default().display();
    match stop.map_text(about_the_reference) {
        Stop::Lab(why) => Stop::Lab(why),
        stop => {
            let text = std::fs::read_to_string(source).unwrap_or_default();
            let stop = with_line(stop, &text).to_string();
            Stop::Problem(match stop.strip_prefix(&format!("{name}:")) {
                // Python's messages begin with the name of the file and the line.
                Some(place) => format!("{}:{place}", source.display()),
                None => format!("{}: {stop}", source.display()),
            })
        }
    }
}

/// A failure of a worker, which calls what it runs a kernel. The text of an exception is the
/// source's own.
fn about_the_reference(text: &str) -> String {
    let (first, rest) = text.split_at(text.find('\n').unwrap_or(text.len()));
    let own = first
        .split_once(": error: ")
        .map_or(first, |(_, what)| what);
    if !["the kernel ", "the kernel's ", "the worker "]
        .iter()
        .any(|begin| own.starts_with(begin))
    {
        return text.to_owned();
    }
    let first = first
        .replace("the kernel's process", "the process of the reference")
        .replace("the kernel", "the reference");
    first + rest
}

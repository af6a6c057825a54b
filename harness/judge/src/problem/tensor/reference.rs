//! The trusted kernel, reference.cu or reference.py, in a worker of its own. Expected values never
//! enter the candidate's process.

use super::case_data::{CaseData, CaseSet};
use super::launcher::{CaseLauncher, Launched, Written};
use super::parameters::require_entries;
use super::spec::{Case, ProblemSpec, TensorRole};
use super::tally::ComparedOutputs;
use crate::dtype::Dtype;
use crate::gates;
use crate::outcome::Stop;
use crate::problem::api::{ProblemContext, WorkerFor};
use crate::source_place::with_line;
use crate::worker::{ModuleId, Worker};
use lab_device::{DeviceInfo, ExecutionOrder};
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

/// How often a set is drawn before the run ends with an error.
const MOST_ATTEMPTS: u32 = 1000;

/// Most cells of the case in which the reference runs twice on the same inputs.
const RUN_TWICE: usize = 4 << 20;

/// The language of the reference in a problem's folder. CUDA if it is unclear which file is the
/// reference.
pub fn language(folder: &Path) -> Language {
    source(folder).map_or(Language::Cuda, |(_, language)| language)
}

/// The reference for a device: on the cpu device reference.cpp, if there is one, in place of
/// reference.cu.
fn source_for(folder: &Path, device: &DeviceInfo) -> Result<(PathBuf, Language), Stop> {
    let native = folder.join("reference.cpp");
    match device.emulated && native.is_file() {
        true => Ok((native, Language::Cuda)),
        false => source(folder),
    }
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
        let (source, language) = source_for(folder, cx.device)?;
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
        let (source, language) = source_for(folder, cx.device)?;
        match language {
            // The name of the file stands in the compiler's messages already.
            Language::Cuda => (cx.build)(&source, &spec.header(spec.any_case(cx.device)))
                .map(|image| image.path)
                .map_err(|stop| match stop {
                    stop @ (Stop::Problem(_) | Stop::Lab(_)) => stop,
                    stop @ (Stop::Crash(_) | Stop::Build(_)) => as_problem(&source, stop),
                }),
            Language::Python => Ok(source),
        }
    }

    /// Computes what launches on these sets must write. Returns the sets that the reference does not
    /// accept: they must be drawn again. Returns [`Stop::Problem`] if the reference crashes, breaks a
    /// rule or leaves a cell unwritten.
    pub fn expect(&mut self, data: &mut CaseData, sets: &[usize]) -> Result<Vec<usize>, Stop> {
        if sets.is_empty() {
            return Ok(Vec::new());
        }
        self.launch_all(data, sets)
            .map_err(|stop| as_problem(&self.source, stop))
    }

    fn launch_all(&mut self, data: &mut CaseData, sets: &[usize]) -> Result<Vec<usize>, Stop> {
        let case = Arc::new(data.case.for_reference());
        let launcher = CaseLauncher::set_up_shared(&case, &mut self.worker)?;
        let mut refused = Vec::new();
        for set in sets {
            self.launch(&launcher, data, *set)?;
            if !self.is_deterministic && case.cells() <= RUN_TWICE {
                self.require_same_again(&launcher, data, *set)?;
                self.is_deterministic = true;
            }
            if !accept(&data.case, &mut data.sets[*set])? {
                refused.push(*set);
            }
        }
        launcher.take_down(&mut self.worker)?;
        Ok(refused)
    }

    fn launch(
        &mut self,
        launcher: &CaseLauncher,
        data: &mut CaseData,
        set: usize,
    ) -> Result<(), Stop> {
        let (worker, module, case) = (&mut self.worker, self.module, launcher.case());
        let (order, twice) = (ExecutionOrder::Forward, case.needs_two_launches());
        let Launched {
            earlier,
            last,
            seconds,
        } = launcher.launch_and_read(worker, module, data, set, order, twice)?;
        let after_steps = launcher.go_on(worker, module, data, set, order)?;
        // Before the inputs of the next set lie over a change of these.
        if let Some(breach) = worker.breaches()?.first() {
            return Err(Stop::Crash(launcher.describe(breach)));
        }
        require_written(case, &last, earlier.as_ref())?;
        let longest = data.reference_seconds.unwrap_or(seconds);
        data.reference_seconds = Some(longest.max(seconds));
        data.sets[set].expected = last.outputs;
        if let Some(written) = after_steps {
            require_written(case, &written, None)?;
            data.sets[set].after_steps = written.outputs;
        }
        Ok(())
    }

    /// Launches once more on the first set, and returns an error if that gives other results: no
    /// kernel could be right.
    fn require_same_again(
        &mut self,
        launcher: &CaseLauncher,
        data: &CaseData,
        set: usize,
    ) -> Result<(), Stop> {
        let (worker, case) = (&mut self.worker, launcher.case());
        launcher.launch(worker, self.module, data, set, ExecutionOrder::Forward)?;
        let again = launcher.written(worker, set)?;
        let compared = ComparedOutputs::of(case, &again, None, &data.sets[set].expected);
        for (tensor, compared) in case.tensors.iter().zip(&compared.0) {
            let wrong = compared
                .as_ref()
                .filter(|compared| !compared.cells.passes(&tensor.tolerance));
            if let Some(cell) = wrong.and_then(|compared| compared.cells.first_wrong()) {
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

/// Takes what the reference wrote about a set out of what it expects, gives inputs the results that
/// they hold, and returns whether the set is accepted.
fn accept(case: &Case, set: &mut CaseSet) -> Result<bool, Stop> {
    let numbers = set.expected.split_off(case.tensors.len());
    set.after_steps.truncate(case.tensors.len());
    set.accepts.clear();
    let (mut is_accepted, attempts) = (true, set.attempt + 1);
    for (accept, bytes) in case.accepts.iter().zip(numbers) {
        let value = bytes.map_or(f64::NAN, |bytes| Dtype::F32.decode(&bytes));
        set.accepts.push(value);
        if (accept.least..=accept.most).contains(&value) || attempts > accept.attempts {
            continue;
        }
        is_accepted = false;
        if attempts >= MOST_ATTEMPTS {
            return Err(Stop::Problem(format!(
                "{attempts} sets of inputs were drawn for {}, and none was accepted: {} was {value} in the last one. Widen the \
                 limits of [[accept]] '{}' in problem.toml, or correct the reference, which writes that number",
                case.label, accept.name, accept.name
            )));
        }
    }
    for (i, tensor) in case.tensors.iter().enumerate() {
        if let Some(of) = tensor.expected_of().filter(|_| !tensor.is_null) {
            set.inputs[i].clone_from(&set.expected[of]);
        }
        if tensor.is_uncompared {
            set.expected[i] = None;
        }
    }
    Ok(is_accepted)
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

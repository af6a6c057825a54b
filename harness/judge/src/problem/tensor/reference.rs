//! The trusted kernel, reference.cu or reference.py, in a worker of its own. Expected values never
//! enter the candidate's process.

use super::case_data::CaseData;
use super::launcher::{CaseLauncher, Launched, ReadCells};
use super::parameters::require_entries;
use super::spec::{Case, CaseTensor, ProblemSpec, TensorRole};
use super::tally::ComparedOutputs;
use crate::cells::{self, Pair};
use crate::outcome::Stop;
use crate::problem::api::{ProblemContext, WorkerFor};
use crate::source_place::with_line;
use crate::worker::{ModuleId, Worker};
use lab_device::ExecutionOrder;
use lab_protocol::Language;
use std::path::{Path, PathBuf};

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

    /// Computes what launches on each of these sets must write. Returns [`Stop::Problem`] if the
    /// reference crashes, breaks a rule or leaves a cell unwritten.
    pub fn expect(&mut self, data: &mut CaseData) -> Result<(), Stop> {
        if data.sets.is_empty() {
            return Ok(());
        }
        self.launch_all(data)
            .map_err(|stop| as_problem(&self.source, stop))
    }

    fn launch_all(&mut self, data: &mut CaseData) -> Result<(), Stop> {
        let launcher = match self.worker.has_shared_buffers() && data.case.steps == 1 {
            true => {
                let launcher = CaseLauncher::set_up(data, &mut self.worker)?;
                self.launch_sets(&launcher, data)?;
                launcher
            }
            false => {
                let launcher = CaseLauncher::set_up_shared(&data.case, &mut self.worker)?;
                for set in 0..data.sets.len() {
                    self.launch(&launcher, data, set)?;
                }
                launcher
            }
        };
        if !self.is_deterministic && data.case.cells() <= RUN_TWICE {
            self.require_same_again(&launcher, data)?;
            self.is_deterministic = true;
        }
        launcher.take_down(&mut self.worker)
    }

    /// Launches on all sets, which have buffers of their own.
    fn launch_sets(&mut self, launcher: &CaseLauncher, data: &mut CaseData) -> Result<(), Stop> {
        let (worker, case) = (&mut self.worker, launcher.case());
        let twice = case.needs_two_launches();
        let how = (ExecutionOrder::Forward, twice, Worker::take as ReadCells);
        let (launched, failed) = launcher.launch_sets(worker, self.module, data, how)?;
        if let Some(stop) = failed {
            return Err(stop);
        }
        if let Some(breach) = worker.breaches()?.first() {
            return Err(Stop::Crash(launcher.describe(breach)));
        }
        require_written(case, &launched)?;
        for (set, launched) in data.sets.iter_mut().zip(launched) {
            let longest = data.reference_seconds.unwrap_or(launched.seconds);
            data.reference_seconds = Some(longest.max(launched.seconds));
            set.expected = launched.last.outputs;
        }
        Ok(())
    }

    fn launch(
        &mut self,
        launcher: &CaseLauncher,
        data: &mut CaseData,
        set: usize,
    ) -> Result<(), Stop> {
        let (worker, module, case) = (&mut self.worker, self.module, launcher.case());
        let (order, twice) = (ExecutionOrder::Forward, case.needs_two_launches());
        let how = (order, twice, Worker::take as ReadCells);
        let launched = launcher.launch_and_read(worker, module, data, set, how)?;
        let seconds = launched.seconds;
        let after_steps = launcher.go_on(worker, module, set, (order, Worker::take))?;
        // Before the inputs of the next set lie over a change of these.
        if let Some(breach) = worker.breaches()?.first() {
            return Err(Stop::Crash(launcher.describe(breach)));
        }
        let mut all = vec![launched];
        all.extend(after_steps.map(|last| Launched {
            earlier: None,
            last,
            seconds,
        }));
        require_written(case, &all)?;
        let longest = data.reference_seconds.unwrap_or(seconds);
        data.reference_seconds = Some(longest.max(seconds));
        let mut all = all.into_iter().map(|launched| launched.last.outputs);
        data.sets[set].expected = all.next().unwrap_or_default();
        data.sets[set].after_steps = all.next().unwrap_or_default();
        Ok(())
    }

    /// Launches once more on the first set, and returns an error if that gives other results: no
    /// kernel could be right.
    fn require_same_again(&mut self, launcher: &CaseLauncher, data: &CaseData) -> Result<(), Stop> {
        let (worker, case) = (&mut self.worker, launcher.case());
        launcher.launch(worker, self.module, data, 0, ExecutionOrder::Forward)?;
        let again = launcher.written(worker, 0, Worker::look_at)?;
        let compared = ComparedOutputs::of(case, &again, None, &data.sets[0].expected)?;
        for (tensor, compared) in case.tensors.iter().zip(&compared.0) {
            let wrong = compared
                .as_ref()
                .filter(|compared| !compared.passes(&tensor.tolerance));
            if let Some(cell) = wrong.and_then(|compared| compared.first_wrong()) {
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

/// Returns an error that names the first cell of a pure output which one of these launches never
/// wrote.
fn require_written(case: &Case, launched: &[Launched]) -> Result<(), Stop> {
    let each = launched.iter().flat_map(|Launched { earlier, last, .. }| {
        let outputs = case.tensors.iter().zip(&last.outputs).enumerate();
        let outputs = outputs.filter(|(_, (tensor, _))| tensor.role == TensorRole::Out);
        outputs.filter_map(move |(i, (tensor, content))| {
            let (got, dtype) = (content.as_ref()?, tensor.dtype);
            let pair = Pair {
                dtype,
                got,
                want: got,
                tolerance: None,
                unwritten: last.unwritten(i, dtype, earlier.as_ref()),
            };
            Some((tensor, pair))
        })
    });
    let (tensors, pairs): (Vec<&CaseTensor>, Vec<Pair>) = each.unzip();
    for (tensor, found) in tensors.into_iter().zip(cells::compare(&pairs)?) {
        if let Some(cell) = found.first_unwritten {
            let (cell, label) = (tensor.cell(cell.index), &case.label);
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

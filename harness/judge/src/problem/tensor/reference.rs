//! The trusted kernel, reference.cu, in a worker of its own. Expected values never enter the candidate's process.

use super::launcher::{CaseLauncher, Inputs, Outputs, Written};
use super::spec::{Case, ProblemSpec, TensorRole};
use crate::gates;
use crate::outcome::Stop;
use crate::problem::api::ProblemContext;
use crate::source_place::with_line;
use crate::worker::{ModuleId, Worker};
use lab_device::ExecutionOrder;
use std::path::{Path, PathBuf};
use std::rc::Rc;

pub struct ReferenceKernel {
    /// A reference.cu that is loaded in its worker.
    source: PathBuf,
    worker: Worker,
    module: ModuleId,
}

impl ReferenceKernel {
    /// Builds reference.cu and starts its worker. Returns [`Stop::Problem`] if the file is missing, does not build or
    /// lacks an entry.
    pub fn start(spec: &ProblemSpec, folder: &Path, cx: &mut ProblemContext) -> Result<Self, Stop> {
        let source = folder.join("reference.cu");
        if !source.is_file() {
            return Err(Stop::Problem(format!(
                "{} is missing: write a plain, correct kernel with the entries of problem.toml",
                source.display()
            )));
        }
        // The name of the file stands in the compiler's messages already.
        let image = (cx.build)(&source, &spec.header()).map_err(|stop| match stop {
            stop @ (Stop::Problem(_) | Stop::Lab(_)) => stop,
            stop @ (Stop::Crash(_) | Stop::Build(_)) => as_problem(&source, stop),
        })?;
        let mut worker = (cx.spawn_worker)()?;
        let module = worker.load(&image.path).map_err(|stop| as_problem(&source, stop))?;
        for entry in spec.entries() {
            worker.require_entry(module, entry).map_err(|stop| as_problem(&source, stop))?;
        }
        Ok(ReferenceKernel { source, worker, module })
    }

    /// Returns what launches on each of these sets of inputs must write. Returns [`Stop::Problem`] if the reference crashes,
    /// breaks a rule or leaves a cell unwritten.
    pub fn expect(
        &mut self,
        spec: &Rc<ProblemSpec>,
        index: usize,
        sets: &[Inputs],
    ) -> Result<Vec<Expected>, Stop> {
        let source = self.source.clone();
        self.all_launches(spec, index, sets).map_err(|stop| as_problem(&source, stop))
    }

    fn all_launches(
        &mut self,
        spec: &Rc<ProblemSpec>,
        index: usize,
        sets: &[Inputs],
    ) -> Result<Vec<Expected>, Stop> {
        if sets.is_empty() {
            return Ok(Vec::new());
        }
        let launcher = CaseLauncher::set_up_shared(spec, index, &mut self.worker, sets)?;
        let expected: Vec<Expected> =
            (0..sets.len()).map(|set| self.launches(&launcher, sets, set, spec)).collect::<Result<_, _>>()?;
        launcher.take_down(&mut self.worker)?;
        Ok(expected)
    }

    fn launches(
        &mut self,
        launcher: &CaseLauncher,
        sets: &[Inputs],
        set: usize,
        spec: &ProblemSpec,
    ) -> Result<Expected, Stop> {
        let (worker, module, case) = (&mut self.worker, self.module, launcher.case());
        let inputs = &sets[set];
        let mut other = None;
        if spec.needs_two_launches(case) {
            launcher.launch(worker, module, set, sets, ExecutionOrder::Forward)?;
            other = Some(launcher.written(worker, set, inputs)?);
        }
        launcher.launch(worker, module, set, sets, ExecutionOrder::Forward)?;
        let written = launcher.written(worker, set, inputs)?;
        let mut after_steps = None;
        if spec.steps > 1 {
            for _ in 1..spec.steps {
                launcher.launch_again(worker, module, set, sets, ExecutionOrder::Forward)?;
            }
            after_steps = Some(launcher.written(worker, set, inputs)?);
        }
        // Before the inputs of the next set lie over a change of these.
        if let Some(breach) = worker.breaches()?.first() {
            return Err(Stop::Crash(launcher.describe(breach)));
        }
        require_written(spec, case, &written, other.as_ref())?;
        if let Some(written) = &after_steps {
            require_written(spec, case, written, None)?;
        }
        Ok(Expected { outputs: written.outputs, after_steps: after_steps.map(|written| written.outputs) })
    }
}

/// What the reference says that launches on a set of inputs must write.
pub struct Expected {
    /// After one launch.
    pub outputs: Outputs,
    /// After the problem's number of launches in a row; `None` if it is 1.
    pub after_steps: Option<Outputs>,
}

/// Returns an error that names the first cell of a pure output which the launch never wrote. `other` is another launch on
/// the same inputs.
fn require_written(
    spec: &ProblemSpec,
    case: &Case,
    written: &Written,
    other: Option<&Written>,
) -> Result<(), Stop> {
    let tensors = spec.tensors.iter().zip(&case.tensors).enumerate();
    for (i, (tensor, shaped)) in tensors.filter(|(_, (tensor, _))| tensor.role == TensorRole::Out) {
        let Some(content) = &written.outputs[i] else { continue };
        let unwritten = written.unwritten(i, shaped.dtype, other);
        if let Some(cell) = gates::first_unwritten(shaped.dtype, content, unwritten) {
            let place = format!("{}{} ({})", tensor.name, shaped.index(cell), case.label);
            return Err(Stop::Crash(format!("never wrote {place}")));
        }
    }
    Ok(())
}

/// Any failure of the reference is a mistake in the problem, not in the candidate. What the lab or the machine failed at stays
/// that.
fn as_problem(source: &Path, stop: Stop) -> Stop {
    match stop {
        Stop::Lab(why) => Stop::Lab(why),
        stop => {
            let text = std::fs::read_to_string(source).unwrap_or_default();
            Stop::Problem(format!("{}: {}", source.display(), with_line(stop, &text)))
        }
    }
}

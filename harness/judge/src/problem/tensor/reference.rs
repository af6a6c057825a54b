//! The trusted kernel, reference.cu, in a worker of its own. Expected values never enter the candidate's process.

use super::launcher::{CaseLauncher, Inputs, Outputs};
use super::spec::{ProblemSpec, TensorRole};
use crate::outcome::Stop;
use crate::problem::api::ProblemContext;
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

    /// Returns what a launch on these inputs must write. Returns [`Stop::Problem`] if the reference crashes, breaks a
    /// rule or leaves a cell unwritten.
    pub fn expect(&mut self, spec: &Rc<ProblemSpec>, index: usize, inputs: &Inputs) -> Result<Outputs, Stop> {
        let worker = &mut self.worker;
        let as_problem = |stop| as_problem(&self.source, stop);
        let sets = std::slice::from_ref(inputs);
        let launcher = CaseLauncher::set_up(spec, index, worker, sets).map_err(as_problem)?;
        launcher.launch(worker, self.module, 0, sets, ExecutionOrder::Forward).map_err(as_problem)?;
        let breaches = worker.breaches().map_err(as_problem)?;
        let outputs = launcher.outputs(worker, 0).map_err(as_problem)?;
        if let Some(breach) = breaches.first() {
            return Err(as_problem(Stop::Crash(launcher.describe(breach))));
        }
        launcher.take_down(worker).map_err(as_problem)?;
        let case = &spec.cases[index];
        for ((tensor, shaped), content) in spec.tensors.iter().zip(&case.tensors).zip(&outputs) {
            let Some(content) = content.as_ref().filter(|_| tensor.role == TensorRole::Out) else { continue };
            if let Some(cell) = shaped.dtype.first_poison(content) {
                let place = format!("{}{} ({})", tensor.name, shaped.index(cell), case.label);
                return Err(as_problem(Stop::Crash(format!("never wrote {place}"))));
            }
        }
        Ok(outputs)
    }
}

/// Any failure of the reference is a mistake in the problem, not in the candidate. What the lab or the machine failed at stays
/// that.
fn as_problem(source: &Path, stop: Stop) -> Stop {
    match stop {
        Stop::Lab(why) => Stop::Lab(why),
        stop => Stop::Problem(format!("{}: {stop}", source.display())),
    }
}

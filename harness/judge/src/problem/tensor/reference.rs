//! reference.cu: the plain, trusted kernel, on a worker of its own. What it expects never enters
//! the candidate's process.

use super::launcher::{CaseLauncher, Inputs, Outputs};
use super::spec::{ProblemSpec, TensorRole};
use crate::outcome::Stop;
use crate::problem::api::ProblemContext;
use crate::worker::{ModuleId, Worker};
use lab_device::ExecutionOrder;
use std::path::{Path, PathBuf};
use std::rc::Rc;

pub struct ReferenceKernel {
    source: PathBuf,
    worker: Worker,
    module: ModuleId,
}

impl ReferenceKernel {
    /// Builds reference.cu, which is remembered like any build, and starts its worker.
    pub fn start(spec: &ProblemSpec, folder: &Path, cx: &mut ProblemContext) -> Result<Self, Stop> {
        let source = folder.join("reference.cu");
        if !source.is_file() {
            return Err(Stop::Problem(format!(
                "{} is missing: a plain kernel with the entries of problem.toml, which says what is right",
                source.display()
            )));
        }
        let image = (cx.build)(&source, &spec.header())?;
        let mut worker = (cx.spawn_worker)()?;
        let module = worker.load(&image.path)?;
        for entry in spec.entries() {
            worker.require_entry(module, entry).map_err(|stop| blame(&source, stop))?;
        }
        Ok(ReferenceKernel { source, worker, module })
    }

    /// What a launch on these inputs must write.
    pub fn expect(&mut self, spec: &Rc<ProblemSpec>, index: usize, inputs: &Inputs) -> Result<Outputs, Stop> {
        let worker = &mut self.worker;
        let blame = |stop| blame(&self.source, stop);
        let launcher = CaseLauncher::set_up(spec, index, worker, self.module, std::slice::from_ref(inputs))?;
        launcher.launch(worker, 0, inputs, ExecutionOrder::Forward).map_err(blame)?;
        let breaches = worker.breaches().map_err(blame)?;
        let outputs = launcher.outputs(worker).map_err(blame)?;
        if let Some(breach) = breaches.first() {
            return Err(blame(Stop::Crash(launcher.describe(breach))));
        }
        launcher.take_down(worker)?;
        let case = &spec.cases[index];
        for ((tensor, shaped), content) in spec.tensors.iter().zip(&case.tensors).zip(&outputs) {
            let Some(content) = content.as_ref().filter(|_| tensor.role == TensorRole::Out) else { continue };
            let unwritten = content.chunks_exact(shaped.dtype.size()).position(|c| shaped.dtype.is_poison(c));
            if let Some(cell) = unwritten {
                let place = format!("{}{} ({})", tensor.name, shaped.index(cell), case.label);
                return Err(blame(Stop::Crash(format!("never wrote {place}"))));
            }
        }
        Ok(outputs)
    }
}

/// Whatever goes wrong here is the problem's fault, not the candidate's.
fn blame(source: &Path, stop: Stop) -> Stop {
    Stop::Problem(format!("{}: {stop}", source.display()))
}

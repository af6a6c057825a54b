//! The buffers of one case on one worker, and its launches.

use super::spec::{Case, ProblemSpec, TensorRole};
use crate::outcome::Stop;
use crate::probe::bounds::CacheState;
use crate::worker::{Breach, BufferId, Launch, LaunchArg, ModuleId, Worker};
use lab_device::ExecutionOrder;
use std::cell::Cell;
use std::rc::Rc;

/// Separates a tensor's name from the number of its case in the name of a buffer. No tensor's name contains it.
const CASE: char = '#';

/// The bytes of a case's inputs, in the order of its tensors; `None` for pure outputs.
pub type Inputs = Vec<Option<Vec<u8>>>;

/// The bytes of a case's outputs, in the order of its tensors; `None` for pure inputs.
pub type Outputs = Vec<Option<Vec<u8>>>;

/// Draws inputs. The same seed and set number give the same inputs.
pub fn draw(spec: &ProblemSpec, case: &Case, seed: u64, set: usize) -> Inputs {
    let tensors = spec.tensors.iter().zip(&case.tensors);
    let inputs = tensors.map(|(tensor, shaped)| {
        let label = format!("{seed} {} {} {set} {}", case.entry, case.label, tensor.name);
        let seed =
            blake3::hash(label.as_bytes()).as_bytes().first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
        Some(tensor.values?.fill(shaped.dtype, shaped.cells(), seed))
    });
    inputs.collect()
}

/// The buffers of a case on a worker, with one or several sets of inputs. Each launch picks a set.
pub struct CaseLauncher {
    spec: Rc<ProblemSpec>,
    /// The index of the case among the spec's.
    index: usize,
    module: ModuleId,
    /// One copy of every buffer, or several that take turns.
    copies: Vec<Buffers>,
    /// The copy of the last launch.
    last: Cell<usize>,
    /// Written before each launch, so that the L2 cache holds nothing else.
    scratch: Option<BufferId>,
}

/// One copy of a case's buffers.
#[derive(Default)]
struct Buffers {
    /// For each set, by tensor; `None` if the tensor is an output.
    inputs: Vec<Vec<Option<BufferId>>>,
    /// By tensor; `None` if the tensor is an input. All sets share them: they are filled anew before each launch.
    outputs: Vec<Option<BufferId>>,
}

/// Writing this many times the size of the L2 cache replaces everything in it, whatever its replacement policy.
const FLUSHED_BY: u64 = 4;

/// Allocates what launches with a cold cache write in between; `None` if the cache stays warm, and on a device
/// without a cache. All cases of a worker share it.
pub fn scratch(spec: &ProblemSpec, worker: &mut Worker) -> Result<Option<BufferId>, Stop> {
    let bytes = (FLUSHED_BY * worker.info().l2_bytes) as usize;
    let cold = spec.cache == CacheState::Cold && bytes > 0;
    // Its name says case 0, so that a store into its guard zones is reported with the first case.
    cold.then(|| worker.buffer(&format!("scratch{CASE}0"), bytes)).transpose()
}

impl CaseLauncher {
    /// Allocates the buffers of a case and uploads its inputs.
    pub fn set_up(
        spec: &Rc<ProblemSpec>,
        index: usize,
        worker: &mut Worker,
        module: ModuleId,
        sets: &[Inputs],
    ) -> Result<Self, Stop> {
        let (spec, last) = (spec.clone(), Cell::new(0));
        let mut launcher = CaseLauncher { spec, index, module, copies: Vec::new(), last, scratch: None };
        launcher.copies.push(launcher.buffers(worker, sets)?);
        Ok(launcher)
    }

    /// Prepares for timed launches. If the problem wants a cold cache, `scratch` is written before each launch, and
    /// two copies of every buffer take turns, so that no launch finds its own data in a cache. A case so large that
    /// it replaces the whole L2 cache by itself needs no second copy.
    pub fn timed(
        mut self,
        worker: &mut Worker,
        sets: &[Inputs],
        scratch: Option<BufferId>,
    ) -> Result<Self, Stop> {
        if self.spec.cache == CacheState::Warm {
            return Ok(self);
        }
        self.scratch = scratch;
        let bytes: usize = self.case().tensors.iter().map(super::spec::CaseTensor::bytes).sum();
        let l2_bytes = worker.info().l2_bytes;
        if l2_bytes == 0 || (bytes as u64) < 2 * l2_bytes {
            self.copies.push(self.buffers(worker, sets)?);
        }
        Ok(self)
    }

    fn buffers(&self, worker: &mut Worker, sets: &[Inputs]) -> Result<Buffers, Stop> {
        let mut all = Buffers::default();
        for (tensor, shaped) in self.spec.tensors.iter().zip(&self.case().tensors) {
            let output = tensor.role != TensorRole::In;
            all.outputs.push(if output {
                Some(worker.buffer(&self.name_of(&tensor.name), shaped.bytes())?)
            } else {
                None
            });
        }
        for set in sets {
            let mut buffers = Vec::new();
            for (tensor, content) in self.spec.tensors.iter().zip(set) {
                buffers.push(match content {
                    Some(content) if tensor.role == TensorRole::In => {
                        let buffer = worker.buffer(&self.name_of(&tensor.name), content.len())?;
                        worker.write(buffer, content)?;
                        worker.seal(buffer)?;
                        Some(buffer)
                    }
                    _ => None,
                });
            }
            all.inputs.push(buffers);
        }
        Ok(all)
    }

    /// The case.
    pub fn case(&self) -> &Case {
        &self.spec.cases[self.index]
    }

    /// The name of a tensor's buffers on the worker, where several cases may be set up.
    fn name_of(&self, tensor: &str) -> String {
        format!("{tensor}{CASE}{}", self.index)
    }

    /// Returns whether a breach concerns one of its buffers.
    pub fn owns(&self, breach: &Breach) -> bool {
        let (Breach::OutOfBounds { buffer, .. }
        | Breach::StrayStore { buffer, .. }
        | Breach::InputChanged { buffer, .. }) = breach;
        buffer.rsplit_once(CASE).is_some_and(|(_, index)| index == self.index.to_string())
    }

    /// Loads the module anew, so that its globals hold nothing from earlier launches.
    pub fn reload(&self, worker: &mut Worker) -> Result<(), Stop> {
        worker.reload(self.module)
    }

    /// Launches on the inputs number `set` and returns the seconds of the launch. `contents` must be that set:
    /// tensors that the kernel overwrites are written from it.
    pub fn launch(
        &self,
        worker: &mut Worker,
        set: usize,
        contents: &Inputs,
        order: ExecutionOrder,
    ) -> Result<f64, Stop> {
        let copy = (self.last.get() + 1) % self.copies.len();
        self.last.set(copy);
        let buffers = &self.copies[copy];
        let mut args = Vec::new();
        for (i, output) in buffers.outputs.iter().enumerate() {
            let buffer = match (output, &contents[i]) {
                (Some(buffer), Some(content)) => {
                    worker.write(*buffer, content)?;
                    *buffer
                }
                (Some(buffer), None) => {
                    worker.poison(*buffer)?;
                    *buffer
                }
                (None, _) => {
                    buffers.inputs[set][i].expect("a tensor that is not an output is an input of every set")
                }
            };
            args.push(LaunchArg::Buffer(buffer));
        }
        if let Some(scratch) = self.scratch {
            worker.flush_cache(scratch)?;
        }
        args.extend(self.spec.scalars.iter().map(|s| LaunchArg::Value(s.bytes.clone())));
        args.extend(self.case().dims.iter().map(|n| LaunchArg::Value(n.to_le_bytes().to_vec())));
        let dims = self.case().dims.iter().flat_map(|n| n.to_le_bytes()).collect();
        let entry = self.case().entry.clone();
        worker.launch(&Launch { module: self.module, entry, args, dims, order })
    }

    /// The outputs of the last launch.
    pub fn outputs(&self, worker: &mut Worker) -> Result<Outputs, Stop> {
        self.copies[self.last.get()]
            .outputs
            .iter()
            .map(|buffer| buffer.map(|b| worker.read(b)).transpose())
            .collect()
    }

    /// Frees every buffer.
    pub fn take_down(self, worker: &mut Worker) -> Result<(), Stop> {
        let buffers = self.copies.into_iter().flat_map(|copy| {
            let inputs = copy.inputs.into_iter().flatten();
            inputs.chain(copy.outputs).flatten()
        });
        buffers.into_iter().try_for_each(|buffer| worker.free(buffer))
    }

    /// Describes a breach, with the tensor's index if it has one.
    pub fn describe(&self, breach: &Breach) -> String {
        let plain = |buffer: &str| buffer.rsplit_once(CASE).map_or(buffer, |(name, _)| name).to_owned();
        let find = |name: &str| {
            let i = self.spec.tensors.iter().position(|t| t.name == name)?;
            Some(&self.case().tensors[i])
        };
        match breach {
            Breach::OutOfBounds { buffer, offset } => {
                let buffer = &plain(buffer);
                let bytes = find(buffer).map_or(0, |t| t.bytes() as i64);
                let size = find(buffer).map_or(1, |t| t.dtype.size() as i64);
                if *offset < 0 {
                    format!("wrote out of bounds: {} bytes before the start of {buffer}", -offset)
                } else {
                    let nth = (offset - bytes) / size + 1;
                    format!("wrote out of bounds: into cell {nth} behind the last one of {buffer}")
                }
            }
            Breach::StrayStore { buffer, offset } => {
                let buffer = &plain(buffer);
                let place = find(buffer).zip(*offset).map(|(t, at)| t.index(at as usize / t.dtype.size()));
                format!("wrote into {buffer}{}, which the launch was not given", place.unwrap_or_default())
            }
            Breach::InputChanged { buffer, offset } => {
                let buffer = &plain(buffer);
                let place = find(buffer).map(|t| t.index(*offset as usize / t.dtype.size()));
                format!("changed its input {buffer}{}", place.unwrap_or_default())
            }
        }
    }
}

#[cfg(test)]
mod tests;

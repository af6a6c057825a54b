//! One case on one worker: buffers, inputs and launches.

use super::spec::{Case, ProblemSpec, TensorRole};
use crate::outcome::Stop;
use crate::probe::bounds::CacheState;
use crate::worker::{Breach, BufferId, Launch, LaunchArg, ModuleId, Worker};
use lab_device::ExecutionOrder;
use std::cell::Cell;
use std::rc::Rc;

/// Between a tensor's name and the number of its case; no name of a tensor holds it.
const CASE: char = '#';

/// The bytes of a case's inputs, in the order of its tensors; `None` of pure outputs.
pub type Inputs = Vec<Option<Vec<u8>>>;

/// The bytes of its outputs; `None` of pure inputs.
pub type Outputs = Vec<Option<Vec<u8>>>;

/// Draws inputs. The same seed and set give the same ones.
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

/// The buffers of a case on a worker, with one set of inputs or several; each launch picks one.
pub struct CaseLauncher {
    spec: Rc<ProblemSpec>,
    /// Of the case, among the spec's.
    index: usize,
    module: ModuleId,
    /// One, or several that take turns.
    copies: Vec<Buffers>,
    /// The copy that was launched on last.
    last: Cell<usize>,
    /// Written to before each launch, so that nothing else is in the L2 cache.
    scratch: Option<BufferId>,
}

/// Every buffer of a case.
#[derive(Default)]
struct Buffers {
    /// Of each set; `None` where the tensor is an output.
    inputs: Vec<Vec<Option<BufferId>>>,
    /// `None` where the tensor is an input. One for all sets, made anew before each launch.
    outputs: Vec<Option<BufferId>>,
}

/// An L2 cache holds nothing older than so many times its size, whatever it replaces first.
const FLUSHED_BY: u64 = 4;

/// What launches with a cold cache write to in between; `None` on a device without a cache. One for all
/// cases of a worker.
pub fn scratch(spec: &ProblemSpec, worker: &mut Worker) -> Result<Option<BufferId>, Stop> {
    let bytes = (FLUSHED_BY * worker.info().l2_bytes) as usize;
    let cold = spec.cache == CacheState::Cold && bytes > 0;
    // By its name it belongs to the first case: a store into its zones is reported with it.
    cold.then(|| worker.buffer(&format!("scratch{CASE}0"), bytes)).transpose()
}

impl CaseLauncher {
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

    /// With the cache that the problem wants of its timed launches. Where that is cold, `scratch` is written to before
    /// each of them, and two copies of every buffer take turns: no launch finds its own memory in any
    /// cache. A case so large that it sweeps the L2 cache by itself needs no second copy.
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
        let bytes: usize = self.case().tensors.iter().map(|tensor| tensor.bytes()).sum();
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

    pub fn case(&self) -> &Case {
        &self.spec.cases[self.index]
    }

    /// What a tensor's buffers are called on the worker: several cases may be set up there.
    fn name_of(&self, tensor: &str) -> String {
        format!("{tensor}{CASE}{}", self.index)
    }

    /// Whether a breach is of one of its buffers.
    pub fn owns(&self, breach: &Breach) -> bool {
        let (Breach::OutOfBounds { buffer, .. } | Breach::InputChanged { buffer, .. }) = breach;
        buffer.rsplit_once(CASE).is_some_and(|(_, index)| index == self.index.to_string())
    }

    /// The next launch finds nothing that an earlier one left in the kernel's globals.
    pub fn reload(&self, worker: &mut Worker) -> Result<(), Stop> {
        worker.reload(self.module)
    }

    /// Launches on inputs that [`CaseLauncher::set_up`] was given: `contents` is `sets[set]` again, for
    /// the tensors that a launch overwrites. Seconds of the launch alone.
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
                    buffers.inputs[set][i].expect("a tensor that is no output is an input of every set")
                }
            };
            args.push(LaunchArg::Buffer(buffer));
        }
        if let Some(scratch) = self.scratch {
            worker.poison(scratch)?;
        }
        args.extend(self.spec.scalars.iter().map(|s| LaunchArg::Value(s.bytes.clone())));
        args.extend(self.case().dims.iter().map(|n| LaunchArg::Value(n.to_le_bytes().to_vec())));
        let dims = self.case().dims.iter().flat_map(|n| n.to_le_bytes()).collect();
        let entry = self.case().entry.clone();
        worker.launch(&Launch { module: self.module, entry, args, dims, order })
    }

    /// Of the last launch.
    pub fn outputs(&self, worker: &mut Worker) -> Result<Outputs, Stop> {
        self.copies[self.last.get()]
            .outputs
            .iter()
            .map(|buffer| buffer.map(|b| worker.read(b)).transpose())
            .collect()
    }

    pub fn take_down(self, worker: &mut Worker) -> Result<(), Stop> {
        let buffers = self.copies.into_iter().flat_map(|copy| {
            let inputs = copy.inputs.into_iter().flatten();
            inputs.chain(copy.outputs).flatten()
        });
        buffers.into_iter().try_for_each(|buffer| worker.free(buffer))
    }

    /// A breach in words, with the tensor's index where it has one.
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

//! The buffers of one case on one worker, and its launches.

use super::parameters::{parameters, with_parameters};
use super::spec::{Case, CaseTensor, ProblemSpec, TensorRole, TensorSpec};
use crate::dtype::Dtype;
use crate::gates::Unwritten;
use crate::outcome::Stop;
use crate::probe::bounds::CacheState;
use crate::worker::{
    Breach, BufferId, Launch, LaunchArg, LaunchTensor, ModuleId, SCRATCH_NAME, Worker,
};
use lab_device::ExecutionOrder;
use std::rc::Rc;

/// Separates a tensor's name from the number of its case in the name of a buffer. No tensor's name
/// contains it.
const CASE: char = '#';

/// The bytes of a case's inputs, in the order of its tensors; `None` for pure outputs.
pub type Inputs = Vec<Option<Vec<u8>>>;

/// The bytes of a case's outputs, in the order of its tensors; `None` for pure inputs.
pub type Outputs = Vec<Option<Vec<u8>>>;

/// What a launch wrote, and what its outputs held before.
pub struct Written {
    pub outputs: Outputs,
    /// The pattern that each output was filled with, in the order of the case's tensors; `None` for
    /// other tensors.
    pub patterns: Vec<Option<u32>>,
}

impl Written {
    /// How a cell of output `i` that the launch never wrote is known. `other` is another launch on
    /// the same inputs.
    pub fn unwritten<'a>(
        &self,
        i: usize,
        dtype: Dtype,
        other: Option<&'a Written>,
    ) -> Unwritten<'a> {
        let other =
            other.and_then(|other| Some((other.outputs[i].as_deref()?, other.patterns[i]?)));
        match (self.patterns[i], other) {
            (Some(pattern), Some((other, other_pattern)))
                if dtype.poison_is_a_value() && pattern != other_pattern =>
            {
                Unwritten::ByTwoLaunches {
                    pattern,
                    other,
                    other_pattern,
                }
            }
            _ => Unwritten::of(dtype),
        }
    }
}

/// Draws inputs. The same seed and set number give the same inputs.
pub fn draw(spec: &ProblemSpec, case: &Case, seed: u64, set: usize) -> Inputs {
    let tensors = spec.tensors.iter().zip(&case.tensors);
    let inputs = tensors.map(|(tensor, shaped)| {
        let label = format!("{seed} {} {} {set} {}", case.entry, case.label, tensor.name);
        let seed = blake3::hash(label.as_bytes())
            .as_bytes()
            .first_chunk()
            .map_or(0, |b| u64::from_le_bytes(*b));
        shaped.draw(seed)
    });
    inputs.collect()
}

/// The buffers of a case on a worker. Every set of inputs has buffers of its own, outputs included,
/// so that the launches of a graph share nothing, and what each wrote can be checked after all of
/// them.
pub struct CaseLauncher {
    spec: Rc<ProblemSpec>,
    /// The index of the case among the spec's.
    index: usize,
    sets: Vec<SetBuffers>,
    /// All sets of inputs have the buffers of the first.
    shares_buffers: bool,
}

/// The buffers of one set, in the order of the spec's tensors.
struct SetBuffers(Vec<TensorBuffer>);

#[derive(Clone, Copy)]
enum TensorBuffer {
    Input(BufferId),
    /// An output, which is poisoned or written anew before each launch.
    Output(BufferId),
}

impl TensorBuffer {
    fn id(self) -> BufferId {
        match self {
            TensorBuffer::Input(id) | TensorBuffer::Output(id) => id,
        }
    }
}

/// Writing this many times the size of the L2 cache replaces everything in it, whatever its
/// replacement policy.
const FLUSHED_BY: u64 = 4;

/// What messages call the buffer that flushes the cache. No tensor has this name.
const FLUSHED: &str = "the lab's own buffer";

/// Allocates what is written before a timed window with a cold cache; `None` if the cache stays
/// warm, and on a device without a cache. All cases of a worker share it.
pub fn scratch(spec: &ProblemSpec, worker: &mut Worker) -> Result<Option<BufferId>, Stop> {
    let bytes = (FLUSHED_BY * worker.info().l2_bytes) as usize;
    let cold = spec.cache == CacheState::Cold && bytes > 0;
    // Its name says case 0, so that a store into its guard zones is reported with the first case.
    cold.then(|| worker.buffer(&format!("{FLUSHED}{CASE}0"), bytes))
        .transpose()
}

impl CaseLauncher {
    /// Allocates the buffers of a case and uploads its inputs.
    pub fn set_up(
        spec: &Rc<ProblemSpec>,
        index: usize,
        worker: &mut Worker,
        sets: &[Inputs],
    ) -> Result<Self, Stop> {
        let mut launcher = CaseLauncher::without_sets(spec, index, false);
        launcher.allocate(worker, sets)?;
        for (number, set) in sets.iter().enumerate() {
            launcher.write_inputs(worker, number, set)?;
        }
        Ok(launcher)
    }

    fn without_sets(spec: &Rc<ProblemSpec>, index: usize, shares_buffers: bool) -> Self {
        CaseLauncher {
            spec: spec.clone(),
            index,
            sets: Vec::new(),
            shares_buffers,
        }
    }

    /// As [`CaseLauncher::set_up`], with one set of buffers for all sets. It uploads nothing: each
    /// launch uploads its inputs. For many small sets that takes a part of the time, and no two of
    /// them can be launched without a preparation in between.
    pub fn set_up_shared(
        spec: &Rc<ProblemSpec>,
        index: usize,
        worker: &mut Worker,
        sets: &[Inputs],
    ) -> Result<Self, Stop> {
        let mut launcher = CaseLauncher::without_sets(spec, index, true);
        launcher.allocate(worker, sets.get(..1).unwrap_or_default())?;
        Ok(launcher)
    }

    /// Whether all sets of inputs have the same buffers.
    pub fn shares_buffers(&self) -> bool {
        self.shares_buffers
    }

    /// The number of the buffers that a set has. Further sets lie where earlier ones have lain.
    fn place(&self, set: usize) -> usize {
        if self.shares_buffers {
            0
        } else {
            set % self.sets.len().max(1)
        }
    }

    /// Allocates the buffers of these sets.
    fn allocate(&mut self, worker: &mut Worker, sets: &[Inputs]) -> Result<(), Stop> {
        let tensors = || self.spec.tensors.iter().zip(&self.case().tensors);
        let wanted = sets.iter().flat_map(|_| {
            tensors().map(|(tensor, shaped)| (self.name_of(&tensor.name), shaped.bytes()))
        });
        let mut ids = worker.buffers(wanted.collect())?.into_iter();
        let mut all = Vec::with_capacity(sets.len());
        for set in sets {
            let mut buffers = Vec::with_capacity(set.len());
            for (((tensor, shaped), content), id) in tensors().zip(set).zip(&mut ids) {
                worker.set_poisons(id, shaped.dtype.poisons());
                buffers.push(match content {
                    Some(_) if tensor.role == TensorRole::In => TensorBuffer::Input(id),
                    _ => TensorBuffer::Output(id),
                });
            }
            all.push(SetBuffers(buffers));
        }
        self.sets = all;
        Ok(())
    }

    /// The case.
    pub fn case(&self) -> &Case {
        &self.spec.cases[self.index]
    }

    /// The number of its sets.
    pub fn sets(&self) -> usize {
        self.sets.len()
    }

    /// The name of a tensor.
    pub fn name(&self, tensor: usize) -> &str {
        &self.spec.tensors[tensor].name
    }

    /// The name of a tensor's buffers on the worker, where several cases may be set up.
    fn name_of(&self, tensor: &str) -> String {
        format!("{tensor}{CASE}{}", self.index)
    }

    /// Returns whether a breach concerns one of its buffers.
    pub fn owns(&self, breach: &Breach) -> bool {
        let (Breach::OutOfBounds { buffer, .. }
        | Breach::StrayStore { buffer, .. }
        | Breach::LateStore { buffer, .. }
        | Breach::InputChanged { buffer, .. }) = breach;
        buffer
            .rsplit_once(CASE)
            .is_some_and(|(_, index)| index == self.index.to_string())
    }

    /// The buffers that the kernel reads and must not change, of this set.
    pub fn inputs_of(&self, set: usize) -> impl Iterator<Item = BufferId> + '_ {
        self.sets[self.place(set)]
            .0
            .iter()
            .filter_map(|buffer| match buffer {
                TensorBuffer::Input(id) => Some(*id),
                TensorBuffer::Output(_) => None,
            })
    }

    /// The buffers that the kernel writes, of this set.
    pub fn outputs_of(&self, set: usize) -> impl Iterator<Item = BufferId> + '_ {
        self.sets[self.place(set)]
            .0
            .iter()
            .filter_map(|buffer| match buffer {
                TensorBuffer::Output(id) => Some(*id),
                TensorBuffer::Input(_) => None,
            })
    }

    /// Prepares the outputs of these sets for a launch: poisons them, or writes what the kernel
    /// finds in them. `contents` are all sets.
    pub fn prepare(
        &self,
        worker: &mut Worker,
        sets: &[usize],
        contents: &[Inputs],
    ) -> Result<(), Stop> {
        let poisoned = self.write_before(worker, sets, contents)?;
        worker.poison_all(poisoned)
    }

    /// Writes what the kernel finds in these sets. Returns the buffers that are still to be
    /// poisoned.
    fn write_before(
        &self,
        worker: &mut Worker,
        sets: &[usize],
        contents: &[Inputs],
    ) -> Result<Vec<BufferId>, Stop> {
        let mut poisoned = Vec::new();
        for set in sets {
            for (buffer, content) in self.sets[self.place(*set)].0.iter().zip(&contents[*set]) {
                match (buffer, content) {
                    (TensorBuffer::Output(id), Some(content)) => worker.write(*id, content)?,
                    (TensorBuffer::Output(id), None) => poisoned.push(*id),
                    (TensorBuffer::Input(_), _) => {}
                }
            }
            if self.shares_buffers {
                self.write_inputs(worker, *set, &contents[*set])?;
            }
        }
        Ok(poisoned)
    }

    /// Writes other inputs into the buffers of a set.
    pub fn write_inputs(
        &self,
        worker: &mut Worker,
        set: usize,
        content: &Inputs,
    ) -> Result<(), Stop> {
        let buffers = self.sets[self.place(set)].0.iter().zip(content);
        let inputs = buffers.filter_map(|(buffer, content)| match (buffer, content) {
            (TensorBuffer::Input(id), Some(content)) => Some((*id, content.as_slice())),
            _ => None,
        });
        worker.write_inputs(&inputs.collect::<Vec<_>>())
    }

    /// The launch of `module`'s kernel on this set.
    pub fn launch_of(&self, module: ModuleId, set: usize, order: ExecutionOrder) -> Launch {
        let mut args: Vec<LaunchArg> = self.sets[self.place(set)]
            .0
            .iter()
            .map(|buffer| LaunchArg::Buffer(buffer.id()))
            .collect();
        args.extend(
            self.case()
                .scalars
                .iter()
                .map(|bytes| LaunchArg::Value(bytes.clone())),
        );
        args.extend(
            self.case()
                .dims
                .iter()
                .map(|n| LaunchArg::Value(n.to_le_bytes().to_vec())),
        );
        let dims = self
            .case()
            .dims
            .iter()
            .flat_map(|n| n.to_le_bytes())
            .collect();
        Launch {
            module,
            entry: self.case().entry.clone(),
            args,
            dims,
            order,
            tensors: self.tensors(),
            parameters: parameters(&self.spec, self.case()),
            scratch: self.name_of(SCRATCH_NAME),
        }
    }

    /// What a launch statement may ask tensor maps of. The tensors are the first arguments.
    fn tensors(&self) -> Vec<LaunchTensor> {
        let tensors = self
            .spec
            .tensors
            .iter()
            .zip(&self.case().tensors)
            .enumerate();
        let of = |(arg, (tensor, shaped)): (usize, (&TensorSpec, &CaseTensor))| LaunchTensor {
            name: tensor.name.clone(),
            arg,
            element: shaped.dtype.map_element(),
            shape: shaped.shape.iter().map(|n| *n as u64).collect(),
        };
        tensors.map(of).collect()
    }

    /// Prepares the outputs of a set, launches `module`'s kernel on it, and returns the seconds of
    /// the launch. `contents` are all sets.
    pub fn launch(
        &self,
        worker: &mut Worker,
        module: ModuleId,
        set: usize,
        contents: &[Inputs],
        order: ExecutionOrder,
    ) -> Result<f64, Stop> {
        let poisoned = self.write_before(worker, &[set], contents)?;
        let launched = worker.poison_and_launch(poisoned, &self.launch_of(module, set, order));
        launched.map_err(|stop| with_parameters(stop, &self.spec, self.case()))
    }

    /// The next launch on what the last one left in this set: state stays, and pure outputs are
    /// poisoned again. Returns the seconds of the launch. `contents` are all sets.
    pub fn launch_again(
        &self,
        worker: &mut Worker,
        module: ModuleId,
        set: usize,
        contents: &[Inputs],
        order: ExecutionOrder,
    ) -> Result<f64, Stop> {
        let buffers = self.sets[self.place(set)].0.iter().zip(&contents[set]);
        let pure = buffers.filter_map(|(buffer, content)| match (buffer, content) {
            (TensorBuffer::Output(id), None) => Some(*id),
            _ => None,
        });
        worker.poison_and_launch(pure.collect(), &self.launch_of(module, set, order))
    }

    /// What the last launch on this set wrote, and the patterns that its outputs held before.
    pub fn written(
        &self,
        worker: &mut Worker,
        set: usize,
        contents: &Inputs,
    ) -> Result<Written, Stop> {
        let buffers = self.sets[self.place(set)].0.iter().zip(contents);
        let pattern = |(buffer, content): (&TensorBuffer, &Option<Vec<u8>>)| match (buffer, content)
        {
            (TensorBuffer::Output(id), None) => worker.last_poison(*id),
            _ => None,
        };
        let patterns = buffers.map(pattern).collect();
        Ok(Written {
            outputs: self.outputs(worker, set)?,
            patterns,
        })
    }

    /// What the last launch on this set wrote.
    pub fn outputs(&self, worker: &mut Worker, set: usize) -> Result<Outputs, Stop> {
        let output = |buffer: &TensorBuffer| match buffer {
            TensorBuffer::Output(id) => worker.read(*id).map(Some),
            TensorBuffer::Input(_) => Ok(None),
        };
        self.sets[self.place(set)].0.iter().map(output).collect()
    }

    /// Frees every buffer.
    pub fn take_down(self, worker: &mut Worker) -> Result<(), Stop> {
        let mut buffers = self.sets.iter().flat_map(|set| &set.0);
        buffers.try_for_each(|buffer| worker.free(buffer.id()))
    }

    /// Describes a breach, with the tensor's index if it has one.
    pub fn describe(&self, breach: &Breach) -> String {
        let plain = |buffer: &str| {
            buffer
                .rsplit_once(CASE)
                .map_or(buffer, |(name, _)| name)
                .to_owned()
        };
        let find = |name: &str| {
            let i = self.spec.tensors.iter().position(|t| t.name == name)?;
            Some(&self.case().tensors[i])
        };
        match breach {
            Breach::OutOfBounds { buffer, offset } => {
                let buffer = &plain(buffer);
                match find(buffer) {
                    _ if *offset < 0 => {
                        format!(
                            "wrote out of bounds: {} bytes before the start of {buffer}",
                            -offset
                        )
                    }
                    Some(tensor) => {
                        let nth = (offset - tensor.bytes() as i64) / tensor.dtype.size() as i64 + 1;
                        format!(
                            "wrote out of bounds: into cell {nth} behind the last one of {buffer}"
                        )
                    }
                    None => {
                        format!("wrote out of bounds: to byte {offset} of {buffer}, behind its end")
                    }
                }
            }
            Breach::StrayStore { buffer, offset } | Breach::LateStore { buffer, offset } => {
                let buffer = &plain(buffer);
                let place = match (find(buffer), offset) {
                    (Some(t), Some(at)) => t.index(*at as usize / t.dtype.size()),
                    (None, Some(at)) => format!(" (byte {at})"),
                    (_, None) => String::new(),
                };
                match breach {
                    Breach::LateStore { .. } => {
                        format!(
                            "wrote into {buffer}{place} after its launch had ended: a thread or a process of it worked on"
                        )
                    }
                    _ => format!("wrote into {buffer}{place}, which the launch was not given"),
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

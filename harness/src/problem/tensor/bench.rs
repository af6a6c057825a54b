//! One case on one worker: buffers, inputs and launches.

use super::spec::{Case, Role, Spec};
use crate::device::Order;
use crate::problem::Stop;
use crate::process::worker::{Breach, BufferId, Launch, LaunchArg, ModuleId, Worker};
use std::rc::Rc;

/// Between a tensor's name and the number of its case; no name of a tensor holds it.
const CASE: char = '#';

/// The bytes of a case's inputs, in the order of its tensors; `None` of pure outputs.
pub type Inputs = Vec<Option<Vec<u8>>>;

/// The bytes of its outputs; `None` of pure inputs.
pub type Outputs = Vec<Option<Vec<u8>>>;

/// Draws inputs. The same seed and set give the same ones.
pub fn draw(spec: &Spec, case: &Case, seed: u64, set: usize) -> Inputs {
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
pub struct Bench {
    spec: Rc<Spec>,
    /// Of the case, among the spec's.
    index: usize,
    module: ModuleId,
    /// Of each set; `None` where the tensor is an output.
    inputs: Vec<Vec<Option<BufferId>>>,
    /// `None` where the tensor is an input. One for all sets, made anew before each launch.
    outputs: Vec<Option<BufferId>>,
}

impl Bench {
    pub fn set_up(
        spec: &Rc<Spec>,
        index: usize,
        worker: &mut Worker,
        module: ModuleId,
        sets: &[Inputs],
    ) -> Result<Self, Stop> {
        let mut bench = Bench { spec: spec.clone(), index, module, inputs: Vec::new(), outputs: Vec::new() };
        for (tensor, shaped) in spec.tensors.iter().zip(&spec.cases[index].tensors) {
            let output = tensor.role != Role::In;
            bench.outputs.push(if output {
                Some(worker.buffer(&bench.name_of(&tensor.name), shaped.bytes())?)
            } else {
                None
            });
        }
        for set in sets {
            let mut buffers = Vec::new();
            for (tensor, content) in spec.tensors.iter().zip(set) {
                buffers.push(match content {
                    Some(content) if tensor.role == Role::In => {
                        let buffer = worker.buffer(&bench.name_of(&tensor.name), content.len())?;
                        worker.write(buffer, content)?;
                        worker.seal(buffer)?;
                        Some(buffer)
                    }
                    _ => None,
                });
            }
            bench.inputs.push(buffers);
        }
        Ok(bench)
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

    /// Launches on inputs that [`Bench::set_up`] was given: `contents` is `sets[set]` again, for
    /// the tensors that a launch overwrites. Seconds of the launch alone.
    pub fn launch(
        &self,
        worker: &mut Worker,
        set: usize,
        contents: &Inputs,
        order: Order,
    ) -> Result<f64, Stop> {
        let mut args = Vec::new();
        for (i, output) in self.outputs.iter().enumerate() {
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
                    self.inputs[set][i].expect("a tensor that is no output is an input of every set")
                }
            };
            args.push(LaunchArg::Buffer(buffer));
        }
        args.extend(self.spec.scalars.iter().map(|s| LaunchArg::Value(s.bytes.clone())));
        args.extend(self.case().dims.iter().map(|n| LaunchArg::Value(n.to_le_bytes().to_vec())));
        let dims = self.case().dims.iter().flat_map(|n| n.to_le_bytes()).collect();
        let entry = self.case().entry.clone();
        worker.launch(&Launch { module: self.module, entry, args, dims, order })
    }

    pub fn outputs(&self, worker: &mut Worker) -> Result<Outputs, Stop> {
        self.outputs.iter().map(|buffer| buffer.map(|b| worker.read(b)).transpose()).collect()
    }

    pub fn take_down(self, worker: &mut Worker) -> Result<(), Stop> {
        let inputs = self.inputs.into_iter().flatten();
        inputs.chain(self.outputs).flatten().try_for_each(|buffer| worker.free(buffer))
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

//! The buffers of one case on one worker, and its launches.

use super::case_data::{CaseData, Contents};
use super::parameters::{Pointer, parameters, with_parameters};
use super::spec::{Case, CaseTensor, ProblemSpec, TensorRole};
use crate::cells::Unwritten;
use crate::dtype::Dtype;
use crate::outcome::Result;
use crate::probe::bounds::CacheState;
use crate::worker::Cells;
use crate::worker::{
    Breach, BufferId, Launch, LaunchArg, LentInputs, ModuleId, SCRATCH_NAME, Worker,
};
use itertools::Itertools as _;
use lab_device::ExecutionOrder;
use std::rc::Rc;
use std::sync::Arc;

/// Separates a tensor's name from the number of its case in the name of a buffer. No tensor's name
/// contains it.
const CASE: char = '#';

/// What a launch wrote, and what its outputs held before.
pub struct Written {
    /// `None` for pure inputs.
    pub outputs: Contents,
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
    ) -> Unwritten<&'a Cells> {
        let other = other.and_then(|other| Some((other.outputs[i].as_ref()?, other.patterns[i]?)));
        match (self.patterns[i], other) {
            (Some(pattern), Some((other, other_pattern)))
                if !dtype.is_mark(pattern) && pattern != other_pattern =>
            {
                Unwritten::by_two_launches(pattern, other, other_pattern)
            }
            (pattern, _) => Unwritten::by_marks(dtype, pattern),
        }
    }
}

/// [`Worker::take`] or [`Worker::look_at`].
pub type ReadCells = fn(&mut Worker, &[BufferId]) -> Result<Vec<Cells>>;

/// A launch on a set, or two where only two show a cell that the kernel never wrote.
pub struct Launched {
    pub earlier: Option<Written>,
    pub last: Written,
    /// The seconds of the last one.
    pub seconds: f64,
}

/// The buffers of a case on a worker. Every set of inputs has buffers of its own, outputs included,
/// so that the launches of a graph share nothing, and what each wrote can be checked after all of
/// them.
pub struct CaseLauncher {
    case: Arc<Case>,
    /// The buffers of each set, in the order of the case's tensors; `None` for a null pointer.
    /// Those of fixed inputs belong to the worker.
    sets: Vec<Vec<Option<BufferId>>>,
    /// All sets of inputs have the buffers of the first.
    shares_buffers: bool,
}

/// Writing this many times the size of the L2 cache replaces everything in it, whatever its
/// replacement policy.
const FLUSHED_BY: u64 = 4;

/// The name in messages of the buffer that flushes the cache. No tensor has this name.
const FLUSHED: &str = "the lab's own buffer";

/// Allocates what is written before a timed window with a cold cache; `None` if the cache stays
/// warm, and on a device without a cache. All cases of a worker share it.
pub fn scratch(spec: &ProblemSpec, worker: &mut Worker) -> Result<Option<BufferId>> {
    let bytes = (FLUSHED_BY * worker.info().l2_bytes) as usize;
    let cold = spec.cache == CacheState::Cold && bytes > 0;
    // Its name says case 0, so that a store into its guard zones is reported with the first case.
    cold.then(|| worker.own_buffer(&format!("{FLUSHED}{CASE}0"), bytes))
        .transpose()
}

impl CaseLauncher {
    /// Allocates the buffers of a case and uploads the inputs of its sets.
    pub fn set_up(data: &CaseData, worker: &mut Worker) -> Result<Self> {
        CaseLauncher::set_up_all(&[data], worker).map(|mut all| all.remove(0))
    }

    /// [`CaseLauncher::set_up`] for each of these.
    pub fn set_up_all(all: &[&CaseData], worker: &mut Worker) -> Result<Vec<Self>> {
        Ok(CaseLauncher::set_up_beside(all, worker, None)?.0)
    }

    /// [`CaseLauncher::set_up_all`] on the inputs of another worker that was set up for the same
    /// sets, if there is one. Returns the inputs for the next one, where they can be lent.
    pub fn set_up_beside(
        all: &[&CaseData],
        worker: &mut Worker,
        lent: Option<Rc<LentInputs>>,
    ) -> Result<(Vec<Self>, Option<Rc<LentInputs>>)> {
        let cases = all
            .iter()
            .map(|data| (&data.case, data.sets.len()))
            .collect_vec();
        let lent = lent.filter(|_| worker.only_reads_inputs());
        let (launchers, own) = CaseLauncher::allocate(&cases, worker, (false, lent.as_deref()))?;
        if lent.is_some() {
            return Ok((launchers, lent));
        }
        let each = launchers.iter().zip(all).flat_map(|(launcher, data)| {
            let sets = data.sets.iter().enumerate();
            sets.flat_map(|(set, content)| launcher.contents_of(set, &content.inputs, false))
        });
        let inputs = each.collect_vec();
        worker.write_cells(&inputs, true)?;
        Ok((launchers, own.map(Rc::new)))
    }

    /// As [`CaseLauncher::set_up`], with one set of buffers for all sets. It uploads nothing: each
    /// launch uploads its inputs. For many small sets that takes a part of the time, and no two of
    /// them can be launched without a preparation in between.
    pub fn set_up_shared(case: &Arc<Case>, worker: &mut Worker) -> Result<Self> {
        let (mut all, _) = CaseLauncher::allocate(&[(case, 1)], worker, (true, None))?;
        Ok(all.remove(0))
    }

    /// Allocates the buffers of cases with so many sets, but for inputs that are lent.
    fn allocate(
        cases: &[(&Arc<Case>, usize)],
        worker: &mut Worker,
        (shares_buffers, lent): (bool, Option<&LentInputs>),
    ) -> Result<(Vec<Self>, Option<LentInputs>)> {
        let empty = cases.iter().map(|(case, _)| CaseLauncher {
            case: Arc::clone(case),
            sets: Vec::new(),
            shares_buffers,
        });
        let mut launchers = empty.collect_vec();
        let is_own = |tensor: &&CaseTensor| !tensor.is_null && tensor.fixed.is_none();
        let wanted = |are_inputs: bool| {
            let each = launchers.iter().zip(cases);
            let wanted = each.flat_map(|(launcher, (case, sets))| {
                let tensors = (0..*sets).flat_map(|_| case.tensors.iter().filter(is_own));
                let meant =
                    tensors.filter(move |tensor| (tensor.role == TensorRole::In) == are_inputs);
                meant.map(|tensor| (launcher.name_of(&tensor.name), tensor.bytes()))
            });
            wanted.collect_vec()
        };
        let (inputs, outputs) = (wanted(true), wanted(false));
        let (inputs, own) = match lent {
            Some(lent) => (worker.map_inputs(lent)?, None),
            None => worker.lent_input_buffers(inputs)?,
        };
        let mut inputs = inputs.into_iter();
        let mut outputs = worker.buffers(outputs)?.into_iter();
        for (launcher, (_, sets)) in launchers.iter_mut().zip(cases) {
            launcher.take_buffers(*sets, [&mut inputs, &mut outputs], worker)?;
        }
        Ok((launchers, own))
    }

    /// Takes its buffers out of the inputs and the outputs that were allocated, for so many sets.
    fn take_buffers(
        &mut self,
        sets: usize,
        [inputs, outputs]: [&mut impl Iterator<Item = BufferId>; 2],
        worker: &mut Worker,
    ) -> Result {
        for _ in 0..sets {
            let mut buffers = Vec::with_capacity(self.case.tensors.len());
            for tensor in &self.case.tensors {
                buffers.push(match &tensor.fixed {
                    Some(fixed) => {
                        let name = format!("{}{CASE}", tensor.name);
                        Some(worker.fixed_input(fixed.key(), &name, fixed.bytes())?)
                    }
                    None if tensor.is_null => None,
                    None if tensor.role == TensorRole::In => inputs.next(),
                    None => outputs.next(),
                });
            }
            self.sets.push(buffers);
        }
        for set in 0..sets {
            for (tensor, id) in self.buffers(set) {
                worker.set_poisons(id, tensor.dtype.poisons());
            }
        }
        Ok(())
    }

    /// Whether all sets of inputs have the same buffers.
    pub fn shares_buffers(&self) -> bool {
        self.shares_buffers
    }

    /// The buffers of a set, each with its tensor. Further sets lie where earlier ones have lain.
    fn buffers(&self, set: usize) -> impl Iterator<Item = (&CaseTensor, BufferId)> {
        let buffers = self.case.tensors.iter().zip(self.all_buffers(set));
        buffers.filter_map(|(tensor, id)| Some((tensor, (*id)?)))
    }

    /// The buffer of each tensor of a set.
    fn all_buffers(&self, set: usize) -> &[Option<BufferId>] {
        &self.sets[set % self.sets.len().max(1)]
    }

    /// The outputs of a set that hold something before a launch, or its inputs, with what they hold.
    fn contents_of<'a>(
        &'a self,
        set: usize,
        contents: &'a Contents,
        of_outputs: bool,
    ) -> impl Iterator<Item = (BufferId, &'a Cells)> {
        let buffers = self.case.tensors.iter().zip(self.all_buffers(set));
        let meant = buffers.zip(contents);
        let meant = meant.filter(move |((tensor, _), _)| tensor.is_output() == of_outputs);
        meant.filter_map(|((_, id), content)| Some(((*id)?, content.as_ref()?)))
    }

    pub fn case(&self) -> &Arc<Case> {
        &self.case
    }

    /// The number of its sets.
    pub fn sets(&self) -> usize {
        self.sets.len()
    }

    /// The name of a tensor's buffers on the worker, where several cases may be set up.
    fn name_of(&self, tensor: &str) -> String {
        format!("{tensor}{CASE}{}", self.case.index)
    }

    /// Returns whether a breach concerns one of its buffers.
    pub fn owns(&self, breach: &Breach) -> bool {
        name_and_index(breach).1 == self.case.index.to_string()
    }

    /// The buffers of the tensors of this set that satisfy a condition.
    pub fn buffers_of(&self, set: usize, is_meant: fn(&CaseTensor) -> bool) -> Vec<BufferId> {
        let meant = self.buffers(set).filter(|(tensor, _)| is_meant(tensor));
        meant.map(|(_, id)| id).collect()
    }

    /// The buffers that hold nothing before a launch, of this set.
    pub fn poisoned(&self, set: usize) -> Vec<BufferId> {
        self.buffers_of(set, |tensor| tensor.role == TensorRole::Out)
    }

    /// Prepares the outputs of these sets for a launch: poisons them, or writes what the kernel
    /// finds in them.
    pub fn prepare(&self, worker: &mut Worker, data: &CaseData, sets: &[usize]) -> Result {
        let mut poisoned = Vec::new();
        for set in sets {
            self.write_before(worker, data, *set)?;
            poisoned.extend(self.poisoned(*set));
        }
        worker.poison_all(poisoned)
    }

    /// The outputs of a set that hold something before a launch.
    pub fn written_before<'a>(
        &'a self,
        set: usize,
        contents: &'a Contents,
    ) -> impl Iterator<Item = (BufferId, &'a Cells)> {
        self.contents_of(set, contents, true)
    }

    /// The buffers of a set that hold zeros before a launch.
    pub fn cleared(&self, set: usize) -> Vec<BufferId> {
        self.buffers_of(set, |tensor| tensor.role == TensorRole::Scratch)
    }

    /// The inputs of a set that a launch only reads.
    pub fn only_read(&self, set: usize) -> Vec<BufferId> {
        self.buffers_of(set, |tensor| tensor.role == TensorRole::In)
    }

    /// Writes what the kernel finds in a set.
    pub fn write_before(&self, worker: &mut Worker, data: &CaseData, set: usize) -> Result {
        let contents = &data.sets[set].inputs;
        let outputs = self.written_before(set, contents).collect_vec();
        worker.write_cells(&outputs, false)?;
        worker.clear_all(self.cleared(set))?;
        match self.shares_buffers {
            true => self.write_inputs(worker, set, contents),
            false => Ok(()),
        }
    }

    /// Writes other inputs into the buffers of a set.
    pub fn write_inputs(&self, worker: &mut Worker, set: usize, contents: &Contents) -> Result {
        let inputs = self.contents_of(set, contents, false).collect_vec();
        worker.write_cells(&inputs, true)
    }

    /// The arguments of a launch on this set.
    pub fn args_of(&self, data: &CaseData, set: usize) -> Vec<LaunchArg> {
        let null = LaunchArg::Value(0u64.to_le_bytes().to_vec());
        let buffers = self.all_buffers(set);
        let pointer = |pointer: Pointer| match (buffers[pointer.tensor], pointer.view) {
            (None, _) => null.clone(),
            (Some(id), None) => LaunchArg::Buffer(id),
            (Some(id), Some(view)) => {
                LaunchArg::Part(id, (view.offset * pointer.of.dtype.size()) as u64)
            }
        };
        let buffers = self.case.pointers().map(pointer);
        let numbers = self.case.numbers(&data.sets[set].scalars).into_iter();
        buffers.chain(numbers.map(LaunchArg::Value)).collect()
    }

    /// The launch of `module`'s kernel on this set.
    pub fn launch_of(
        &self,
        module: ModuleId,
        data: &CaseData,
        set: usize,
        order: ExecutionOrder,
    ) -> Launch {
        let (case, args) = (&self.case, self.args_of(data, set));
        Launch {
            order,
            parameters: parameters(case),
            scratch: self.name_of(SCRATCH_NAME),
            ..Launch::of(module, &case.entry, args, case.bytes_of_dims())
        }
    }

    /// Prepares the outputs of a set, launches `module`'s kernel on it, and returns the seconds of
    /// the launch.
    pub fn launch(
        &self,
        worker: &mut Worker,
        module: ModuleId,
        data: &CaseData,
        set: usize,
        order: ExecutionOrder,
    ) -> Result<f64> {
        self.write_before(worker, data, set)?;
        self.launch_again(worker, module, data, set, order)
            .map_err(|stop| with_parameters(stop, &self.case))
    }

    /// The next launch on what the last one left in this set: state stays, and pure outputs are
    /// poisoned again. Returns the seconds of the launch.
    fn launch_again(
        &self,
        worker: &mut Worker,
        module: ModuleId,
        data: &CaseData,
        set: usize,
        order: ExecutionOrder,
    ) -> Result<f64> {
        let launch = self.launch_of(module, data, set, order);
        worker.poison_and_launch(self.poisoned(set), &launch)
    }

    /// [`CaseLauncher::launch`] in the earlier order, if there is one, and then in the other; and
    /// what each launch wrote.
    pub fn launch_and_read(
        &self,
        worker: &mut Worker,
        module: ModuleId,
        data: &CaseData,
        set: usize,
        ((before, order), read): ((Option<ExecutionOrder>, ExecutionOrder), ReadCells),
    ) -> Result<Launched> {
        let mut earlier = None;
        if let Some(before) = before {
            self.launch(worker, module, data, set, before)?;
            earlier = Some(self.written(worker, set, Worker::take)?);
        }
        let seconds = self.launch(worker, module, data, set, order)?;
        let last = self.written(worker, set, read)?;
        Ok(Launched {
            earlier,
            last,
            seconds,
        })
    }

    /// The buffers of the outputs of a set that are compared, in the order of the tensors.
    pub fn read_after(&self, set: usize) -> Vec<BufferId> {
        self.buffers_of(set, CaseTensor::is_compared)
    }

    /// What a launch on this set wrote: `read` has its outputs that are compared.
    pub fn written_to(
        &self,
        worker: &Worker,
        set: usize,
        read: &mut impl Iterator<Item = Cells>,
    ) -> Written {
        let (mut outputs, mut patterns) = (Contents::new(), Vec::new());
        for (tensor, id) in self.case.tensors.iter().zip(self.all_buffers(set)) {
            let id = id.filter(|_| tensor.is_compared());
            let pattern = id.and_then(|id| worker.last_poison(id));
            patterns.push(pattern.filter(|_| tensor.role == TensorRole::Out));
            outputs.push(id.and_then(|_| read.next()));
        }
        Written { outputs, patterns }
    }

    /// Makes the problem's further launches in a row on what the last one left in this set, and
    /// returns what is there after them. `None` if the problem has none.
    pub fn go_on(
        &self,
        worker: &mut Worker,
        module: ModuleId,
        data: &CaseData,
        set: usize,
        (order, read): (ExecutionOrder, ReadCells),
    ) -> Result<Option<Written>> {
        for _ in 1..self.case.steps {
            self.launch_again(worker, module, data, set, order)?;
        }
        (self.case.steps > 1)
            .then(|| self.written(worker, set, read))
            .transpose()
    }

    /// What the last launch on this set wrote, and the patterns that its outputs held before.
    pub fn written(&self, worker: &mut Worker, set: usize, read: ReadCells) -> Result<Written> {
        let read = read(worker, &self.read_after(set))?;
        Ok(self.written_to(worker, set, &mut read.into_iter()))
    }

    /// Frees every buffer of its own. Nothing stays of what the reference wrote: later launches
    /// must not find it.
    pub fn take_down(self, worker: &mut Worker) -> Result {
        CaseLauncher::take_down_all([self], worker)
    }

    /// [`CaseLauncher::take_down`] for each of these.
    pub fn take_down_all(all: impl IntoIterator<Item = Self>, worker: &mut Worker) -> Result {
        let all = all.into_iter().collect_vec();
        let of = |is_meant: fn(&CaseTensor) -> bool| {
            let sets = all.iter().flat_map(|launcher| {
                let sets = launcher.sets.iter();
                sets.flat_map(|set| launcher.case.tensors.iter().zip(set))
            });
            let meant = sets.filter(move |(tensor, _)| tensor.fixed.is_none() && is_meant(tensor));
            meant.filter_map(|(_, id)| *id).collect_vec()
        };
        let expected = of(|tensor| tensor.expected_of().is_some());
        if !expected.is_empty() {
            worker.poison_all(expected)?;
        }
        worker.free_all(of(|_| true))
    }

    /// Describes a breach, with the tensor's index if it has one.
    pub fn describe(&self, breach: &Breach) -> String {
        let (name, _) = name_and_index(breach);
        let tensor = self.case.tensors.iter().find(|tensor| tensor.name == name);
        let cell = |at: u64| match tensor {
            Some(tensor) => tensor.cell(at as usize / tensor.dtype.size()),
            None => format!("{name} (byte {at})"),
        };
        let place = |offset: Option<u64>| offset.map_or_else(|| name.to_owned(), cell);
        match (breach, tensor) {
            (Breach::OutOfBounds { offset, .. }, Some(tensor)) if *offset >= 0 => {
                let place = outside(tensor, *offset);
                format!("wrote out of bounds: into {place}")
            }
            (Breach::OutOfBounds { offset, .. }, Some(tensor)) => {
                format!("wrote out of bounds: {}", outside(tensor, *offset))
            }
            (Breach::OutOfBounds { offset, .. }, None) => {
                let side = if *offset < 0 {
                    "before its start"
                } else {
                    "behind its end"
                };
                format!("wrote out of bounds: to byte {offset} of {name}, {side}")
            }
            (Breach::StrayStore { offset, .. }, _) => {
                let place = place(*offset);
                format!("wrote into {place}, which the launch was not given")
            }
            (Breach::LateStore { offset, .. }, _) => {
                let place = place(*offset);
                format!(
                    "wrote into {place} after its launch had ended: a thread or a process of it worked on"
                )
            }
            (Breach::InputChanged { offset, .. }, Some(_)) => {
                format!("changed its input {}", cell(*offset))
            }
            (Breach::InputChanged { .. }, None) => format!("changed its input {name}"),
        }
    }
}

/// A place outside of a tensor, so many bytes from its start: `cell 3 behind the last one of x`,
/// `8 bytes before the start of x`.
fn outside(tensor: &CaseTensor, offset: i64) -> String {
    let (name, cell) = (&tensor.name, tensor.dtype.size() as i64);
    if offset < 0 {
        return format!("{} bytes before the start of {name}", -offset);
    }
    let nth = (offset - tensor.bytes() as i64) / cell + 1;
    format!("cell {nth} behind the last one of {name}")
}

/// Describes a place outside of a buffer of one of these cases, and the case: `cell 1 behind the
/// last one of x, n=64`. `None` of a buffer that is no tensor's.
pub fn describe_outside(cases: &[Arc<Case>], buffer: &str, offset: i64) -> Option<String> {
    let (name, index) = buffer.rsplit_once(CASE)?;
    let case = cases.iter().find(|case| case.index.to_string() == index)?;
    let tensor = case.tensors.iter().find(|tensor| tensor.name == name)?;
    Some(format!("{}, {}", outside(tensor, offset), case.label))
}

/// The name of a breach's tensor, and the index of its case. Both are parts of the buffer's name.
fn name_and_index(breach: &Breach) -> (&str, &str) {
    let (Breach::OutOfBounds { buffer, .. }
    | Breach::StrayStore { buffer, .. }
    | Breach::LateStore { buffer, .. }
    | Breach::InputChanged { buffer, .. }) = breach;
    buffer.rsplit_once(CASE).unwrap_or((buffer, ""))
}

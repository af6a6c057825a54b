//! The buffers of a worker: their content, and who has them.

use super::{BufferId, Known, Worker};
use crate::outcome::{OrLab, Result};
use crate::worker::judge_memory::{Cells, JudgeMemory, Share};
use crate::worker::link::Operation;
use crate::worker::memory::{BufferUse, Filling, SharedBlock, is_shared};
use crate::worker::messages::WorkerRequest;
use itertools::Itertools as _;
use lab_device::FLOAT_POISONS;
use lab_system::random;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// The memory of inputs, which further workers can map to read it.
pub struct LentInputs {
    block: SharedBlock,
    memory: OwnedFd,
    named: Vec<(String, usize)>,
}

impl Worker {
    /// Allocates a buffer between guard zones and fills it with poison. `name` is what messages
    /// call it.
    pub fn buffer(&mut self, name: &str, bytes: usize) -> Result<BufferId> {
        Ok(self.buffers(vec![(name.to_owned(), bytes)])?[0])
    }

    /// [`Worker::buffer`] for several buffers: names and bytes.
    pub fn buffers(&mut self, wanted: Vec<(String, usize)>) -> Result<Vec<BufferId>> {
        Ok(self.allocate_all(wanted, BufferUse::Written)?.0)
    }

    /// [`Worker::buffers`] for what the kernel only reads, and the judge writes with
    /// [`Worker::write_cells`] or [`Worker::write_inputs`].
    pub fn input_buffers(&mut self, wanted: Vec<(String, usize)>) -> Result<Vec<BufferId>> {
        Ok(self.lent_input_buffers(wanted)?.0)
    }

    /// [`Worker::input_buffers`], and their memory where other workers can map it.
    pub fn lent_input_buffers(
        &mut self,
        wanted: Vec<(String, usize)>,
    ) -> Result<(Vec<BufferId>, Option<LentInputs>)> {
        let used = match self.only_reads_inputs() {
            true => BufferUse::ReadOnly,
            false => BufferUse::Read,
        };
        self.allocate_all(wanted, used)
    }

    /// Maps the inputs of another worker, with what they hold. They are not freed here.
    pub fn map_inputs(&mut self, lent: &LentInputs) -> Result<Vec<BufferId>> {
        let ids = self.map(&lent.block, &lent.memory)?;
        self.know(&ids, lent.named.clone())?;
        Ok(ids)
    }

    /// Whether a store into an input ends the launch. Python records its launches on other inputs,
    /// which it writes itself.
    pub fn only_reads_inputs(&self) -> bool {
        self.holds_cells() && !self.is_python() && !self.writes_inputs
    }

    /// Lets launches store into inputs: [`Worker::breaches`] says which of them did.
    #[must_use]
    pub fn writing_inputs(mut self) -> Self {
        self.writes_inputs = true;
        self
    }

    fn allocate_all(
        &mut self,
        wanted: Vec<(String, usize)>,
        used: BufferUse,
    ) -> Result<(Vec<BufferId>, Option<LentInputs>)> {
        if wanted.is_empty() {
            return Ok((Vec::new(), None));
        }
        let named = wanted.clone();
        let (ids, shared) = match &self.memory {
            Some(Share { memory, owner }) => {
                let (block, memory) = memory.allocate(*owner, wanted, used)?;
                (self.map(&block, &memory)?, Some((block, memory)))
            }
            None => (self.allocate(wanted, used)?, None),
        };
        self.know(&ids, named.clone())?;
        let lent = shared.filter(|_| used == BufferUse::ReadOnly);
        let lent = lent.map(|(block, memory)| LentInputs {
            block,
            memory,
            named,
        });
        Ok((ids, lent))
    }

    /// [`Worker::buffer`] in the worker's own process: for what the kernel gets no address of.
    pub fn own_buffer(&mut self, name: &str, bytes: usize) -> Result<BufferId> {
        let named = vec![(name.to_owned(), bytes)];
        let ids = self.allocate(named.clone(), BufferUse::Written)?;
        self.know(&ids, named)?;
        Ok(ids[0])
    }

    fn allocate(
        &mut self,
        buffers: Vec<(String, usize)>,
        used: BufferUse,
    ) -> Result<Vec<BufferId>> {
        self.request(&WorkerRequest::Allocate { buffers, used })
    }

    /// Maps an allocation of the judge's own worker. Returns its buffers.
    fn map(&mut self, shared: &SharedBlock, memory: &OwnedFd) -> Result<Vec<BufferId>> {
        let request = WorkerRequest::Map(shared.clone());
        let number = self.link.ask(&request, Operation::Own, &[])?;
        self.link
            .connection
            .send_descriptor(memory.as_fd())
            .or_lab(|| "shared memory cannot be sent".into())?;
        let ((), _) = self.link.answer(number, Operation::Own, 0)?;
        Ok(shared.buffers.iter().map(|(id, ..)| *id).collect())
    }

    /// Notes buffers of these names and sizes.
    fn know(&mut self, ids: &[BufferId], named: Vec<(String, usize)>) -> Result {
        if ids.len() != named.len() {
            return Err(self
                .link
                .invalid_answer("not as many buffers as were asked for"));
        }
        for (id, (name, bytes)) in ids.iter().zip(named) {
            // Chance selects the first pattern, one that marks a cell. The buffers of a tensor
            // begin with one after the other, so that each of its patterns comes in few launches.
            let turn = self.turns.entry(name);
            let turn = turn.or_insert_with(|| 2 * (random::number() as usize % 2));
            let known = Known {
                bytes,
                poisons: FLOAT_POISONS,
                next: *turn % FLOAT_POISONS.len(),
                last: None,
            };
            *turn += 1;
            self.buffers.insert(*id, known);
        }
        Ok(())
    }

    /// Writes a whole buffer. Breaks its seal.
    pub fn write(&mut self, buffer: BufferId, bytes: &[u8]) -> Result {
        self.write_all(vec![buffer], false, bytes)
    }

    /// Writes a whole buffer and declares its content an input: [`Worker::breaches`] reports a
    /// change of it.
    pub fn write_input(&mut self, buffer: BufferId, bytes: &[u8]) -> Result {
        self.write_all(vec![buffer], true, bytes)
    }

    /// [`Worker::write_input`] for several buffers. Small contents go in one message.
    pub fn write_inputs(&mut self, contents: &[(BufferId, &[u8])]) -> Result {
        /// Bytes above which copying them together takes longer than further messages.
        const SMALL: usize = 1 << 20;
        let bytes: usize = contents.iter().map(|(_, content)| content.len()).sum();
        if contents.len() < 2 || bytes > SMALL {
            return contents
                .iter()
                .try_for_each(|(buffer, content)| self.write_input(*buffer, content));
        }
        let (buffers, body): (_, Vec<&[u8]>) = contents.iter().copied().unzip();
        self.write_all(buffers, true, &body.concat())
    }

    /// The buffer of an input that stays as it is as long as the worker lives. Only the first call
    /// with this key uploads the content.
    pub fn fixed_input(&mut self, key: u64, name: &str, bytes: &[u8]) -> Result<BufferId> {
        if let Some(buffer) = self.fixed.get(&key) {
            return Ok(*buffer);
        }
        let buffer = self.input_buffers(vec![(name.to_owned(), bytes.len())])?[0];
        self.write_input(buffer, bytes)?;
        self.fixed.insert(key, buffer);
        Ok(buffer)
    }

    fn write_all(&mut self, buffers: Vec<BufferId>, are_inputs: bool, body: &[u8]) -> Result {
        let first = buffers.first().copied();
        let request = WorkerRequest::Write {
            buffers,
            are_inputs,
        };
        let (reply, _) = self.buffer_work(first, request, body, 0)?;
        Ok(reply)
    }

    /// Writes whole buffers; `are_inputs` as in [`Worker::write_input`]. What the judge's own
    /// worker holds is copied on the device.
    pub fn write_cells(&mut self, contents: &[(BufferId, &Cells)], are_inputs: bool) -> Result {
        let (mut held, mut host) = (Vec::new(), Vec::new());
        for (buffer, cells) in contents {
            match cells {
                Cells::Held(cells) if self.has_memory(&cells.memory) => {
                    held.push((cells.id, *buffer));
                }
                _ => host.push((*buffer, cells.to_host()?)),
            }
        }
        if let Some(share) = self.memory.as_ref().filter(|_| !held.is_empty()) {
            share.memory.copy(held, are_inputs)?;
        }
        let host = host.iter().map(|(id, cells)| (*id, &**cells)).collect_vec();
        match are_inputs {
            true => self.write_inputs(&host),
            false => host
                .iter()
                .try_for_each(|(buffer, content)| self.write(*buffer, content)),
        }
    }

    /// Whether it can map what the judge's own worker allocates.
    pub fn maps_memory(&self) -> bool {
        self.opened.shares_memory
    }

    /// Whether its buffers are there.
    fn has_memory(&self, memory: &Arc<JudgeMemory>) -> bool {
        let share = self.memory.as_ref();
        share.is_some_and(|share| Arc::ptr_eq(&share.memory, memory))
    }

    /// The judge's own worker, if it has the buffers and computes with their cells.
    fn cells_on_device(&self) -> Option<&Arc<JudgeMemory>> {
        let memory = self.memory.as_ref().map(|share| &share.memory);
        memory.filter(|memory| memory.has_cells())
    }

    /// Buffers with their bytes.
    fn with_bytes(&self, buffers: &[BufferId]) -> Vec<(BufferId, usize)> {
        let bytes = |id: &BufferId| self.buffers.get(id).map_or(0, |known| known.bytes);
        buffers.iter().map(|id| (*id, bytes(id))).collect()
    }

    /// Whether what its buffers hold can stay on the device.
    pub fn holds_cells(&self) -> bool {
        self.cells_on_device().is_some()
    }

    /// What buffers hold: copies that stay what they are. On the device if the judge's own worker
    /// has the buffers.
    pub fn take(&mut self, buffers: &[BufferId]) -> Result<Vec<Cells>> {
        match self.cells_on_device() {
            Some(memory) => memory.hold_copies(&self.with_bytes(buffers)),
            None => self.read_all(buffers),
        }
    }

    /// What buffers hold until the next launch.
    pub fn look_at(&mut self, buffers: &[BufferId]) -> Result<Vec<Cells>> {
        let Some(memory) = self.cells_on_device() else {
            return self.read_all(buffers);
        };
        let each = self.with_bytes(buffers).into_iter();
        Ok(each
            .map(|(id, bytes)| memory.cells(id, bytes, true))
            .collect())
    }

    fn read_all(&mut self, buffers: &[BufferId]) -> Result<Vec<Cells>> {
        let read = |id: &BufferId| self.read(*id).map(Cells::Host);
        buffers.iter().map(read).collect()
    }

    /// Reads a whole buffer.
    pub fn read(&mut self, buffer: BufferId) -> Result<Vec<u8>> {
        let expected = self.buffers.get(&buffer).map_or(0, |known| known.bytes);
        let request = WorkerRequest::Read { buffer };
        let ((), bytes) = self.buffer_work(Some(buffer), request, &[], expected)?;
        if bytes.len() == expected {
            Ok(bytes)
        } else {
            Err(self.link.invalid_answer("too few bytes of a buffer"))
        }
    }

    /// Fills a buffer with one of its patterns, so that a cell that the kernel does not write is
    /// found, and one that it reads before. The patterns take turns, and chance selects the first
    /// one: the pattern says nothing about the launch that follows.
    pub fn poison(&mut self, buffer: BufferId) -> Result {
        self.poison_all(vec![buffer])
    }

    /// [`Worker::poison`] for several buffers.
    pub fn poison_all(&mut self, buffers: Vec<BufferId>) -> Result {
        let fills = self.chosen_patterns(buffers);
        self.fill(fills, Filling::Waits)
    }

    /// The next pattern of each of these buffers, to fill it with before a launch.
    pub fn chosen_patterns(&mut self, buffers: Vec<BufferId>) -> Vec<(BufferId, u32)> {
        let known = &mut self.buffers;
        let choose = |id: BufferId| Some((id, known.get_mut(&id)?.next_pattern()));
        buffers.into_iter().filter_map(choose).collect()
    }

    /// Makes [`Worker::poison`] fill a buffer with these patterns, as the type of its cells needs
    /// them.
    pub fn set_poisons(&mut self, buffer: BufferId, patterns: [u32; 4]) {
        if let Some(known) = self.buffers.get_mut(&buffer) {
            known.poisons = patterns;
        }
    }

    /// The pattern that [`Worker::poison`] last filled a buffer with; `None` if it never did.
    pub fn last_poison(&self, buffer: BufferId) -> Option<u32> {
        self.buffers.get(&buffer)?.last
    }

    /// Fills buffers with zeros.
    pub fn clear_all(&mut self, buffers: Vec<BufferId>) -> Result {
        let fills = buffers.into_iter().map(|buffer| (buffer, 0)).collect();
        self.fill(fills, Filling::Waits)
    }

    fn fill(&mut self, fills: Vec<(BufferId, u32)>, how: Filling) -> Result {
        if fills.is_empty() {
            return Ok(());
        }
        let first = fills.first().map(|(buffer, _)| *buffer);
        let (reply, _) = self.buffer_work(first, WorkerRequest::Fill { fills, how }, &[], 0)?;
        Ok(reply)
    }

    /// Frees a buffer.
    pub fn free(&mut self, buffer: BufferId) -> Result {
        self.buffers.remove(&buffer);
        if self.memory.is_some() && is_shared(buffer) {
            return self.free_all(vec![buffer]);
        }
        self.request(&WorkerRequest::Free { buffer })
    }

    /// Frees buffers.
    pub fn free_all(&mut self, buffers: Vec<BufferId>) -> Result {
        let memory = self.memory.as_ref().map(|share| share.memory.clone());
        let is_shared = |id: &BufferId| is_shared(*id);
        let Some(memory) = memory.filter(|_| buffers.iter().all(is_shared)) else {
            return buffers.into_iter().try_for_each(|buffer| self.free(buffer));
        };
        self.buffers.retain(|id, _| !buffers.contains(id));
        self.request::<()>(&WorkerRequest::Unmap {
            buffers: buffers.clone(),
        })?;
        memory.let_go(buffers);
        Ok(())
    }
}

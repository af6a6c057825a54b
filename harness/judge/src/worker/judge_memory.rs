//! The judge's own worker: it allocates what the other workers of a run map, holds what no kernel
//! may see, and works with cells on the device. No kernel of a user runs in it. On a GPU it is a
//! process, and on the cpu device the judge does its work itself.

use super::cell_work::{
    CellLine, CellWork, CompareCells, DrawCells, FoundCells, LineChange, LineExtremes,
};
use super::images::Images;
use super::link::{Link, Operation};
use super::memory::{BufferUse, Device, SharedBlock};
use super::messages::{ForWorkers, WorkerRequest};
use super::server::Served;
use super::{Breach, BufferId, ModuleId};
use crate::outcome::{OrLab, Result, Stop};
use crate::process::framing::FrameError;
use lab_device::Driver;
use lab_system::threads::lock;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

/// The client of the judge's own worker. Several threads may use it; each request is done when its
/// call returns.
pub struct JudgeMemory {
    inner: Mutex<Inner>,
}

/// What answers the requests.
enum Side {
    Process {
        link: Box<Link>,
        /// The image of cells.cu lies there.
        _images: Option<Images>,
    },
    /// This process, which has the memory of the cpu device.
    Here(Box<Served>),
}

struct Inner {
    side: Side,
    /// The kernels of cells.cu; `None` on the cpu device, where the judge computes with cells.
    kernels: Option<ModuleId>,
    /// The number of the last worker that maps memory.
    owners: u32,
    /// Workers that have ended, and buffers that nobody has any more. Their memory is given
    /// back before something else needs memory: at the end of a run nobody waits for that.
    ended: Vec<u32>,
    freed: Vec<BufferId>,
}

impl Inner {
    fn call<R: DeserializeOwned>(
        &mut self,
        request: WorkerRequest,
        body: &[u8],
        body_limit: usize,
    ) -> Result<(R, Vec<u8>)> {
        let answer = match &mut self.side {
            Side::Process { link, .. } => link.call(&request, Operation::Own, body, body_limit),
            Side::Here(served) => served.answer(request, body.to_vec()).and_then(typed),
        };
        answer.map_err(as_own)
    }

    fn give_back(&mut self) -> Result {
        if self.ended.is_empty() && self.freed.is_empty() {
            return Ok(());
        }
        let request = WorkerRequest::ForWorkers(ForWorkers::Free {
            owners: std::mem::take(&mut self.ended),
            buffers: std::mem::take(&mut self.freed),
        });
        let ((), _) = self.call(request, &[], 0)?;
        Ok(())
    }
}

impl JudgeMemory {
    /// A worker that has opened a GPU and has loaded cells.cu, unless that could not be built.
    pub fn new(link: Link, images: Option<Images>, kernels: Option<ModuleId>) -> Arc<JudgeMemory> {
        let side = Side::Process {
            link: Box::new(link),
            _images: images,
        };
        Self::of(side, kernels)
    }

    /// The memory of this driver, which this process has opened.
    pub fn here(driver: Box<dyn Driver>) -> Arc<JudgeMemory> {
        let served = Served::new(Device::new(driver, false));
        Self::of(Side::Here(Box::new(served)), None)
    }

    fn of(side: Side, kernels: Option<ModuleId>) -> Arc<JudgeMemory> {
        let inner = Inner {
            side,
            kernels,
            owners: 0,
            ended: Vec::new(),
            freed: Vec::new(),
        };
        Arc::new(JudgeMemory {
            inner: Mutex::new(inner),
        })
    }

    /// A number for a further worker.
    pub fn new_owner(&self) -> u32 {
        let mut inner = lock(&self.inner);
        inner.owners += 1;
        inner.owners
    }

    /// Whether it draws and compares cells, and holds them.
    pub fn has_cells(&self) -> bool {
        lock(&self.inner).kernels.is_some()
    }

    /// Whether its process has not ended.
    pub fn is_alive(&self) -> bool {
        match &mut lock(&self.inner).side {
            Side::Process { link, .. } => link.connection.is_alive(),
            Side::Here(_) => true,
        }
    }

    /// Sends a request, and returns the reply and its body of at most so many bytes.
    pub fn call<R: DeserializeOwned>(
        &self,
        request: WorkerRequest,
        body: &[u8],
        body_limit: usize,
    ) -> Result<(R, Vec<u8>)> {
        let mut inner = lock(&self.inner);
        inner.call(request, body, body_limit)
    }

    fn ask<R: DeserializeOwned>(&self, asked: ForWorkers, body: &[u8]) -> Result<R> {
        let (reply, _) = self.call(WorkerRequest::ForWorkers(asked), body, 0)?;
        Ok(reply)
    }

    fn give_back(&self) -> Result {
        lock(&self.inner).give_back()
    }

    /// Allocates buffers for a worker: names and bytes.
    pub fn allocate(
        &self,
        owner: u32,
        buffers: Vec<(String, usize)>,
        used: BufferUse,
    ) -> Result<(SharedBlock, OwnedFd)> {
        let mut inner = lock(&self.inner);
        let request = WorkerRequest::ForWorkers(ForWorkers::Allocate {
            owner,
            buffers,
            used,
        });
        inner.give_back()?;
        let (shared, _) = inner.call(request, &[], 0)?;
        let memory = match &mut inner.side {
            Side::Process { link, .. } => link.connection.receive_descriptor(),
            Side::Here(served) => served.take_outgoing().ok_or(FrameError::Closed),
        };
        let memory = memory.or_lab(|| "no shared memory came from a worker".into())?;
        Ok((shared, memory))
    }

    /// Fills buffers, and expects a launch of a worker that may write to the given ones.
    pub fn prepare(&self, owner: u32, fills: Vec<(BufferId, u32)>, given: Vec<BufferId>) -> Result {
        let asked = ForWorkers::Prepare {
            owner,
            fills,
            given,
        };
        self.ask(asked, &[])
    }

    /// Looks for the rules that a worker's launches have broken, and keeps them for
    /// [`JudgeMemory::breaches`].
    pub fn check(&self, owner: u32) -> Result {
        self.ask(ForWorkers::Check { owner }, &[])
    }

    /// The rules that a worker's launches have broken; see `WorkerRequest::Breaches`.
    pub fn breaches(&self, owner: u32, of_given: bool) -> Result<Vec<Breach>> {
        let (found, _) = self.call(WorkerRequest::Breaches { of_given, owner }, &[], 0)?;
        Ok(found)
    }

    /// Gives back what a worker had, once something needs memory.
    pub fn release(&self, owner: u32) {
        lock(&self.inner).ended.push(owner);
    }

    /// Gives back buffers that nobody has any more, once something needs memory.
    pub fn let_go(&self, buffers: impl IntoIterator<Item = BufferId>) {
        lock(&self.inner).freed.extend(buffers);
    }

    /// Reads a buffer of so many bytes.
    pub fn read(&self, buffer: BufferId, bytes: usize) -> Result<Vec<u8>> {
        let ((), content) = self.call(WorkerRequest::Read { buffer }, &[], bytes)?;
        Ok(content)
    }

    /// Copies held buffers into a worker's buffers: pairs of the two.
    pub fn copy(&self, pairs: Vec<(BufferId, BufferId)>, are_inputs: bool) -> Result {
        self.ask(ForWorkers::Copy { pairs, are_inputs }, &[])
    }

    /// A held buffer of so many bytes; with `is_lent` the present content of a worker's buffer, until
    /// its next launch.
    pub fn cells(self: &Arc<Self>, id: BufferId, bytes: usize, is_lent: bool) -> Cells {
        Cells::Held(Arc::new(HeldCells {
            memory: self.clone(),
            id,
            bytes,
            is_lent,
        }))
    }

    /// Holds these bytes on the device.
    pub fn hold(self: &Arc<Self>, content: &[u8]) -> Result<Cells> {
        self.give_back()?;
        let id = self.ask(ForWorkers::Hold, content)?;
        Ok(self.cells(id, content.len(), false))
    }

    /// Holds copies of a worker's buffers: each with its bytes.
    pub fn hold_copies(self: &Arc<Self>, of: &[(BufferId, usize)]) -> Result<Vec<Cells>> {
        let buffers = of.iter().map(|(buffer, _)| *buffer).collect();
        self.give_back()?;
        let ids: Vec<BufferId> = self.ask(ForWorkers::HoldCopies { buffers }, &[])?;
        let each = ids.into_iter().zip(of);
        Ok(each
            .map(|(id, (_, bytes))| self.cells(id, *bytes, false))
            .collect())
    }

    fn work<R: DeserializeOwned>(&self, work: CellWork, body: &[u8]) -> Result<R> {
        let module = lock(&self.inner).kernels;
        let module = module.ok_or_else(|| Stop::Lab("this device holds no cells".into()))?;
        let (reply, _) = self.call(WorkerRequest::Cells { module, work }, body, 0)?;
        Ok(reply)
    }

    /// Holds random numbers.
    pub fn draw(self: &Arc<Self>, drawn: Vec<DrawCells>) -> Result<Vec<Cells>> {
        let bytes: Vec<usize> = drawn
            .iter()
            .map(|drawn| drawn.cells * drawn.dtype.size())
            .collect();
        self.give_back()?;
        let ids: Vec<BufferId> = self.work(CellWork::Draw(drawn), &[])?;
        let each = ids.into_iter().zip(bytes);
        Ok(each
            .map(|(id, bytes)| self.cells(id, bytes, false))
            .collect())
    }

    /// Writes lines of cells into held buffers; `cells` are those of all lines, one after the other.
    pub fn put_lines(&self, lines: Vec<CellLine>, cells: &[u8]) -> Result {
        self.work(CellWork::PutLines(lines), cells)
    }

    /// Makes changes of a line of a held buffer, one after the other.
    pub fn change_line(&self, line: CellLine, changes: Vec<LineChange>) -> Result {
        self.work(CellWork::ChangeLine(line, changes), &[])
    }

    /// Finds the largest and the smallest number of a line of a held buffer.
    pub fn extremes_of(&self, line: CellLine) -> Result<LineExtremes> {
        self.work(CellWork::FindExtremes(line), &[])
    }

    /// Compares pairs of buffers.
    pub fn compare(&self, pairs: Vec<CompareCells>) -> Result<Vec<FoundCells>> {
        self.work(CellWork::Compare(pairs), &[])
    }
}

/// An answer of this process as the one of another process is: the reply and its body.
fn typed<R: DeserializeOwned>((reply, body): (Value, Vec<u8>)) -> Result<(R, Vec<u8>)> {
    let reply = serde_json::from_value(reply);
    Ok((reply.or_lab(|| "an invalid answer".into())?, body))
}

/// No kernel of a user runs there, so a failure is none of the kernel's.
fn as_own(stop: Stop) -> Stop {
    match stop {
        Stop::Crash(text) => Stop::Lab(format!("the judge's own worker failed: {text}")),
        other => other,
    }
}

/// The bytes of a tensor.
#[derive(Clone, Debug)]
pub enum Cells {
    /// In the judge's memory.
    Host(Vec<u8>),
    /// On the device, where only the judge's own worker reaches them.
    Held(Arc<HeldCells>),
}

/// A buffer of the judge's own worker. Dropping it frees the buffer, unless it is lent.
pub struct HeldCells {
    pub memory: Arc<JudgeMemory>,
    pub id: BufferId,
    bytes: usize,
    is_lent: bool,
}

impl Drop for HeldCells {
    fn drop(&mut self) {
        if !self.is_lent {
            self.memory.let_go([self.id]);
        }
    }
}

impl fmt::Debug for HeldCells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes in {:?}", self.bytes, self.id)
    }
}

/// Held cells are equal to themselves only: to compare others takes the device.
impl PartialEq for Cells {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Cells::Host(one), Cells::Host(other)) => one == other,
            (Cells::Held(one), Cells::Held(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl Cells {
    /// Their number of bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Cells::Host(bytes) => bytes.len(),
            Cells::Held(held) => held.bytes,
        }
    }

    /// The bytes, read from the device if they are held there.
    pub fn to_host(&self) -> Result<Cow<'_, [u8]>> {
        match self {
            Cells::Host(bytes) => Ok(Cow::Borrowed(bytes)),
            Cells::Held(held) => held.memory.read(held.id, held.bytes).map(Cow::Owned),
        }
    }

    /// The same cells, held on the device.
    pub fn held(&self, memory: &Arc<JudgeMemory>) -> Result<Cells> {
        match self {
            Cells::Host(bytes) => memory.hold(bytes),
            Cells::Held(_) => Ok(self.clone()),
        }
    }

    /// Its buffer, if it is held.
    pub fn id(&self) -> Option<BufferId> {
        match self {
            Cells::Host(_) => None,
            Cells::Held(held) => Some(held.id),
        }
    }
}

/// A worker's share of the judge's memory, which is given back when the worker has ended.
pub struct Share {
    pub memory: Arc<JudgeMemory>,
    /// The worker's number there.
    pub owner: u32,
}

impl Share {
    /// The share of a further worker.
    pub fn new(memory: &Arc<JudgeMemory>) -> Self {
        Share {
            memory: memory.clone(),
            owner: memory.new_owner(),
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.memory.release(self.owner);
    }
}

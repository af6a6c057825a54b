//! The judge's client for a worker: sends requests, waits for answers up to a limit, and says what
//! went wrong.

mod buffers;
mod launches;

pub use buffers::LentInputs;

use super::images::Images;
use super::judge_memory::{JudgeMemory, Share};
use super::link::{Link, Operation};
use super::memory::{OWN, is_shared};
use super::messages::{Opened, Passed, WorkerRequest, missing_text};
use super::{
    Breach, BufferId, Launch, LaunchArg, LaunchParameter, Launched, ModuleId, Repeated, Replayed,
};
use crate::outcome::{Result, Stop};
use crate::process::child::Child;
use lab_device::sandbox::SandboxState;
use lab_device::{DeviceInfo, Submission};
use serde::de::DeserializeOwned;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The judge's client for a worker process whose device is open.
///
/// After an error of the connection or a crash the worker is ended, and every further call fails.
pub struct Worker {
    link: Link,
    opened: Opened,
    /// `None` if the worker is not confined, and opens an image where it is.
    images: Option<Images>,
    buffers: HashMap<BufferId, Known>,
    /// The launches whose statement has run: module, entry and dims.
    stated: HashSet<(ModuleId, String, Vec<u8>)>,
    /// Inputs that stay as they are as long as the worker lives, by their key.
    fixed: HashMap<u64, BufferId>,
    /// The next buffer of a name begins with this one of its patterns.
    turns: HashMap<String, usize>,
    /// What the largest scratch buffer takes that a launch statement asked for, on the cpu device.
    scratch_held: u64,
    launched: Option<Launched>,
    /// Where its buffers are, and its number there. `None` if it allocates them itself.
    memory: Option<Share>,
    /// Its launches may store into inputs, where others could only read them.
    writes_inputs: bool,
    /// The images or sources that it has loaded, in order.
    loaded: Vec<PathBuf>,
}

/// What the judge knows of a buffer.
struct Known {
    bytes: usize,
    /// The patterns that it is filled with.
    poisons: [u32; 4],
    /// Which of them comes next.
    next: usize,
    /// The pattern that it was last filled with.
    last: Option<u32>,
}

impl Worker {
    /// Closes the connection and waits up to `patience` for the process to end by itself: a tool
    /// that watches it then writes what it found.
    pub fn close_and_wait(mut self, patience: Duration) {
        self.link.connection.close_and_wait(patience);
    }

    /// A worker that has opened this device. `images` is `None` if the worker is not confined.
    pub(super) fn of(link: Link, opened: Opened, images: Option<Images>) -> Worker {
        Worker {
            link,
            opened,
            images,
            buffers: HashMap::new(),
            stated: HashSet::new(),
            fixed: HashMap::new(),
            turns: HashMap::new(),
            scratch_held: 0,
            launched: None,
            memory: None,
            writes_inputs: false,
            loaded: Vec::new(),
        }
    }

    /// Loads what another worker has loaded: its modules have the same numbers here.
    pub fn load_as(&mut self, other: &Worker) -> Result {
        let mut images = other.loaded.iter();
        images.try_for_each(|image| self.load(image).map(drop))
    }

    /// Makes the judge's own worker allocate the buffers, which this one maps.
    #[must_use]
    pub fn with_memory(mut self, memory: Option<&Arc<JudgeMemory>>) -> Worker {
        self.memory = memory.map(Share::new);
        self
    }

    /// Makes it the judge's own worker, with the built cells.cu.
    pub fn into_memory(mut self, kernels: &Path) -> Result<Arc<JudgeMemory>> {
        let kernels = self.load(kernels)?;
        Ok(JudgeMemory::new(self.link, self.images, Some(kernels)))
    }

    /// [`Worker::into_memory`] where the judge computes with cells itself.
    pub fn into_memory_without_cells(self) -> Arc<JudgeMemory> {
        JudgeMemory::new(self.link, self.images, None)
    }

    /// Sends a request that runs no kernel of a user to the process that has allocated this buffer,
    /// with a body, and returns the reply with its body of at most so many bytes.
    fn buffer_work<R: DeserializeOwned>(
        &mut self,
        buffer: Option<BufferId>,
        request: WorkerRequest,
        body: &[u8],
        body_limit: usize,
    ) -> Result<(R, Vec<u8>)> {
        match &self.memory {
            Some(share) if buffer.is_some_and(is_shared) => {
                share.memory.call(request, body, body_limit)
            }
            _ => self.link.call(&request, Operation::Own, body, body_limit),
        }
    }

    /// Gives the worker so long for all calls from now on together. `None` takes the limit back.
    pub fn limit_altogether(&mut self, limit: Option<Duration>) {
        self.link.deadline = limit.map(|limit| (Instant::now() + limit, limit));
    }

    /// Gives each launch from now on so long, if that is less than the time limit. `None` takes the
    /// limit back.
    pub fn limit_launches(&mut self, limit: Option<Duration>) {
        self.link.launch_limit = limit;
    }

    /// The device.
    pub fn info(&self) -> &DeviceInfo {
        &self.opened.info
    }

    /// Whether its kernels are Python, which may keep what they compute anywhere in its process.
    pub fn is_python(&self) -> bool {
        self.link.python.is_some()
    }

    /// Whether launches follow the order of blocks and threads that they ask for: not on a GPU, and
    /// not in Python, which has neither.
    pub fn orders_threads(&self) -> bool {
        self.opened.info.emulated && self.link.python.is_none()
    }

    /// What holds the worker back; `None` if it is a thread of this process.
    pub fn sandbox(&self) -> Option<&SandboxState> {
        self.opened.sandbox.as_ref()
    }

    /// The process id; `None` if the worker is a thread of this process.
    pub fn id(&self) -> Option<u32> {
        self.link.connection.child().map(Child::id)
    }

    /// Waits until what the kernels have printed so far is in the log.
    pub fn forward_output(&self) {
        if let Some(child) = self.link.connection.child() {
            child.forward_output();
        }
    }

    /// Begins to end the process. To drop the worker waits for its end.
    pub fn kill(&mut self) {
        if let Some(child) = self.link.connection.child_mut() {
            child.kill();
        }
    }

    /// Returns whether the process has not ended.
    pub fn is_alive(&mut self) -> bool {
        self.link.connection.is_alive()
    }

    /// Loads an image, or a source if the worker is a Python process. Returns [`Stop::Build`] if
    /// the source cannot be executed.
    pub fn load(&mut self, image: &Path) -> Result<ModuleId> {
        self.load_with(image, &[])
    }

    /// [`Worker::load`] of a source in Python whose functions have other names than the entries:
    /// pairs of an entry and its function.
    pub fn load_with(&mut self, image: &Path, functions: &[(String, String)]) -> Result<ModuleId> {
        self.loaded.push(image.to_owned());
        let image = match &mut self.images {
            Some(images) => images.add(image)?,
            None => image.to_owned(),
        };
        let request = WorkerRequest::Load {
            image,
            functions: functions.to_vec(),
        };
        self.call(&request, Operation::Load, &[])
    }

    /// Loads the module again, so that its globals hold nothing that an earlier launch left there.
    pub fn reload(&mut self, module: ModuleId) -> Result {
        self.call::<()>(&WorkerRequest::Reload { module }, Operation::Load, &[])?;
        match &self.memory {
            Some(share) => share.memory.check(share.owner),
            None => Ok(()),
        }
    }

    /// Unloads all modules. Those that are loaded after that have numbers from 0 on again.
    pub fn unload_all(&mut self) -> Result {
        self.call::<()>(&WorkerRequest::UnloadAll, Operation::Load, &[])?;
        self.stated.clear();
        self.loaded.clear();
        self.launched = None;
        Ok(())
    }

    /// Returns whether the module has this kernel and its launch statement, or this function.
    pub fn has_entry(&mut self, module: ModuleId, entry: &str) -> Result<bool> {
        Ok(self
            .missing_entry(module, entry, Vec::new(), None)?
            .is_none())
    }

    /// Returns [`Stop::Build`] with what the source must contain, if the module lacks this kernel
    /// or its launch statement; or this function, with parameters that a launch can give it. A
    /// kernel must take what the problem passes.
    pub fn require_entry(
        &mut self,
        module: ModuleId,
        entry: &str,
        parameters: Vec<LaunchParameter>,
        passed: Option<Passed>,
    ) -> Result {
        match self.missing_entry(module, entry, parameters, passed)? {
            None => Ok(()),
            Some(missing) => Err(Stop::Build(missing_text(entry, &missing))),
        }
    }

    fn missing_entry(
        &mut self,
        module: ModuleId,
        entry: &str,
        parameters: Vec<LaunchParameter>,
        passed: Option<Passed>,
    ) -> Result<Option<String>> {
        self.request(&WorkerRequest::MissingEntry {
            module,
            entry: entry.to_owned(),
            parameters,
            passed,
        })
    }

    /// Returns a digest of each of these buffers, under a key that the kernel does not know. Only
    /// digests of workers on the same device can be compared.
    pub fn digests(&mut self, buffers: Vec<BufferId>, key: u64) -> Result<Vec<u64>> {
        let count = buffers.len();
        if count == 0 {
            return Ok(Vec::new());
        }
        let first = buffers.first().copied();
        let request = WorkerRequest::Digests { buffers, key };
        let (digests, _): (Vec<u64>, _) = self.buffer_work(first, request, &[], 0)?;
        if digests.len() == count {
            Ok(digests)
        } else {
            Err(self.link.invalid_answer("no digests"))
        }
    }

    /// What the launch statement of the last launch asked for.
    pub fn launched(&self) -> Option<&Launched> {
        self.launched.as_ref()
    }

    /// How [`Worker::replay`] submits launches if it is asked for `graph` or for plain launches.
    pub fn submission(&self, graph: bool) -> Submission {
        if graph && self.opened.has_graphs {
            Submission::Graph
        } else {
            Submission::Plain
        }
    }

    /// Checks every guard zone, every sealed buffer and every buffer that no launch was given. Each
    /// breach is returned once.
    pub fn breaches(&mut self) -> Result<Vec<Breach>> {
        self.find_breaches(false)
    }

    fn find_breaches(&mut self, of_given: bool) -> Result<Vec<Breach>> {
        let mut found: Vec<Breach> = self.request(&WorkerRequest::Breaches {
            of_given,
            owner: OWN,
        })?;
        if let Some(Share { memory, owner }) = &self.memory {
            found.extend(memory.breaches(*owner, of_given)?);
        }
        Ok(found)
    }

    /// As [`Worker::breaches`], for the buffers that launches were given since the last look: that
    /// is much faster where a worker has many. What launches wrote elsewhere is found by the next
    /// look at all.
    pub fn breaches_of_given(&mut self) -> Result<Vec<Breach>> {
        self.find_breaches(true)
    }

    /// The packages that loaded sources use, with their versions; empty of a worker that is not
    /// Python.
    pub fn versions(&mut self) -> Result<Vec<(String, String)>> {
        self.request(&WorkerRequest::Versions)
    }

    /// Sends a request that runs no kernel and has no body.
    fn request<R: DeserializeOwned>(&mut self, request: &WorkerRequest) -> Result<R> {
        self.call(request, Operation::Own, &[])
    }

    /// Sends a request whose reply has no body.
    fn call<R: DeserializeOwned>(
        &mut self,
        request: &WorkerRequest,
        operation: Operation,
        body: &[u8],
    ) -> Result<R> {
        let (reply, _) = self.link.call(request, operation, body, 0)?;
        Ok(reply)
    }
}

impl Known {
    /// The pattern to fill the buffer with now. The patterns take turns.
    fn next_pattern(&mut self) -> u32 {
        let pattern = self.poisons[self.next];
        self.next = (self.next + 1) % self.poisons.len();
        self.last = Some(pattern);
        pattern
    }
}

//! The judge's client for a worker: sends requests, waits for answers up to a limit, and says what
//! went wrong.

use super::images::Images;
use super::judge_memory::{Cells, JudgeMemory, Share};
use super::link::{Link, Operation};
use super::memory::{Filling, OWN, SharedBlock, is_shared};
use super::messages::{LaunchedEach, Opened, ReplayedEach, Window, WorkerRequest, missing_text};
use super::scratch_room::AskedScratch;
use super::{
    Breach, BufferId, Launch, LaunchArg, LaunchParameter, Launched, ModuleId, Replayed,
    WantedWindow,
};
use crate::outcome::Stop;
use crate::process::child::Child;
use lab_device::sandbox::SandboxState;
use lab_device::{DeviceInfo, POISONS, Submission};
use lab_system::memory;
use lab_system::random;
use serde::de::DeserializeOwned;
use std::collections::{HashMap, HashSet};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
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
    /// What the largest scratch buffer takes that a launch statement asked for, on the cpu device.
    scratch_held: u64,
    launched: Option<Launched>,
    /// Where its buffers are, and its number there. `None` if it allocates them itself.
    memory: Option<Share>,
}

/// What the judge knows of a buffer.
struct Known {
    bytes: usize,
    /// The patterns that it is filled with.
    poisons: [u32; 2],
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
            scratch_held: 0,
            launched: None,
            memory: None,
        }
    }

    /// Makes the judge's own worker allocate the buffers, which this one maps.
    #[must_use]
    pub fn with_memory(mut self, memory: Option<&Arc<JudgeMemory>>) -> Worker {
        self.memory = memory.map(Share::new);
        self
    }

    /// Makes it the judge's own worker, with the built cells.cu. `None` if its memory cannot be shared.
    pub fn into_memory(self, kernels: &Path) -> Result<Option<Arc<JudgeMemory>>, Stop> {
        match self.opened.shares_memory {
            true => self.into_unshared_memory(kernels).map(Some),
            false => Ok(None),
        }
    }

    /// [`Worker::into_memory`] where no other worker maps the memory.
    pub fn into_unshared_memory(mut self, kernels: &Path) -> Result<Arc<JudgeMemory>, Stop> {
        let kernels = self.load(kernels)?;
        Ok(JudgeMemory::new(self.link, self.images, kernels))
    }

    /// Sends a request that runs no kernel of a user, with a body, and returns the reply with its
    /// body of at most so many bytes.
    fn own_work<R: DeserializeOwned>(
        &mut self,
        request: &WorkerRequest,
        body: &[u8],
        body_limit: usize,
    ) -> Result<(R, Vec<u8>), Stop> {
        self.link.call(request, Operation::Own, body, body_limit)
    }

    /// [`Worker::own_work`] with a buffer: in the process that has allocated it.
    fn buffer_work<R: DeserializeOwned>(
        &mut self,
        buffer: Option<BufferId>,
        request: &WorkerRequest,
        body: &[u8],
        body_limit: usize,
    ) -> Result<(R, Vec<u8>), Stop> {
        match &self.memory {
            Some(share) if buffer.is_some_and(is_shared) => {
                share.memory.call(request, body, body_limit)
            }
            _ => self.own_work(request, body, body_limit),
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

    /// Returns whether the process has not ended.
    pub fn is_alive(&mut self) -> bool {
        self.link.connection.is_alive()
    }

    /// Loads an image, or a source if the worker is a Python process. Returns [`Stop::Build`] if
    /// the source cannot be executed.
    pub fn load(&mut self, image: &Path) -> Result<ModuleId, Stop> {
        self.load_with(image, &[])
    }

    /// [`Worker::load`] of a source in Python whose functions have other names than the entries:
    /// pairs of an entry and its function.
    pub fn load_with(
        &mut self,
        image: &Path,
        functions: &[(String, String)],
    ) -> Result<ModuleId, Stop> {
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
    pub fn reload(&mut self, module: ModuleId) -> Result<(), Stop> {
        self.call::<()>(&WorkerRequest::Reload { module }, Operation::Load, &[])?;
        match &self.memory {
            Some(share) => share.memory.check(share.owner),
            None => Ok(()),
        }
    }

    /// Returns whether the module has this kernel and its launch statement, or this function.
    pub fn has_entry(&mut self, module: ModuleId, entry: &str) -> Result<bool, Stop> {
        Ok(self.missing_entry(module, entry, Vec::new())?.is_none())
    }

    /// Returns [`Stop::Build`] with what the source must contain, if the module lacks this kernel
    /// or its launch statement; or this function, with parameters that a launch can give it.
    pub fn require_entry(
        &mut self,
        module: ModuleId,
        entry: &str,
        parameters: Vec<LaunchParameter>,
    ) -> Result<(), Stop> {
        match self.missing_entry(module, entry, parameters)? {
            None => Ok(()),
            Some(missing) => Err(Stop::Build(missing_text(entry, &missing))),
        }
    }

    fn missing_entry(
        &mut self,
        module: ModuleId,
        entry: &str,
        parameters: Vec<LaunchParameter>,
    ) -> Result<Option<String>, Stop> {
        self.request(&WorkerRequest::MissingEntry {
            module,
            entry: entry.to_owned(),
            parameters,
        })
    }

    /// Allocates a buffer between guard zones and fills it with poison. `name` is what messages
    /// call it.
    pub fn buffer(&mut self, name: &str, bytes: usize) -> Result<BufferId, Stop> {
        Ok(self.buffers(vec![(name.to_owned(), bytes)])?[0])
    }

    /// [`Worker::buffer`] for several buffers: names and bytes.
    pub fn buffers(&mut self, wanted: Vec<(String, usize)>) -> Result<Vec<BufferId>, Stop> {
        let sizes: Vec<usize> = wanted.iter().map(|(_, bytes)| *bytes).collect();
        let ids = match &self.memory {
            Some(share) => {
                let (shared, memory) = share.memory.allocate(share.owner, wanted)?;
                let ids = shared.buffers.iter().map(|(id, ..)| *id).collect();
                self.map(shared, memory)?;
                ids
            }
            None => self.allocate(wanted)?,
        };
        self.know(&ids, sizes)?;
        Ok(ids)
    }

    /// [`Worker::buffer`] in the worker's own process: for what the kernel gets no address of.
    pub fn own_buffer(&mut self, name: &str, bytes: usize) -> Result<BufferId, Stop> {
        let ids = self.allocate(vec![(name.to_owned(), bytes)])?;
        self.know(&ids, vec![bytes])?;
        Ok(ids[0])
    }

    fn allocate(&mut self, buffers: Vec<(String, usize)>) -> Result<Vec<BufferId>, Stop> {
        self.request(&WorkerRequest::Allocate { buffers })
    }

    /// Maps an allocation of the judge's own worker.
    fn map(&mut self, shared: SharedBlock, memory: OwnedFd) -> Result<(), Stop> {
        let number = self
            .link
            .ask(&WorkerRequest::Map(shared), Operation::Own, &[])?;
        self.link
            .connection
            .send_descriptor(memory.as_fd())
            .map_err(|error| Stop::Lab(format!("shared memory cannot be sent: {error}")))?;
        let ((), _) = self.link.answer(number, Operation::Own, 0)?;
        Ok(())
    }

    /// Notes buffers of these sizes.
    fn know(&mut self, ids: &[BufferId], sizes: Vec<usize>) -> Result<(), Stop> {
        if ids.len() != sizes.len() {
            return Err(self
                .link
                .invalid_answer("not as many buffers as were asked for"));
        }
        let known = |(id, bytes): (&BufferId, usize)| {
            let known = Known {
                bytes,
                poisons: POISONS,
                // Chance selects the first pattern.
                next: random::number() as usize % POISONS.len(),
                last: None,
            };
            (*id, known)
        };
        self.buffers.extend(ids.iter().zip(sizes).map(known));
        Ok(())
    }

    /// Writes a whole buffer. Breaks its seal.
    pub fn write(&mut self, buffer: BufferId, bytes: &[u8]) -> Result<(), Stop> {
        self.write_all(vec![buffer], false, bytes)
    }

    /// Writes a whole buffer and declares its content an input: [`Worker::breaches`] reports a
    /// change of it.
    pub fn write_input(&mut self, buffer: BufferId, bytes: &[u8]) -> Result<(), Stop> {
        self.write_all(vec![buffer], true, bytes)
    }

    /// [`Worker::write_input`] for several buffers. Small contents go in one message.
    pub fn write_inputs(&mut self, contents: &[(BufferId, &[u8])]) -> Result<(), Stop> {
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
    pub fn fixed_input(&mut self, key: u64, name: &str, bytes: &[u8]) -> Result<BufferId, Stop> {
        if let Some(buffer) = self.fixed.get(&key) {
            return Ok(*buffer);
        }
        let buffer = self.buffer(name, bytes.len())?;
        self.write_input(buffer, bytes)?;
        self.fixed.insert(key, buffer);
        Ok(buffer)
    }

    fn write_all(
        &mut self,
        buffers: Vec<BufferId>,
        are_inputs: bool,
        body: &[u8],
    ) -> Result<(), Stop> {
        let first = buffers.first().copied();
        let request = WorkerRequest::Write {
            buffers,
            are_inputs,
        };
        let (reply, _) = self.buffer_work(first, &request, body, 0)?;
        Ok(reply)
    }

    /// Writes whole buffers; `are_inputs` as in [`Worker::write_input`]. What the judge's own worker
    /// holds is copied on the device.
    pub fn write_cells(
        &mut self,
        contents: &[(BufferId, &Cells)],
        are_inputs: bool,
    ) -> Result<(), Stop> {
        let (mut held, mut host) = (Vec::new(), Vec::new());
        for (buffer, cells) in contents {
            match cells {
                Cells::Held(cells) if self.memory.is_some() => held.push((cells.id, *buffer)),
                _ => host.push((*buffer, cells.to_host()?)),
            }
        }
        if let Some(share) = self.memory.as_ref().filter(|_| !held.is_empty()) {
            share.memory.copy(held, are_inputs)?;
        }
        let host: Vec<(BufferId, &[u8])> = host.iter().map(|(id, cells)| (*id, &**cells)).collect();
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

    /// Whether the judge's own worker has its buffers.
    pub fn has_shared_buffers(&self) -> bool {
        self.memory.is_some()
    }

    /// What buffers hold: copies that stay what they are. On the device if the judge's own worker
    /// has the buffers.
    pub fn take(&mut self, buffers: &[BufferId]) -> Result<Vec<Cells>, Stop> {
        let Some(Share { memory, .. }) = &self.memory else {
            return self.read_all(buffers);
        };
        let bytes = |id: &BufferId| self.buffers.get(id).map_or(0, |known| known.bytes);
        let each: Vec<(BufferId, usize)> = buffers.iter().map(|id| (*id, bytes(id))).collect();
        memory.hold_copies(&each)
    }

    /// What buffers hold until the next launch.
    pub fn look_at(&mut self, buffers: &[BufferId]) -> Result<Vec<Cells>, Stop> {
        let Some(Share { memory, .. }) = &self.memory else {
            return self.read_all(buffers);
        };
        let bytes = |id: &BufferId| self.buffers.get(id).map_or(0, |known| known.bytes);
        Ok(buffers
            .iter()
            .map(|id| memory.lent(*id, bytes(id)))
            .collect())
    }

    fn read_all(&mut self, buffers: &[BufferId]) -> Result<Vec<Cells>, Stop> {
        let read = |id: &BufferId| self.read(*id).map(Cells::Host);
        buffers.iter().map(read).collect()
    }

    /// Reads a whole buffer.
    pub fn read(&mut self, buffer: BufferId) -> Result<Vec<u8>, Stop> {
        let expected = self.buffers.get(&buffer).map_or(0, |known| known.bytes);
        let request = WorkerRequest::Read { buffer };
        let ((), bytes) = self.buffer_work(Some(buffer), &request, &[], expected)?;
        if bytes.len() == expected {
            Ok(bytes)
        } else {
            Err(self.link.invalid_answer("too few bytes of a buffer"))
        }
    }

    /// Fills a buffer with one of [`POISONS`], so that a cell that the kernel does not write is
    /// found. The patterns take turns, and chance selects the first one: the pattern says nothing
    /// about the launch that follows.
    pub fn poison(&mut self, buffer: BufferId) -> Result<(), Stop> {
        self.poison_all(vec![buffer])
    }

    /// [`Worker::poison`] for several buffers.
    pub fn poison_all(&mut self, buffers: Vec<BufferId>) -> Result<(), Stop> {
        let fills = self.chosen_patterns(buffers);
        self.fill(fills, Filling::Waits)
    }

    fn chosen_patterns(&mut self, buffers: Vec<BufferId>) -> Vec<(BufferId, u32)> {
        let known = &mut self.buffers;
        let choose = |id: BufferId| Some((id, known.get_mut(&id)?.next_pattern()));
        buffers.into_iter().filter_map(choose).collect()
    }

    /// Makes [`Worker::poison`] fill a buffer with these patterns, as the type of its cells needs
    /// them.
    pub fn set_poisons(&mut self, buffer: BufferId, patterns: [u32; 2]) {
        if let Some(known) = self.buffers.get_mut(&buffer) {
            known.poisons = patterns;
        }
    }

    /// The pattern that [`Worker::poison`] last filled a buffer with; `None` if it never did.
    pub fn last_poison(&self, buffer: BufferId) -> Option<u32> {
        self.buffers.get(&buffer)?.last
    }

    /// As [`Worker::poison`], for a buffer larger than the L2 cache: nothing that was in the cache
    /// is there afterwards.
    pub fn flush_cache(&mut self, buffer: BufferId) -> Result<(), Stop> {
        self.fill(vec![(buffer, POISONS[0])], Filling::FlushesCache)
    }

    /// Fills buffers with zeros.
    pub fn clear_all(&mut self, buffers: Vec<BufferId>) -> Result<(), Stop> {
        let fills = buffers.into_iter().map(|buffer| (buffer, 0)).collect();
        self.fill(fills, Filling::Waits)
    }

    fn fill(&mut self, fills: Vec<(BufferId, u32)>, how: Filling) -> Result<(), Stop> {
        if fills.is_empty() {
            return Ok(());
        }
        let first = fills.first().map(|(buffer, _)| *buffer);
        let (reply, _) = self.buffer_work(first, &WorkerRequest::Fill { fills, how }, &[], 0)?;
        Ok(reply)
    }

    /// Frees a buffer.
    pub fn free(&mut self, buffer: BufferId) -> Result<(), Stop> {
        self.buffers.remove(&buffer);
        if self.memory.is_some() && is_shared(buffer) {
            return self.free_all(vec![buffer]);
        }
        self.request(&WorkerRequest::Free { buffer })
    }

    /// Frees buffers.
    pub fn free_all(&mut self, buffers: Vec<BufferId>) -> Result<(), Stop> {
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

    /// Lets the judge's own worker, if it has the buffers, fill some and expect these launches.
    /// Returns what this worker has to fill.
    fn prepare(
        &mut self,
        fills: Vec<(BufferId, u32)>,
        launches: &[Launch],
    ) -> Result<Vec<(BufferId, u32)>, Stop> {
        let given = launches.iter().flat_map(|launch| launch.args.clone());
        self.prepare_for(fills, given.collect())
    }

    /// [`Worker::prepare`] for launches with these arguments.
    fn prepare_for(
        &self,
        fills: Vec<(BufferId, u32)>,
        given: Vec<LaunchArg>,
    ) -> Result<Vec<(BufferId, u32)>, Stop> {
        let Some(Share { memory, owner }) = &self.memory else {
            return Ok(fills);
        };
        let given = given.into_iter().filter_map(|arg| match arg {
            LaunchArg::Buffer(id) => Some(id),
            LaunchArg::Value(_) => None,
        });
        memory.prepare(*owner, fills, given.collect())?;
        Ok(Vec::new())
    }

    /// Runs the launch statement of a launch on its own, once for an entry and dims: if it crashes
    /// or hangs, the kernel does not.
    fn state(&mut self, launch: &Launch) -> Result<(), Stop> {
        let key = (launch.module, launch.entry.clone(), launch.dims.clone());
        if !self.opened.has_statements || self.stated.contains(&key) {
            return Ok(());
        }
        self.prepare(Vec::new(), &[])?;
        let statement = Operation::Statement(&launch.entry);
        let request = WorkerRequest::State(launch.clone());
        let (scratch_bytes, line) = self.call(&request, statement, &[])?;
        if let Some(machine) = memory::usable().filter(|_| self.opened.info.emulated) {
            let asked = AskedScratch {
                entry: &launch.entry,
                line,
                bytes: scratch_bytes,
            };
            asked.check(self.scratch_held, machine)?;
            self.scratch_held = self.scratch_held.max(asked.held());
        }
        self.stated.insert(key);
        Ok(())
    }

    /// Launches, waits for the end, and returns the seconds between the device events around the
    /// launch.
    pub fn launch(&mut self, launch: &Launch) -> Result<f64, Stop> {
        self.poison_and_launch(Vec::new(), launch)
    }

    /// [`Worker::poison_all`], then [`Worker::launch`], in one message.
    pub fn poison_and_launch(
        &mut self,
        buffers: Vec<BufferId>,
        launch: &Launch,
    ) -> Result<f64, Stop> {
        let (seconds, failure) =
            self.poison_and_launch_each(buffers, std::slice::from_ref(launch))?;
        let failed = || {
            self.link
                .invalid_answer("neither a time of a launch nor why it failed")
        };
        failure.map_or_else(|| seconds.first().copied().ok_or_else(failed), Err)
    }

    /// [`Worker::poison_all`], then [`Worker::launch`] for each of these: all may take as long as one.
    /// Returns the seconds of those that ended well, and why the next one did not.
    pub fn poison_and_launch_each(
        &mut self,
        buffers: Vec<BufferId>,
        launches: &[Launch],
    ) -> Result<(Vec<f64>, Option<Stop>), Stop> {
        launches.iter().try_for_each(|launch| self.state(launch))?;
        let fills = self.chosen_patterns(buffers);
        let request = WorkerRequest::Launch {
            fills: self.prepare(fills, launches)?,
            launches: launches.to_vec(),
        };
        let LaunchedEach {
            seconds,
            launched,
            failure,
        } = self.call(&request, Operation::Launch, &[])?;
        if seconds.len() + usize::from(failure.is_some()) > launches.len() {
            return Err(self
                .link
                .invalid_answer("more launches than were asked for"));
        }
        self.launched = launched.or(self.launched.take());
        let failure = failure.map(|stop| self.link.described(stop, Operation::Launch));
        Ok((seconds, failure))
    }

    /// Launches these one after the other, with `graph` as one CUDA graph if the device has graphs:
    /// then without the host in between. All together may take as long as one launch. With `flush`,
    /// a buffer larger than the L2 cache is written just before: nothing that was in the cache is
    /// there when the first launch begins.
    pub fn replay(
        &mut self,
        launches: Vec<Launch>,
        flush: Option<BufferId>,
        graph: bool,
    ) -> Result<Replayed, Stop> {
        let window = WantedWindow {
            launches,
            ..WantedWindow::default()
        };
        let (mut replayed, failure) = self.replay_each(vec![window], (flush, graph), 0)?;
        match failure {
            Some(stop) => Err(stop),
            None => replayed
                .pop()
                .ok_or_else(|| self.link.invalid_answer("no time of a window")),
        }
    }

    /// [`Worker::replay`] for several windows, which together may take as long as one launch. The
    /// digests are under `key`. Returns the windows that ended well, and why the next one did not.
    pub fn replay_each(
        &mut self,
        windows: Vec<WantedWindow>,
        (flush, graph): (Option<BufferId>, bool),
        key: u64,
    ) -> Result<(Vec<Replayed>, Option<Stop>), Stop> {
        let mut launches = windows.iter().flat_map(|window| &window.launches);
        launches.try_for_each(|launch| self.state(launch))?;
        let launches = windows.iter().flat_map(|window| &window.launches);
        let given = launches.flat_map(|launch| launch.args.clone()).collect();
        // What surrounds the windows of Python is not left to its process, which runs the kernel too.
        if self.is_python() && self.memory.is_some() {
            return self.replay_one_by_one(windows, (flush, graph), key);
        }
        self.prepare_for(Vec::new(), given)?;
        let windows: Vec<Window> = windows
            .into_iter()
            .map(|window| Window {
                fills: self.chosen_patterns(window.poisoned),
                read: window.read,
                launches: window.launches,
                digested: window.digested,
            })
            .collect();
        self.ask_replay(windows, (flush, graph), key)
    }

    fn replay_one_by_one(
        &mut self,
        windows: Vec<WantedWindow>,
        how: (Option<BufferId>, bool),
        key: u64,
    ) -> Result<(Vec<Replayed>, Option<Stop>), Stop> {
        let mut all = Vec::with_capacity(windows.len());
        for window in windows {
            let fills = self.chosen_patterns(window.poisoned);
            let given = window.launches.iter();
            let given = given.flat_map(|launch| launch.args.clone()).collect();
            self.prepare_for(fills, given)?;
            self.digests(window.read, key)?;
            let asked = vec![Window {
                fills: Vec::new(),
                read: Vec::new(),
                launches: window.launches,
                digested: Vec::new(),
            }];
            let (mut replayed, failure) = self.ask_replay(asked, how, key)?;
            if failure.is_some() {
                return Ok((all, failure));
            }
            for replayed in &mut replayed {
                replayed.digests = self.digests(window.digested.clone(), key)?;
            }
            all.append(&mut replayed);
        }
        Ok((all, None))
    }

    fn ask_replay(
        &mut self,
        windows: Vec<Window>,
        (flush, graph): (Option<BufferId>, bool),
        key: u64,
    ) -> Result<(Vec<Replayed>, Option<Stop>), Stop> {
        let asked = self.submission(graph);
        let count = windows.len();
        let request = WorkerRequest::Replay {
            windows,
            flush: flush.map(|buffer| (buffer, POISONS[0])),
            submission: asked,
            key,
        };
        let ReplayedEach {
            windows,
            uncaptured,
            failure,
        } = self.call(&request, Operation::Launch, &[])?;
        if windows.len() + usize::from(failure.is_some()) > count {
            return Err(self.link.invalid_answer("more windows than were asked for"));
        }
        let uncaptured = uncaptured.filter(|_| asked == Submission::Graph);
        let submission = match uncaptured {
            Some(_) => Submission::Plain,
            None => asked,
        };
        let replayed = windows.into_iter().map(|(seconds, digests)| Replayed {
            seconds,
            digests,
            submission,
            uncaptured: uncaptured.clone(),
        });
        let failure = failure.map(|stop| self.link.described(stop, Operation::Launch));
        Ok((replayed.collect(), failure))
    }

    /// Returns a digest of each of these buffers, under a key that the kernel does not know. Only
    /// digests of workers on the same device can be compared.
    pub fn digests(&mut self, buffers: Vec<BufferId>, key: u64) -> Result<Vec<u64>, Stop> {
        let count = buffers.len();
        if count == 0 {
            return Ok(Vec::new());
        }
        let first = buffers.first().copied();
        let request = WorkerRequest::Digests { buffers, key };
        let (digests, _): (Vec<u64>, _) = self.buffer_work(first, &request, &[], 0)?;
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
    pub fn breaches(&mut self) -> Result<Vec<Breach>, Stop> {
        self.find_breaches(false)
    }

    fn find_breaches(&mut self, of_given: bool) -> Result<Vec<Breach>, Stop> {
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
    pub fn breaches_of_given(&mut self) -> Result<Vec<Breach>, Stop> {
        self.find_breaches(true)
    }

    /// The packages that loaded sources use, with their versions; empty of a worker that is not
    /// Python.
    pub fn versions(&mut self) -> Result<Vec<(String, String)>, Stop> {
        self.request(&WorkerRequest::Versions)
    }

    /// Sends a request that runs no kernel and has no body.
    fn request<R: DeserializeOwned>(&mut self, request: &WorkerRequest) -> Result<R, Stop> {
        self.call(request, Operation::Own, &[])
    }

    /// Sends a request whose reply has no body.
    fn call<R: DeserializeOwned>(
        &mut self,
        request: &WorkerRequest,
        operation: Operation,
        body: &[u8],
    ) -> Result<R, Stop> {
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

//! The judge's client for a worker: sends requests, waits for answers up to a limit, and says what
//! went wrong.

use super::images::Images;
use super::link::{Link, Operation};
use super::messages::{WorkerReply, WorkerRequest, missing_text};
use super::scratch_room::AskedScratch;
use super::{Breach, BufferId, Launch, LaunchParameter, Launched, ModuleId, Replayed};
use crate::outcome::Stop;
use crate::process::child::Child;
use lab_device::sandbox::SandboxState;
use lab_device::{DeviceInfo, POISONS, Submission};
use lab_system::memory;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::time::{Duration, Instant};

/// What a worker says of its device.
pub(super) struct Opened {
    pub info: DeviceInfo,
    pub has_graphs: bool,
    pub has_statements: bool,
    pub sandbox: Option<SandboxState>,
}

/// The judge's client for a worker process whose device is open.
///
/// After an error of the connection or a crash the worker is ended, and every further call fails.
pub struct Worker {
    link: Link,
    info: DeviceInfo,
    sandbox: Option<SandboxState>,
    /// `None` if the worker is not confined, and opens an image where it is.
    images: Option<Images>,
    /// The size of each buffer.
    bytes: HashMap<BufferId, usize>,
    /// The patterns that a buffer is filled with, if they are not [`POISONS`].
    poisons: HashMap<BufferId, [u32; 2]>,
    /// Which of its patterns a buffer is filled with next.
    next_poison: HashMap<BufferId, usize>,
    /// Which pattern a buffer was last filled with.
    last_poison: HashMap<BufferId, u32>,
    /// Whether launches can run as one graph.
    has_graphs: bool,
    /// Whether launches have statements.
    has_statements: bool,
    /// The launches whose statement has run: module, entry and dims.
    stated: HashSet<(ModuleId, String, Vec<u8>)>,
    /// What the largest scratch buffer takes that a launch statement asked for, on the cpu device.
    scratch_held: u64,
    launched: Option<Launched>,
}

impl Worker {
    /// Closes the connection and waits up to `patience` for the process to end by itself: a tool
    /// that watches it then writes what it found.
    pub fn close_and_wait(mut self, patience: Duration) {
        self.link.connection.close_and_wait(patience);
    }

    /// A worker that has opened this device. `images` is `None` if the worker is not confined.
    pub(super) fn of(link: Link, opened: Opened, images: Option<Images>) -> Worker {
        let Opened {
            info,
            has_graphs,
            has_statements,
            sandbox,
        } = opened;
        Worker {
            link,
            info,
            sandbox,
            images,
            bytes: HashMap::new(),
            poisons: HashMap::new(),
            next_poison: HashMap::new(),
            last_poison: HashMap::new(),
            has_graphs,
            has_statements,
            stated: HashSet::new(),
            scratch_held: 0,
            launched: None,
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
        &self.info
    }

    /// Whether its kernels are Python, which may keep what they compute anywhere in its process.
    pub fn is_python(&self) -> bool {
        self.link.python.is_some()
    }

    /// Whether launches follow the order of blocks and threads that they ask for: not on a GPU, and
    /// not in Python, which has neither.
    pub fn orders_threads(&self) -> bool {
        self.info.emulated && self.link.python.is_none()
    }

    /// What holds the worker back; `None` if it is a thread of this process.
    pub fn sandbox(&self) -> Option<&SandboxState> {
        self.sandbox.as_ref()
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
        match self.link.call(&request, Operation::Load, &[], 0)?.0 {
            WorkerReply::Module(module) => Ok(module),
            _ => Err(self.link.invalid_answer("no module")),
        }
    }

    /// Loads the module anew, so that its globals hold nothing that an earlier launch left there.
    pub fn reload(&mut self, module: ModuleId) -> Result<(), Stop> {
        self.link
            .call(&WorkerRequest::Reload { module }, Operation::Load, &[], 0)
            .map(drop)
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
        match self.request(&WorkerRequest::MissingEntry {
            module,
            entry: entry.to_owned(),
            parameters,
        })? {
            WorkerReply::MissingEntry(missing) => Ok(missing),
            _ => Err(self.link.invalid_answer("nothing about an entry")),
        }
    }

    /// Allocates a buffer between guard zones and fills it with poison. `name` is what messages
    /// call it.
    pub fn buffer(&mut self, name: &str, bytes: usize) -> Result<BufferId, Stop> {
        match self.request(&WorkerRequest::Allocate {
            name: name.to_owned(),
            bytes,
        })? {
            WorkerReply::Buffer(id) => {
                self.bytes.insert(id, bytes);
                Ok(id)
            }
            _ => Err(self.link.invalid_answer("no buffer")),
        }
    }

    /// [`Worker::buffer`] for several buffers: names and bytes.
    pub fn buffers(&mut self, wanted: Vec<(String, usize)>) -> Result<Vec<BufferId>, Stop> {
        // Each is a call of Python's own there, whatever the message.
        if self.is_python() {
            return wanted
                .iter()
                .map(|(name, bytes)| self.buffer(name, *bytes))
                .collect();
        }
        let sizes: Vec<usize> = wanted.iter().map(|(_, bytes)| *bytes).collect();
        match self.request(&WorkerRequest::AllocateAll { buffers: wanted })? {
            WorkerReply::Buffers(ids) if ids.len() == sizes.len() => {
                self.bytes.extend(ids.iter().copied().zip(sizes));
                Ok(ids)
            }
            _ => Err(self
                .link
                .invalid_answer("not as many buffers as were asked for")),
        }
    }

    /// Writes a whole buffer. Breaks its seal.
    pub fn write(&mut self, buffer: BufferId, bytes: &[u8]) -> Result<(), Stop> {
        self.link
            .call(&WorkerRequest::Write { buffer }, Operation::Own, bytes, 0)
            .map(drop)
    }

    /// Writes a whole buffer and declares its content an input: [`Worker::breaches`] reports a
    /// change of it.
    pub fn write_input(&mut self, buffer: BufferId, bytes: &[u8]) -> Result<(), Stop> {
        self.link
            .call(
                &WorkerRequest::WriteInput { buffer },
                Operation::Own,
                bytes,
                0,
            )
            .map(drop)
    }

    /// [`Worker::write_input`] for several buffers. Small contents go in one message.
    pub fn write_inputs(&mut self, contents: &[(BufferId, &[u8])]) -> Result<(), Stop> {
        /// Bytes above which copying them together takes longer than further messages.
        const SMALL: usize = 1 << 20;
        let bytes: usize = contents.iter().map(|(_, content)| content.len()).sum();
        if contents.len() < 2 || bytes > SMALL || self.is_python() {
            return contents
                .iter()
                .try_for_each(|(buffer, content)| self.write_input(*buffer, content));
        }
        let body: Vec<&[u8]> = contents.iter().map(|(_, content)| *content).collect();
        let request = WorkerRequest::WriteInputs {
            buffers: contents.iter().map(|(id, _)| *id).collect(),
        };
        self.link
            .call(&request, Operation::Own, &body.concat(), 0)
            .map(drop)
    }

    /// Reads a whole buffer.
    pub fn read(&mut self, buffer: BufferId) -> Result<Vec<u8>, Stop> {
        let expected = self.bytes.get(&buffer).copied().unwrap_or(0);
        let (_, bytes) = self.link.call(
            &WorkerRequest::Read { buffer },
            Operation::Own,
            &[],
            expected,
        )?;
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
        let pattern = self.next_pattern(buffer);
        self.request(&WorkerRequest::Fill { buffer, pattern })
            .map(drop)
    }

    fn chosen_patterns(&mut self, buffers: Vec<BufferId>) -> Vec<(BufferId, u32)> {
        buffers
            .into_iter()
            .map(|id| (id, self.next_pattern(id)))
            .collect()
    }

    /// [`Worker::poison`] for several buffers.
    pub fn poison_all(&mut self, buffers: Vec<BufferId>) -> Result<(), Stop> {
        let chosen = self.chosen_patterns(buffers);
        let mut patterns: Vec<u32> = chosen.iter().map(|(_, pattern)| *pattern).collect();
        patterns.sort_unstable();
        patterns.dedup();
        for pattern in patterns {
            let buffers: Vec<BufferId> = chosen
                .iter()
                .filter(|(_, chosen)| *chosen == pattern)
                .map(|(buffer, _)| *buffer)
                .collect();
            self.request(&WorkerRequest::FillAll { buffers, pattern })?;
        }
        Ok(())
    }

    /// Makes [`Worker::poison`] fill a buffer with these patterns, as the type of its cells needs
    /// them.
    pub fn set_poisons(&mut self, buffer: BufferId, patterns: [u32; 2]) {
        self.poisons.insert(buffer, patterns);
    }

    /// The pattern that [`Worker::poison`] last filled a buffer with; `None` if it never did.
    pub fn last_poison(&self, buffer: BufferId) -> Option<u32> {
        self.last_poison.get(&buffer).copied()
    }

    fn next_pattern(&mut self, buffer: BufferId) -> u32 {
        let chance = || RandomState::new().hash_one(buffer) as usize % POISONS.len();
        let next = self.next_poison.entry(buffer).or_insert_with(chance);
        let patterns = self.poisons.get(&buffer).unwrap_or(&POISONS);
        let pattern = patterns[*next];
        *next = (*next + 1) % patterns.len();
        self.last_poison.insert(buffer, pattern);
        pattern
    }

    /// As [`Worker::poison`], for a buffer larger than the L2 cache: nothing that was in the cache
    /// is there afterwards.
    pub fn flush_cache(&mut self, buffer: BufferId) -> Result<(), Stop> {
        self.request(&WorkerRequest::FlushCache {
            buffer,
            pattern: POISONS[0],
        })
        .map(drop)
    }

    /// Fills a buffer with zeros.
    pub fn clear(&mut self, buffer: BufferId) -> Result<(), Stop> {
        self.request(&WorkerRequest::Fill { buffer, pattern: 0 })
            .map(drop)
    }

    /// Declares the present content of a buffer an input. [`Worker::breaches`] reports a change of
    /// it.
    pub fn seal(&mut self, buffer: BufferId) -> Result<(), Stop> {
        self.request(&WorkerRequest::Seal { buffer }).map(drop)
    }

    /// Frees a buffer.
    pub fn free(&mut self, buffer: BufferId) -> Result<(), Stop> {
        self.bytes.remove(&buffer);
        self.poisons.remove(&buffer);
        self.next_poison.remove(&buffer);
        self.last_poison.remove(&buffer);
        self.request(&WorkerRequest::Free { buffer }).map(drop)
    }

    /// Runs the launch statement of a launch on its own, once for an entry and dims: if it crashes
    /// or hangs, the kernel does not.
    fn state(&mut self, launch: &Launch) -> Result<(), Stop> {
        let key = (launch.module, launch.entry.clone(), launch.dims.clone());
        if !self.has_statements || self.stated.contains(&key) {
            return Ok(());
        }
        let statement = Operation::Statement(&launch.entry);
        let (reply, _) =
            self.link
                .call(&WorkerRequest::State(launch.clone()), statement, &[], 0)?;
        if let WorkerReply::Stated {
            scratch_bytes,
            line,
        } = reply
            && let Some(machine) = memory::usable().filter(|_| self.info.emulated)
        {
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
        self.launch_by(launch, WorkerRequest::Launch(launch.clone()))
    }

    /// [`Worker::poison_all`], then [`Worker::launch`], in one message.
    pub fn poison_and_launch(
        &mut self,
        buffers: Vec<BufferId>,
        launch: &Launch,
    ) -> Result<f64, Stop> {
        if self.is_python() {
            self.poison_all(buffers)?;
            return self.launch(launch);
        }
        let fills = self.chosen_patterns(buffers);
        self.launch_by(
            launch,
            WorkerRequest::FillAndLaunch {
                fills,
                launch: launch.clone(),
            },
        )
    }

    fn launch_by(&mut self, launch: &Launch, request: WorkerRequest) -> Result<f64, Stop> {
        self.state(launch)?;
        match self.link.call(&request, Operation::Launch, &[], 0)?.0 {
            WorkerReply::Launched { seconds, launched } => {
                self.launched = Some(launched);
                Ok(seconds)
            }
            _ => Err(self.link.invalid_answer("no time of a launch")),
        }
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
        launches.iter().try_for_each(|launch| self.state(launch))?;
        let (flush, asked) = (
            flush.map(|buffer| (buffer, POISONS[0])),
            self.submission(graph),
        );
        let request = WorkerRequest::Replay {
            launches,
            flush,
            submission: asked,
        };
        match self.link.call(&request, Operation::Launch, &[], 0)?.0 {
            WorkerReply::Replayed {
                seconds,
                uncaptured,
            } => {
                let uncaptured = uncaptured.filter(|_| asked == Submission::Graph);
                let submission = if uncaptured.is_some() {
                    Submission::Plain
                } else {
                    asked
                };
                Ok(Replayed {
                    seconds,
                    submission,
                    uncaptured,
                })
            }
            _ => Err(self.link.invalid_answer("no time of a replay")),
        }
    }

    /// Returns a digest of each of these buffers, under a key that the kernel does not know. Only
    /// digests of workers on the same device can be compared.
    pub fn digests(&mut self, buffers: Vec<BufferId>, key: u64) -> Result<Vec<u64>, Stop> {
        let count = buffers.len();
        match self.request(&WorkerRequest::Digests { buffers, key })? {
            WorkerReply::Digests(digests) if digests.len() == count => Ok(digests),
            _ => Err(self.link.invalid_answer("no digests")),
        }
    }

    /// What the launch statement of the last launch asked for.
    pub fn launched(&self) -> Option<&Launched> {
        self.launched.as_ref()
    }

    /// How [`Worker::replay`] submits launches if it is asked for `graph` or for plain launches.
    pub fn submission(&self, graph: bool) -> Submission {
        if graph && self.has_graphs {
            Submission::Graph
        } else {
            Submission::Plain
        }
    }

    /// Checks every guard zone, every sealed buffer and every buffer that no launch was given. Each
    /// breach is returned once.
    pub fn breaches(&mut self) -> Result<Vec<Breach>, Stop> {
        self.ask_for_breaches(false)
    }

    /// As [`Worker::breaches`], for the buffers that launches were given since the last look: that
    /// is much faster where a worker has many. What launches wrote elsewhere is found by the next
    /// look at all.
    pub fn breaches_of_given(&mut self) -> Result<Vec<Breach>, Stop> {
        self.ask_for_breaches(true)
    }

    fn ask_for_breaches(&mut self, of_given: bool) -> Result<Vec<Breach>, Stop> {
        match self.request(&WorkerRequest::Breaches { of_given })? {
            WorkerReply::Breaches(found) => Ok(found),
            _ => Err(self.link.invalid_answer("nothing about breaches")),
        }
    }

    /// The packages that loaded sources use, with their versions; empty of a worker that is not
    /// Python.
    pub fn versions(&mut self) -> Result<Vec<(String, String)>, Stop> {
        match self.request(&WorkerRequest::Versions)? {
            WorkerReply::Versions(versions) => Ok(versions),
            _ => Err(self.link.invalid_answer("no versions")),
        }
    }

    /// Sends a request that runs no kernel and has no body.
    fn request(&mut self, request: &WorkerRequest) -> Result<WorkerReply, Stop> {
        self.link
            .call(request, Operation::Own, &[], 0)
            .map(|(reply, _)| reply)
    }
}

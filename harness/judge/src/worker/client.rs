//! The judge's client for a worker: sends requests, waits for answers up to a limit, and says what went wrong.

use super::images::Images;
use super::left_behind::{Threads, WorkerTasks};
use super::link::{Link, Operation};
use super::messages::{SandboxRequest, WorkerReply, WorkerRequest, missing_function, missing_text};
use super::python::{Interpreter, NO_SANDBOX, OTHER, Started};
use super::{Breach, BufferId, Launch, Launched, ModuleId, Replayed, WatchingTool, serve};
use crate::outcome::Stop;
use crate::process::child::{Child, LineSink, Program};
use crate::process::rpc::Connection;
use lab_device::sandbox::{FileAccess, SandboxState};
use lab_device::{DeviceError, DeviceInfo, Driver, POISONS, Submission};
use lab_protocol::Target;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A worker that is opening its device.
pub struct StartingWorker {
    link: Link,
    asked: Result<u64, Stop>,
    images: Option<Images>,
}

impl StartingWorker {
    /// Waits until the device is open.
    pub fn ready(mut self) -> Result<Worker, Stop> {
        let number = self.asked?;
        match self.link.answer(number, Operation::Open, 0)?.0 {
            WorkerReply::Opened { info, has_graphs, has_statements, sandbox } => {
                if info.emulated && !self.link.under_tool {
                    let process = self.link.connection.child().map(Child::id);
                    let counts = if self.link.python.is_some() { Threads::Busy } else { Threads::All };
                    self.link.tasks = process.and_then(|process| WorkerTasks::of(process, counts));
                }
                let images = self.images;
                if let (Some(_), Some(images)) = (&self.link.python, &images) {
                    self.link.folder = Some(images.path().to_owned());
                }
                let unconfined = || SandboxState::None { why: NO_SANDBOX.into() };
                let sandbox = if self.link.python.is_some() { Some(unconfined()) } else { sandbox };
                Ok(Worker {
                    link: self.link,
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
                    launched: None,
                })
            }
            _ => Err(self.link.invalid_answer("no device")),
        }
    }
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
    launched: Option<Launched>,
}

impl Worker {
    /// Starts a worker process, which opens its device while the caller does other things. It lives no longer than the calling
    /// thread. No launch may take longer than `time_limit`. Once its device is open, the worker confines itself: it reads the images
    /// that it is to load, which are copied into a private folder in `cache_dir`, and writes nothing.
    pub fn start(
        program: &Program,
        target: Target,
        time_limit: Duration,
        cache_dir: &Path,
        forward: LineSink,
    ) -> Result<StartingWorker, Stop> {
        let images = Images::new(cache_dir)?;
        let (child, stream) = Child::start(program, forward).map_err(|e| cannot_start(program, &e))?;
        let sandbox = SandboxRequest { files: images.access(), for_foreign_tool: false };
        let mut starting = Self::starting(stream, Some(child), target, time_limit, false, Some(sandbox));
        starting.images = Some(images);
        Ok(starting)
    }

    /// [`Worker::start`] for a worker that is a Python process, which nothing confines. It runs sources instead of images.
    pub fn start_python(
        interpreter: &Interpreter,
        target: Target,
        time_limit: Duration,
        cache_dir: &Path,
        forward: LineSink,
    ) -> Result<StartingWorker, Stop> {
        let images = Images::new(cache_dir)?;
        let started = interpreter.start(target, &images, forward).map_err(|e| {
            Stop::Lab(format!("the Python interpreter {interpreter} cannot be started: {e}. {OTHER}"))
        })?;
        let mut starting = Self::starting_python(started, target, time_limit, interpreter);
        starting.images = Some(images);
        Ok(starting)
    }

    /// [`Worker::start`] for a worker whose memory accesses a tool watches: it may run under another program, and writes its
    /// findings.
    pub fn start_under_tool(
        program: &Program,
        tool: &WatchingTool,
        target: Target,
        time_limit: Duration,
        cache_dir: &Path,
        forward: LineSink,
    ) -> Result<StartingWorker, Stop> {
        let images = Images::new(cache_dir)?;
        let started = Child::start_in(program, &tool.environment, forward);
        let (child, stream) = started.map_err(|e| cannot_start(program, &e))?;
        let files = FileAccess { write: vec![tool.folder.clone()], ..images.access() };
        let sandbox = SandboxRequest { files, for_foreign_tool: tool.is_foreign };
        let mut starting = Self::starting(stream, Some(child), target, time_limit, true, Some(sandbox));
        starting.images = Some(images);
        Ok(starting)
    }

    /// Closes the connection and waits up to `patience` for the process to end by itself: a tool that watches it then writes what
    /// it found.
    pub fn close_and_wait(mut self, patience: Duration) {
        self.link.connection.close_and_wait(patience);
    }

    /// Runs a worker on a thread of this process, for tests. Nothing protects this process against the kernel.
    pub fn on_a_thread(
        open: impl FnOnce() -> Result<Box<dyn Driver>, DeviceError> + Send + 'static,
        time_limit: Duration,
    ) -> Result<Worker, Stop> {
        let (ours, theirs) = UnixStream::pair()
            .map_err(|e| Stop::Lab(format!("a socket pair for a worker cannot be made: {e}")))?;
        std::thread::spawn(move || serve(theirs, |_| open()));
        Self::starting(ours, None, Target::Auto, time_limit, false, None).ready()
    }

    pub(super) fn starting(
        stream: UnixStream,
        child: Option<Child>,
        target: Target,
        time_limit: Duration,
        under_tool: bool,
        sandbox: Option<SandboxRequest>,
    ) -> StartingWorker {
        // Under a tool the parent may be the tool.
        let parent = child.as_ref().filter(|_| !under_tool).map(|_| std::process::id() as i32);
        let connection = Connection::new(stream, child);
        let mut link = Link { connection, time_limit, under_tool, tasks: None, python: None, folder: None };
        let open = WorkerRequest::Open { target, parent, under_tool, sandbox };
        let asked = link.ask(&open, Operation::Open, &[]);
        StartingWorker { link, asked, images: None }
    }

    fn starting_python(
        started: Started,
        target: Target,
        time_limit: Duration,
        interpreter: &Interpreter,
    ) -> StartingWorker {
        let Started { child, stream, is_child } = started;
        let connection = Connection::new(stream, Some(child));
        let python = Some(interpreter.clone());
        let mut link = Link { connection, time_limit, under_tool: false, tasks: None, python, folder: None };
        let parent = is_child.then_some(std::process::id() as i32);
        let open = WorkerRequest::Open { target, parent, under_tool: false, sandbox: None };
        let asked = link.ask(&open, Operation::Open, &[]);
        StartingWorker { link, asked, images: None }
    }

    /// The device.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
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

    /// Loads an image, or a source if the worker is a Python process. Returns [`Stop::Build`] if the source cannot be executed.
    pub fn load(&mut self, image: &Path) -> Result<ModuleId, Stop> {
        let image = match &mut self.images {
            Some(images) => images.add(image)?,
            None => image.to_owned(),
        };
        match self.link.call(&WorkerRequest::Load { image }, Operation::Load, &[], 0)?.0 {
            WorkerReply::Module(module) => Ok(module),
            _ => Err(self.link.invalid_answer("no module")),
        }
    }

    /// Loads the module anew, so that its globals hold nothing that an earlier launch left there.
    pub fn reload(&mut self, module: ModuleId) -> Result<(), Stop> {
        self.link.call(&WorkerRequest::Reload { module }, Operation::Load, &[], 0).map(drop)
    }

    /// Returns whether the module has this kernel and its launch statement, or this function.
    pub fn has_entry(&mut self, module: ModuleId, entry: &str) -> Result<bool, Stop> {
        Ok(self.missing_entry(module, entry)?.is_none())
    }

    /// Returns [`Stop::Build`] with what the source must contain, if the module lacks this kernel or its launch statement.
    pub fn require_entry(&mut self, module: ModuleId, entry: &str) -> Result<(), Stop> {
        match self.missing_entry(module, entry)? {
            None => Ok(()),
            Some(_) if self.link.python.is_some() => Err(Stop::Build(missing_function(entry))),
            Some(missing) => Err(Stop::Build(missing_text(entry, &missing))),
        }
    }

    fn missing_entry(&mut self, module: ModuleId, entry: &str) -> Result<Option<String>, Stop> {
        match self.request(&WorkerRequest::MissingEntry { module, entry: entry.to_owned() })? {
            WorkerReply::MissingEntry(missing) => Ok(missing),
            _ => Err(self.link.invalid_answer("nothing about an entry")),
        }
    }

    /// Allocates a buffer between guard zones and fills it with poison. `name` is what messages call it.
    pub fn buffer(&mut self, name: &str, bytes: usize) -> Result<BufferId, Stop> {
        match self.request(&WorkerRequest::Allocate { name: name.to_owned(), bytes })? {
            WorkerReply::Buffer(id) => {
                self.bytes.insert(id, bytes);
                Ok(id)
            }
            _ => Err(self.link.invalid_answer("no buffer")),
        }
    }

    /// Writes a whole buffer. Breaks its seal.
    pub fn write(&mut self, buffer: BufferId, bytes: &[u8]) -> Result<(), Stop> {
        self.link.call(&WorkerRequest::Write { buffer }, Operation::Own, bytes, 0).map(drop)
    }

    /// Writes a whole buffer and declares its content an input: [`Worker::breaches`] reports a change of it.
    pub fn write_input(&mut self, buffer: BufferId, bytes: &[u8]) -> Result<(), Stop> {
        self.link.call(&WorkerRequest::WriteInput { buffer }, Operation::Own, bytes, 0).map(drop)
    }

    /// Reads a whole buffer.
    pub fn read(&mut self, buffer: BufferId) -> Result<Vec<u8>, Stop> {
        let expected = self.bytes.get(&buffer).copied().unwrap_or(0);
        let (_, bytes) = self.link.call(&WorkerRequest::Read { buffer }, Operation::Own, &[], expected)?;
        if bytes.len() == expected {
            Ok(bytes)
        } else {
            Err(self.link.invalid_answer("too few bytes of a buffer"))
        }
    }

    /// Fills a buffer with one of [`POISONS`], so that a cell that the kernel does not write is found. The patterns take turns,
    /// and chance selects the first one: the pattern says nothing about the launch that follows.
    pub fn poison(&mut self, buffer: BufferId) -> Result<(), Stop> {
        let pattern = self.next_pattern(buffer);
        self.request(&WorkerRequest::Fill { buffer, pattern }).map(drop)
    }

    /// [`Worker::poison`] for several buffers.
    pub fn poison_all(&mut self, buffers: Vec<BufferId>) -> Result<(), Stop> {
        let chosen: Vec<(BufferId, u32)> =
            buffers.into_iter().map(|id| (id, self.next_pattern(id))).collect();
        let mut patterns: Vec<u32> = chosen.iter().map(|(_, pattern)| *pattern).collect();
        patterns.sort_unstable();
        patterns.dedup();
        for pattern in patterns {
            let buffers: Vec<BufferId> =
                chosen.iter().filter(|(_, chosen)| *chosen == pattern).map(|(buffer, _)| *buffer).collect();
            self.request(&WorkerRequest::FillAll { buffers, pattern })?;
        }
        Ok(())
    }

    /// Makes [`Worker::poison`] fill a buffer with these patterns, as the type of its cells needs them.
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

    /// As [`Worker::poison`], for a buffer larger than the L2 cache: nothing that was in the cache is there afterwards.
    pub fn flush_cache(&mut self, buffer: BufferId) -> Result<(), Stop> {
        self.request(&WorkerRequest::FlushCache { buffer, pattern: POISONS[0] }).map(drop)
    }

    /// Fills a buffer with zeros.
    pub fn clear(&mut self, buffer: BufferId) -> Result<(), Stop> {
        self.request(&WorkerRequest::Fill { buffer, pattern: 0 }).map(drop)
    }

    /// Declares the present content of a buffer an input. [`Worker::breaches`] reports a change of it.
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

    /// Runs the launch statement of a launch on its own, once for an entry and dims: if it crashes or hangs, the kernel does not.
    fn state(&mut self, launch: &Launch) -> Result<(), Stop> {
        let key = (launch.module, launch.entry.clone(), launch.dims.clone());
        if !self.has_statements || self.stated.contains(&key) {
            return Ok(());
        }
        let statement = Operation::Statement(&launch.entry);
        self.link.call(&WorkerRequest::State(launch.clone()), statement, &[], 0)?;
        self.stated.insert(key);
        Ok(())
    }

    /// Launches, waits for the end, and returns the seconds between the device events around the launch.
    pub fn launch(&mut self, launch: &Launch) -> Result<f64, Stop> {
        self.state(launch)?;
        match self.link.call(&WorkerRequest::Launch(launch.clone()), Operation::Launch, &[], 0)?.0 {
            WorkerReply::Launched { seconds, launched } => {
                self.launched = Some(launched);
                Ok(seconds)
            }
            _ => Err(self.link.invalid_answer("no time of a launch")),
        }
    }

    /// Launches these one after the other, with `graph` as one CUDA graph if the device has graphs: then without the host in
    /// between. All together may take as long as one
    /// launch. With `flush`, a buffer larger than the L2 cache is written just before: nothing that was in the cache is there
    /// when the first launch begins.
    pub fn replay(
        &mut self,
        launches: Vec<Launch>,
        flush: Option<BufferId>,
        graph: bool,
    ) -> Result<Replayed, Stop> {
        launches.iter().try_for_each(|launch| self.state(launch))?;
        let (flush, asked) = (flush.map(|buffer| (buffer, POISONS[0])), self.submission(graph));
        let request = WorkerRequest::Replay { launches, flush, submission: asked };
        match self.link.call(&request, Operation::Launch, &[], 0)?.0 {
            WorkerReply::Replayed { seconds, uncaptured } => {
                let uncaptured = uncaptured.filter(|_| asked == Submission::Graph);
                let submission = if uncaptured.is_some() { Submission::Plain } else { asked };
                Ok(Replayed { seconds, submission, uncaptured })
            }
            _ => Err(self.link.invalid_answer("no time of a replay")),
        }
    }

    /// Returns a digest of each of these buffers, under a key that the kernel does not know. Only digests of
    /// workers on the same device can be compared.
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
        if graph && self.has_graphs { Submission::Graph } else { Submission::Plain }
    }

    /// Checks every guard zone, every sealed buffer and every buffer that no launch was given. Each breach is returned once.
    pub fn breaches(&mut self) -> Result<Vec<Breach>, Stop> {
        match self.request(&WorkerRequest::Breaches)? {
            WorkerReply::Breaches(found) => Ok(found),
            _ => Err(self.link.invalid_answer("nothing about breaches")),
        }
    }

    /// The packages that loaded sources use, with their versions; empty of a worker that is not Python.
    pub fn versions(&mut self) -> Result<Vec<(String, String)>, Stop> {
        match self.request(&WorkerRequest::Versions)? {
            WorkerReply::Versions(versions) => Ok(versions),
            _ => Err(self.link.invalid_answer("no versions")),
        }
    }

    /// Sends a request that runs no kernel and has no body.
    fn request(&mut self, request: &WorkerRequest) -> Result<WorkerReply, Stop> {
        self.link.call(request, Operation::Own, &[], 0).map(|(reply, _)| reply)
    }
}

fn cannot_start(program: &Program, error: &std::io::Error) -> Stop {
    Stop::Lab(format!("the worker process {} cannot be started: {error}", program.path.display()))
}

//! The judge's end of a worker: asks, waits no longer than it must, and says in words what went wrong.

use super::{Breach, BufferId, Launch, ModuleId, WorkerAnswer, WorkerReply, WorkerRequest, missing, serve};
use crate::outcome::Stop;
use crate::process::child::{Child, LineSink, Program};
use crate::process::framing::FrameError;
use crate::process::rpc::Connection;
use lab_device::{DeviceError, DeviceInfo, Driver, Occupancy, POISON, Shape};
use lab_protocol::Target;
use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Opening a device, copying, comparing: the lab's own work, which no kernel slows down.
const OWN_WORK: Duration = Duration::from_secs(60);

/// A worker whose device is still opening.
pub struct StartingWorker {
    worker: Worker,
    asked: Result<u64, Stop>,
}

impl StartingWorker {
    /// Waits until the device is open.
    pub fn ready(mut self) -> Result<Worker, Stop> {
        let id = self.asked?;
        let (reply, _) = self.worker.answer(id, Operation::Open, 0)?;
        let WorkerReply::Opened(info) = reply else { return Err(self.worker.garbled("no device")) };
        self.worker.info = Some(info);
        Ok(self.worker)
    }
}

/// The judge's end of a worker process.
pub struct Worker {
    connection: Connection,
    time_limit: Duration,
    /// Known once the device is open.
    info: Option<DeviceInfo>,
    bytes: HashMap<BufferId, usize>,
    shape: Option<LaunchShape>,
}

/// A launch's shape, and how that fills a multiprocessor.
pub type LaunchShape = (Shape, Option<Occupancy>);

/// What is being waited for: decides how long, and what a failure is called.
#[derive(Clone, Copy, PartialEq)]
enum Operation {
    Open,
    Launch,
    Own,
}

impl Worker {
    /// Starts a worker process, which opens its device while the caller does other things. It
    /// lives no longer than the calling thread. No launch may take longer than `time_limit`.
    pub fn start(
        program: &Program,
        target: Target,
        time_limit: Duration,
        forward: LineSink,
    ) -> Result<StartingWorker, Stop> {
        let (child, stream) = Child::start(program, forward).map_err(|e| {
            Stop::Lab(format!("the worker process {} cannot be started: {e}", program.path.display()))
        })?;
        Ok(Self::starting(stream, Some(child), target, time_limit, false))
    }

    /// The same for a worker whose memory a tool watches: it has `environment` besides, and may run under another program.
    pub fn start_watched(
        program: &Program,
        environment: &[(OsString, OsString)],
        target: Target,
        time_limit: Duration,
        forward: LineSink,
    ) -> Result<StartingWorker, Stop> {
        let (child, stream) = Child::start_in(program, environment, forward).map_err(|e| {
            Stop::Lab(format!("the worker process {} cannot be started: {e}", program.path.display()))
        })?;
        Ok(Self::starting(stream, Some(child), target, time_limit, true))
    }

    /// Lets the process end by itself, for so long: who watches it writes what it saw.
    pub fn leave(mut self, patience: Duration) {
        self.connection.leave(patience);
    }

    /// A worker on a thread of this process, for tests: nothing protects against the kernel.
    pub fn on_a_thread(
        open: impl FnOnce() -> Result<Box<dyn Driver>, DeviceError> + Send + 'static,
        time_limit: Duration,
    ) -> Result<Worker, Stop> {
        let (ours, theirs) = UnixStream::pair().map_err(|e| Stop::Lab(format!("a socket pair: {e}")))?;
        std::thread::spawn(move || serve(theirs, |_| open()));
        Self::starting(ours, None, Target::Auto, time_limit, false).ready()
    }

    pub(super) fn starting(
        stream: UnixStream,
        child: Option<Child>,
        target: Target,
        time_limit: Duration,
        watched: bool,
    ) -> StartingWorker {
        // Of one that is watched the parent may be the watcher.
        let parent = child.as_ref().filter(|_| !watched).map(|_| std::process::id() as i32);
        let connection = Connection::new(stream, child);
        let mut worker = Worker { connection, time_limit, info: None, bytes: HashMap::new(), shape: None };
        let asked = worker.ask(&WorkerRequest::Open { target, parent, watched }, Operation::Open, &[]);
        StartingWorker { worker, asked }
    }

    pub fn info(&self) -> &DeviceInfo {
        self.info.as_ref().expect("a Worker is handed out by StartingWorker::ready, which sets it")
    }

    /// Process id, where it is a process of its own.
    pub fn id(&self) -> Option<u32> {
        self.connection.child().map(Child::id)
    }

    pub fn lives(&mut self) -> bool {
        self.connection.lives()
    }

    pub fn load(&mut self, image: &Path) -> Result<ModuleId, Stop> {
        match self.own(&WorkerRequest::Load { image: image.to_owned() })? {
            WorkerReply::Module(module) => Ok(module),
            _ => Err(self.garbled("no module")),
        }
    }

    /// Loads the module anew: no launch before this one has left anything in its globals.
    pub fn renew(&mut self, module: ModuleId) -> Result<(), Stop> {
        self.own(&WorkerRequest::Renew { module }).map(|_| ())
    }

    /// Whether the module has this kernel and its launch statement.
    pub fn has_entry(&mut self, module: ModuleId, entry: &str) -> Result<bool, Stop> {
        Ok(self.lacks(module, entry)?.is_none())
    }

    /// Stops with what the source must contain, where it lacks this kernel or its launch statement.
    pub fn require_entry(&mut self, module: ModuleId, entry: &str) -> Result<(), Stop> {
        match self.lacks(module, entry)? {
            None => Ok(()),
            Some(lacking) => Err(Stop::Build(missing(entry, &lacking))),
        }
    }

    fn lacks(&mut self, module: ModuleId, entry: &str) -> Result<Option<String>, Stop> {
        match self.own(&WorkerRequest::Lacks { module, entry: entry.to_owned() })? {
            WorkerReply::Lacks(lacking) => Ok(lacking),
            _ => Err(self.garbled("no answer on an entry")),
        }
    }

    /// A named buffer with canary zones before and after it; its content is poison.
    pub fn buffer(&mut self, name: &str, bytes: usize) -> Result<BufferId, Stop> {
        match self.own(&WorkerRequest::Buffer { name: name.to_owned(), bytes })? {
            WorkerReply::Buffer(id) => {
                self.bytes.insert(id, bytes);
                Ok(id)
            }
            _ => Err(self.garbled("no buffer")),
        }
    }

    pub fn write(&mut self, buffer: BufferId, bytes: &[u8]) -> Result<(), Stop> {
        self.call(&WorkerRequest::Write { buffer }, Operation::Own, bytes, 0).map(|_| ())
    }

    pub fn read(&mut self, buffer: BufferId) -> Result<Vec<u8>, Stop> {
        let expected = self.bytes.get(&buffer).copied().unwrap_or(0);
        let (_, bytes) = self.call(&WorkerRequest::Read { buffer }, Operation::Own, &[], expected)?;
        if bytes.len() == expected { Ok(bytes) } else { Err(self.garbled("too few bytes of a buffer")) }
    }

    /// Fills a buffer with [`POISON`], so that a cell nobody wrote shows.
    pub fn poison(&mut self, buffer: BufferId) -> Result<(), Stop> {
        self.own(&WorkerRequest::Fill { buffer, pattern: POISON }).map(|_| ())
    }

    /// Fills a buffer with zeros.
    pub fn clear(&mut self, buffer: BufferId) -> Result<(), Stop> {
        self.own(&WorkerRequest::Fill { buffer, pattern: 0 }).map(|_| ())
    }

    /// Declares the present content of a buffer an input: [`Worker::breaches`] reports if it changes.
    pub fn seal(&mut self, buffer: BufferId) -> Result<(), Stop> {
        self.own(&WorkerRequest::Seal { buffer }).map(|_| ())
    }

    pub fn free(&mut self, buffer: BufferId) -> Result<(), Stop> {
        self.bytes.remove(&buffer);
        self.own(&WorkerRequest::Free { buffer }).map(|_| ())
    }

    /// Launches, waits; seconds between device events around the launch.
    pub fn launch(&mut self, launch: &Launch) -> Result<f64, Stop> {
        match self.call(&WorkerRequest::Launch(launch.clone()), Operation::Launch, &[], 0)?.0 {
            WorkerReply::Launched { seconds, shape, occupancy } => {
                self.shape = Some((shape, occupancy));
                Ok(seconds)
            }
            _ => Err(self.garbled("no time of a launch")),
        }
    }

    /// The shape that the launch statement of the last launch gave, and how it fills a multiprocessor.
    pub fn shape(&self) -> Option<LaunchShape> {
        self.shape
    }

    /// Checks every canary and every sealed buffer.
    pub fn breaches(&mut self) -> Result<Vec<Breach>, Stop> {
        match self.own(&WorkerRequest::Breaches)? {
            WorkerReply::Breaches(found) => Ok(found),
            _ => Err(self.garbled("no breaches")),
        }
    }

    fn own(&mut self, request: &WorkerRequest) -> Result<WorkerReply, Stop> {
        self.call(request, Operation::Own, &[], 0).map(|(reply, _)| reply)
    }

    fn call(
        &mut self,
        request: &WorkerRequest,
        operation: Operation,
        body: &[u8],
        body_limit: usize,
    ) -> Result<(WorkerReply, Vec<u8>), Stop> {
        let id = self.ask(request, operation, body)?;
        self.answer(id, operation, body_limit)
    }

    fn ask(&mut self, request: &WorkerRequest, operation: Operation, body: &[u8]) -> Result<u64, Stop> {
        self.connection.ask(request, body, OWN_WORK).map_err(|e| self.failed(e, operation))
    }

    fn answer(
        &mut self,
        number: u64,
        operation: Operation,
        body_limit: usize,
    ) -> Result<(WorkerReply, Vec<u8>), Stop> {
        let limit = if operation == Operation::Launch { self.time_limit } else { OWN_WORK };
        let answer = self.connection.answer::<WorkerAnswer>(number, body_limit, limit);
        let (answer, body) = answer.map_err(|e| self.failed(e, operation))?;
        Ok((answer?, body))
    }

    /// A worker that the wire failed on is never used again.
    fn failed(&mut self, error: FrameError, operation: Operation) -> Stop {
        match error {
            FrameError::Closed => self.died(operation),
            FrameError::TimedOut => {
                self.connection.end();
                match operation {
                    Operation::Launch => Stop::Crash(format!(
                        "the kernel did not end within {}: it hangs, or is far too slow",
                        seconds(self.time_limit)
                    )),
                    Operation::Open => {
                        Stop::Lab(format!("the device did not open within {}", seconds(OWN_WORK)))
                    }
                    Operation::Own => Stop::Crash(format!(
                        "the worker did not answer within {}: the kernel damaged it",
                        seconds(OWN_WORK)
                    )),
                }
            }
            FrameError::Garbled(what) => self.garbled(&what),
            FrameError::Io(error) => {
                self.connection.end();
                Stop::Lab(format!("the worker's socket: {error}"))
            }
        }
    }

    fn died(&mut self, operation: Operation) -> Stop {
        let how = self.connection.how_it_ended();
        match operation {
            Operation::Open => Stop::Lab(format!("the worker {how} before its device was open")),
            Operation::Launch => Stop::Crash(format!("the kernel crashed: its process {how}")),
            Operation::Own => {
                Stop::Crash(format!("the kernel's process {how} between launches: it is damaged"))
            }
        }
    }

    fn garbled(&mut self, what: &str) -> Stop {
        self.connection.end();
        Stop::Crash(format!(
            "the worker sent what is no answer ({what}): the kernel wrote over its memory or into its files"
        ))
    }
}

fn seconds(limit: Duration) -> String {
    format!("{} s", limit.as_secs_f64())
}

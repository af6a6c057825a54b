//! Starting a worker: the lab's own in a process, under a tool or on a thread, or a Python process.

use super::client::{Opened, Worker};
use super::images::Images;
use super::left_behind::{Threads, WorkerTasks};
use super::link::{Link, Operation};
use super::messages::{SandboxRequest, WorkerReply, WorkerRequest};
use super::python::{Interpreter, NO_SANDBOX, OTHER, Started};
use super::{WatchingTool, serve};
use crate::outcome::Stop;
use crate::process::child::{Child, LineSink};
use crate::process::rpc::Connection;
use lab_device::sandbox::{FileAccess, SandboxState};
use lab_device::{DeviceError, Driver};
use lab_protocol::Program;
use lab_protocol::Target;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

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
            WorkerReply::Opened {
                info,
                has_graphs,
                has_statements,
                sandbox,
            } => {
                if info.emulated && !self.link.under_tool {
                    let process = self.link.connection.child().map(Child::id);
                    let counts = if self.link.python.is_some() {
                        Threads::Busy
                    } else {
                        Threads::All
                    };
                    self.link.tasks = process.and_then(|process| WorkerTasks::of(process, counts));
                }
                let images = self.images;
                if let (Some(_), Some(images)) = (&self.link.python, &images) {
                    self.link.folder = Some(images.path().to_owned());
                }
                let unconfined = || SandboxState::None {
                    why: NO_SANDBOX.into(),
                };
                let sandbox = if self.link.python.is_some() {
                    Some(unconfined())
                } else {
                    sandbox
                };
                let opened = Opened {
                    info,
                    has_graphs,
                    has_statements,
                    sandbox,
                };
                Ok(Worker::of(self.link, opened, images))
            }
            _ => Err(self.link.invalid_answer("no device")),
        }
    }
}

impl Worker {
    /// Starts a worker process, which opens its device while the caller does other things. It lives
    /// no longer than the calling thread. No launch may take longer than `time_limit`. Once its
    /// device is open, the worker confines itself: it reads the images that it is to load, which
    /// are copied into a private folder in `cache_dir`, and writes nothing.
    pub fn start(
        program: &Program,
        target: Target,
        time_limit: Duration,
        cache_dir: &Path,
        forward: LineSink,
    ) -> Result<StartingWorker, Stop> {
        let images = Images::new(cache_dir)?;
        let (child, stream) =
            Child::start(program, forward).map_err(|e| cannot_start(program, &e))?;
        let sandbox = SandboxRequest {
            files: images.access(),
            for_foreign_tool: false,
            for_profiler: false,
        };
        let mut starting = Self::starting(
            stream,
            Some(child),
            target,
            time_limit,
            false,
            Some(sandbox),
        );
        starting.images = Some(images);
        Ok(starting)
    }

    /// [`Worker::start`] for a worker that is a Python process, which nothing confines. It runs
    /// sources instead of images.
    pub fn start_python(
        interpreter: &Interpreter,
        target: Target,
        time_limit: Duration,
        cache_dir: &Path,
        forward: LineSink,
    ) -> Result<StartingWorker, Stop> {
        let images = Images::new(cache_dir)?;
        let started = interpreter.start(target, &images, forward).map_err(|e| {
            Stop::Lab(format!(
                "the Python interpreter {interpreter} cannot be started: {e}. {OTHER}"
            ))
        })?;
        let mut starting = Self::starting_python(started, target, time_limit, interpreter);
        starting.images = Some(images);
        Ok(starting)
    }

    /// [`Worker::start`] for a worker whose memory accesses a tool watches: it may run under
    /// another program, and writes its findings. Under a profiler, all launches together may not
    /// take longer than `time_limit`.
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
        let files = FileAccess {
            write: vec![tool.folder.clone()],
            ..images.access()
        };
        let sandbox = SandboxRequest {
            files,
            for_foreign_tool: tool.is_foreign,
            for_profiler: tool.is_profiler,
        };
        let mut starting =
            Self::starting(stream, Some(child), target, time_limit, true, Some(sandbox));
        starting.images = Some(images);
        if tool.is_profiler {
            // A profiler may hang before the device is open, too.
            starting.link.deadline = Some((Instant::now() + time_limit, time_limit));
        }
        Ok(starting)
    }

    /// Runs a worker on a thread of this process, for tests. Nothing protects this process against
    /// the kernel.
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
        let parent = child
            .as_ref()
            .filter(|_| !under_tool)
            .map(|_| std::process::id() as i32);
        let connection = Connection::new(stream, child);
        let mut link = Link {
            connection,
            time_limit,
            launch_limit: None,
            deadline: None,
            under_tool,
            tasks: None,
            python: None,
            folder: None,
        };
        let open = WorkerRequest::Open {
            target,
            parent,
            under_tool,
            sandbox,
        };
        let asked = link.ask(&open, Operation::Open, &[]);
        StartingWorker {
            link,
            asked,
            images: None,
        }
    }

    fn starting_python(
        started: Started,
        target: Target,
        time_limit: Duration,
        interpreter: &Interpreter,
    ) -> StartingWorker {
        let Started {
            child,
            stream,
            is_child,
        } = started;
        let connection = Connection::new(stream, Some(child));
        let python = Some(interpreter.clone());
        let mut link = Link {
            connection,
            time_limit,
            launch_limit: None,
            deadline: None,
            under_tool: false,
            tasks: None,
            python,
            folder: None,
        };
        let parent = is_child.then_some(std::process::id() as i32);
        let open = WorkerRequest::Open {
            target,
            parent,
            under_tool: false,
            sandbox: None,
        };
        let asked = link.ask(&open, Operation::Open, &[]);
        StartingWorker {
            link,
            asked,
            images: None,
        }
    }
}

fn cannot_start(program: &Program, error: &std::io::Error) -> Stop {
    Stop::Lab(format!(
        "the worker process {} cannot be started: {error}",
        program.path.display()
    ))
}

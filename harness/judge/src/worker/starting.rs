//! Starting a worker: the lab's own in a process, under a tool or on a thread, or a Python process.

use super::client::Worker;
use super::images::Images;
use super::left_behind::{Threads, WorkerTasks};
use super::link::{Link, Operation};
use super::messages::{Opened, SandboxRequest, WorkerRequest};
use super::python::{Interpreter, NO_SANDBOX, OTHER, without_folder};
use super::{WatchingTool, serve};
use crate::outcome::{OrLab, Result, Stop};
use crate::process::child::{Child, LineSink};
use crate::process::rpc::Connection;
use lab_device::sandbox::{FileAccess, SandboxState};
use lab_device::{DeviceError, Driver};
use lab_protocol::{Program, Target};
use lab_system::threads;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The program of a worker's process.
#[derive(Clone, Copy)]
pub enum WorkerProgram<'a> {
    /// The lab's own. Once its device is open, the worker confines itself: it reads the images that
    /// it is to load, and writes nothing.
    Own(&'a Program),
    /// The lab's own, whose memory accesses a tool watches: it may run under another program, and
    /// writes its findings.
    Watched(&'a Program, &'a WatchingTool),
    /// A Python, which nothing confines. It runs sources instead of images.
    Python(&'a Interpreter),
}

/// A worker that is opening its device.
pub struct StartingWorker {
    link: Link,
    asked: Result<u64>,
    images: Option<Images>,
}

impl StartingWorker {
    /// Asks the worker to open its device.
    fn ask(mut link: Link, open: &WorkerRequest, images: Option<Images>) -> Self {
        let asked = link.ask(open, Operation::Open, &[]);
        StartingWorker {
            link,
            asked,
            images,
        }
    }

    /// Waits until the device is open.
    pub fn ready(mut self) -> Result<Worker> {
        let number = self.asked?;
        let (mut opened, _): (Opened, _) = self.link.answer(number, Operation::Open, 0)?;
        let is_python = self.link.python.is_some();
        if opened.info.emulated && !self.link.under_tool {
            let process = self.link.connection.child().map(Child::id);
            let counts = if is_python {
                Threads::Busy
            } else {
                Threads::All
            };
            self.link.tasks = process.and_then(|process| WorkerTasks::of(process, counts));
        }
        if is_python {
            opened.sandbox = Some(SandboxState::None {
                why: NO_SANDBOX.into(),
            });
        }
        Ok(Worker::of(self.link, opened, self.images))
    }
}

impl Worker {
    /// Starts a worker process, which opens its device while the caller does other things. It lives
    /// no longer than the calling thread. The images that it is to load are copied into a private
    /// folder in `cache_dir`. No launch may take longer than `time_limit`, and under a profiler all
    /// launches together may not.
    pub fn start(
        program: WorkerProgram,
        target: Target,
        time_limit: Duration,
        cache_dir: &Path,
        forward: LineSink,
    ) -> Result<StartingWorker> {
        let images = Images::new(cache_dir)?;
        let of_lab = |program: &Program, environment: &[_], forward| {
            Child::start_in(program, environment, forward).or_lab(|| {
                let path = program.path.display();
                format!("the worker process {path} cannot be started")
            })
        };
        let (started, tool) = match program {
            WorkerProgram::Own(program) => (of_lab(program, &[], forward)?, None),
            WorkerProgram::Watched(program, tool) => {
                (of_lab(program, &tool.environment, forward)?, Some(tool))
            }
            WorkerProgram::Python(python) => {
                let cannot = |e| {
                    Stop::Lab(format!(
                        "the Python interpreter {python} cannot be started: {e}. {OTHER}"
                    ))
                };
                let folder = images.path().to_owned();
                // A warning names the source's line, as a message of the worker does.
                let shown: LineSink =
                    Arc::new(move |line: &str| forward(&without_folder(line, &folder)));
                let started = python.start(target, &images, shown);
                (started.map_err(cannot)?, None)
            }
        };
        let (child, stream) = started;
        let is_child = child.is_own();
        let mut link = Link::new(Connection::new(stream, Some(child)), time_limit);
        let under_tool = tool.is_some();
        link.under_tool = under_tool;
        let sandbox = match program {
            WorkerProgram::Python(python) => {
                link.python = Some(python.clone());
                link.folder = Some(images.path().to_owned());
                None
            }
            WorkerProgram::Own(_) | WorkerProgram::Watched(..) => Some(SandboxRequest {
                files: FileAccess {
                    write: tool.iter().map(|tool| tool.folder.clone()).collect(),
                    ..images.access()
                },
                for_foreign_tool: tool.is_some_and(|tool| tool.is_foreign),
                for_profiler: tool.is_some_and(|tool| tool.is_profiler),
            }),
        };
        if tool.is_some_and(|tool| tool.is_profiler) {
            // A profiler may hang before the device is open, too.
            link.deadline = Some((Instant::now() + time_limit, time_limit));
        }
        let open = WorkerRequest::Open {
            target,
            // Under a tool the parent may be the tool.
            parent: (is_child && !under_tool).then_some(std::process::id() as i32),
            under_tool,
            sandbox,
        };
        Ok(StartingWorker::ask(link, &open, Some(images)))
    }

    /// Runs a worker on a thread of this process, for tests. Nothing protects this process against
    /// the kernel.
    pub fn on_a_thread(
        open: impl FnOnce() -> Result<Box<dyn Driver>, DeviceError> + Send + 'static,
        time_limit: Duration,
    ) -> Result<Worker> {
        let (ours, theirs) =
            UnixStream::pair().or_lab(|| "a socket pair for a worker cannot be made".into())?;
        threads::start("worker", move || serve(theirs, |_| open()))
            .or_lab(|| "a worker's thread cannot be started".into())?;
        Self::on_stream(ours, time_limit).ready()
    }

    /// A worker at the other end of this stream, which is a thread of this process.
    pub(super) fn on_stream(stream: UnixStream, time_limit: Duration) -> StartingWorker {
        let open = WorkerRequest::Open {
            target: Target::Auto,
            parent: None,
            under_tool: false,
            sandbox: None,
        };
        let link = Link::new(Connection::new(stream, None), time_limit);
        StartingWorker::ask(link, &open, None)
    }
}

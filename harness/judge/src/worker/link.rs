//! The connection to a worker: how long the judge waits for an answer, and what a failure says
//! about the kernel.

use super::STATEMENT_OF;
use super::left_behind::WorkerTasks;
use super::messages::WorkerRequest;
use super::python::{Interpreter, OTHER, without_folder};
use crate::outcome::{Result, Stop};
use crate::process::framing::FrameError;
use crate::process::rpc::Connection;
use serde::de::DeserializeOwned;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Limit for opening the device, copying and comparing. A kernel cannot make these slow.
const OWN_WORK: Duration = Duration::from_secs(60);

/// What the judge waits for: decides how long it waits, and how a failure is described.
#[derive(Clone, Copy, PartialEq)]
pub enum Operation<'a> {
    Open,
    /// Loading an image, which runs its static constructors on the cpu device, or executing a source.
    /// Loading it again runs its destructors too.
    Load,
    /// So many launches.
    Launch(u32),
    /// The launch statement of this entry.
    Statement(&'a str),
    /// The worker's own work, between launches.
    Own,
}

/// The connection to a worker, and what its failures mean.
pub struct Link {
    pub connection: Connection,
    /// The limit for a launch.
    pub time_limit: Duration,
    /// A lower one for the launches that are made now.
    pub launch_limit: Option<Duration>,
    /// The deadline for all answers of the worker, if it has one, and the time that it was given.
    pub deadline: Option<(Instant, Duration)>,
    /// A tool in the worker may have threads and processes of its own.
    pub under_tool: bool,
    /// The worker's process on the cpu device, where a kernel may start threads and processes.
    pub tasks: Option<WorkerTasks>,
    /// The Python that the worker is; `None` for the lab's own worker.
    pub python: Option<Interpreter>,
    /// The folder of a Python worker's sources, which messages leave out.
    pub folder: Option<PathBuf>,
}

impl Link {
    /// A connection to a worker of the lab's own that no tool watches.
    pub fn new(connection: Connection, time_limit: Duration) -> Link {
        Link {
            connection,
            time_limit,
            launch_limit: None,
            deadline: None,
            under_tool: false,
            tasks: None,
            python: None,
            folder: None,
        }
    }

    /// Sends a request and waits for its reply, which is one of these.
    pub fn call<R: DeserializeOwned>(
        &mut self,
        request: &WorkerRequest,
        operation: Operation,
        body: &[u8],
        body_limit: usize,
    ) -> Result<(R, Vec<u8>)> {
        let number = self.ask(request, operation, body)?;
        self.answer(number, operation, body_limit)
    }

    pub fn ask(
        &mut self,
        request: &WorkerRequest,
        operation: Operation,
        body: &[u8],
    ) -> Result<u64> {
        self.connection
            .ask(request, body, OWN_WORK)
            .map_err(|e| self.failed(e, operation))
    }

    pub fn answer<R: DeserializeOwned>(
        &mut self,
        number: u64,
        operation: Operation,
        body_limit: usize,
    ) -> Result<(R, Vec<u8>)> {
        let limit = self.limit(operation);
        let answer = self
            .connection
            .answer::<Result<R>>(number, body_limit, limit);
        let (answer, body) = answer.map_err(|e| self.failed(e, operation))?;
        if matches!(operation, Operation::Launch(_) | Operation::Statement(_)) {
            self.expect_nothing_left()?;
        }
        let reply = answer.map_err(|failure| self.described(failure, operation))?;
        Ok((reply, body))
    }

    /// Python imports packages where the lab's own worker has nothing to do.
    fn limit(&self, operation: Operation) -> Duration {
        let left = self
            .deadline
            .map(|(deadline, _)| deadline.saturating_duration_since(Instant::now()));
        let limit = match (operation, &self.python) {
            (Operation::Launch(launches), _) => {
                let limit = self
                    .launch_limit
                    .map_or(self.time_limit, |limit| limit.min(self.time_limit));
                limit * launches
            }
            (Operation::Open | Operation::Load, Some(python)) => python.load_limit,
            (Operation::Statement(_) | Operation::Load, _) => self.time_limit,
            (Operation::Open | Operation::Own, _) => OWN_WORK,
        };
        left.map_or(limit, |left| left.min(limit))
    }

    /// The failure that a worker answered. Python says what it lacks, and the judge adds which
    /// Python that is.
    pub fn described(&self, stop: Stop, operation: Operation) -> Stop {
        let Some(python) = &self.python else {
            return stop;
        };
        match stop {
            Stop::Lab(why) if operation == Operation::Open => {
                Stop::Lab(format!("{why} (the interpreter is {python})"))
            }
            stop => match &self.folder {
                Some(folder) => stop.map_text(|text| without_folder(text, folder)),
                None => stop,
            },
        }
    }

    /// Ends the worker if its kernel has left a thread or a process running after a launch.
    fn expect_nothing_left(&mut self) -> Result {
        let Some(left) = self.tasks.as_ref().and_then(WorkerTasks::left_behind) else {
            return Ok(());
        };
        self.connection.end();
        Err(Stop::Crash(format!(
            "the kernel left {left} running after its launch; all of it was ended"
        )))
    }

    fn failed(&mut self, error: FrameError, operation: Operation) -> Stop {
        match error {
            FrameError::Closed => self.ended(operation),
            FrameError::TimedOut => {
                self.connection.end();
                self.timed_out(operation)
            }
            FrameError::Invalid(what) => match (operation, &self.python) {
                (Operation::Open, Some(python)) => {
                    let text = format!(
                        "the Python interpreter {python} sent an invalid answer ({what}). {OTHER}"
                    );
                    self.connection.end();
                    Stop::Lab(text)
                }
                _ => self.invalid_answer(&what),
            },
            FrameError::Io(error) => {
                self.connection.end();
                Stop::Lab(format!("the connection to the worker failed: {error}"))
            }
        }
    }

    fn timed_out(&self, operation: Operation) -> Stop {
        if let Some((_, whole)) = self
            .deadline
            .filter(|(deadline, _)| *deadline <= Instant::now())
        {
            let whole = seconds(whole);
            return Stop::Crash(format!(
                "it took longer than {whole} altogether: it hangs, or is far too slow"
            ));
        }
        let limit = seconds(self.limit(operation));
        match (operation, &self.python) {
            (Operation::Launch(launches), _) => Stop::Crash(match launches {
                1 => format!("the kernel did not end within {limit}: it hangs, or is far too slow"),
                launches => format!(
                    "{launches} launches did not end within {limit}: the kernel hangs, or is far too slow"
                ),
            }),
            (Operation::Statement(entry), _) => Stop::Crash(format!(
                "{STATEMENT_OF} {entry} did not end within {limit}: it hangs"
            )),
            (Operation::Open, None) => Stop::Lab(format!("the device did not open within {limit}")),
            (Operation::Open, Some(python)) => Stop::Lab(format!(
                "the Python interpreter {python} was not ready within {limit}: it hangs, or imports NumPy or torch too slowly. {OTHER}"
            )),
            (Operation::Load, Some(_)) => Stop::Crash(format!(
                "the source did not load within {limit}: an import hangs, or takes far too long"
            )),
            (Operation::Load, None) => Stop::Crash(format!(
                "the kernel did not load within {limit}: a constructor or destructor of a static object hangs"
            )),
            (Operation::Own, _) => Stop::Crash(format!(
                "the worker did not answer within {limit}: the kernel damaged it"
            )),
        }
    }

    fn ended(&mut self, operation: Operation) -> Stop {
        let how = self.connection.describe_end();
        match (operation, &self.python) {
            (Operation::Open, None) => {
                Stop::Lab(format!("the worker {how} before its device was open"))
            }
            (Operation::Open, Some(python)) => Stop::Lab(python.why_not_ready(&how)),
            (Operation::Launch(_), _) => {
                Stop::Crash(format!("the kernel crashed: its process {how}"))
            }
            (Operation::Statement(entry), _) => Stop::Crash(format!(
                "{STATEMENT_OF} {entry} crashed: the worker process {how}"
            )),
            (Operation::Load, Some(_)) => Stop::Crash(format!(
                "the source crashed while it was loaded: its process {how}"
            )),
            (Operation::Load, None) => Stop::Crash(format!(
                "the kernel's process {how} while the kernel was loaded: a constructor or destructor of a static object crashed"
            )),
            (Operation::Own, _) => {
                // Nobody else kills by this signal: Linux does where memory is short.
                let is_killed = how.contains("SIGKILL");
                let why = if is_killed {
                    ""
                } else {
                    ": the kernel damaged it"
                };
                Stop::Crash(format!("the kernel's process {how} between launches{why}"))
            }
        }
    }

    pub fn invalid_answer(&mut self, what: &str) -> Stop {
        self.connection.end();
        Stop::Crash(format!(
            "the worker sent an invalid answer ({what}): the kernel wrote over the worker's memory or into its files"
        ))
    }
}

fn seconds(limit: Duration) -> String {
    format!("{} s", limit.as_secs_f64())
}

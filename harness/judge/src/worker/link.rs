//! The connection to a worker: how long the judge waits for an answer, and what a failure says about the kernel.

use super::STATEMENT_OF;
use super::left_behind::WorkerTasks;
use super::messages::{WorkerAnswer, WorkerReply, WorkerRequest};
use crate::outcome::Stop;
use crate::process::framing::FrameError;
use crate::process::rpc::Connection;
use std::time::Duration;

/// Limit for everything but a launch: opening the device, copying, comparing. A kernel cannot make these slow.
const OWN_WORK: Duration = Duration::from_secs(60);

/// What the judge waits for: decides how long it waits, and how a failure is described.
#[derive(Clone, Copy, PartialEq)]
pub enum Operation<'a> {
    Open,
    Launch,
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
    /// A tool in the worker may have threads and processes of its own.
    pub under_tool: bool,
    /// The worker's process on the cpu device, where a kernel may start threads and processes.
    pub tasks: Option<WorkerTasks>,
}

impl Link {
    pub fn call(
        &mut self,
        request: &WorkerRequest,
        operation: Operation,
        body: &[u8],
        body_limit: usize,
    ) -> Result<(WorkerReply, Vec<u8>), Stop> {
        let number = self.ask(request, operation, body)?;
        self.answer(number, operation, body_limit)
    }

    pub fn ask(&mut self, request: &WorkerRequest, operation: Operation, body: &[u8]) -> Result<u64, Stop> {
        self.connection.ask(request, body, OWN_WORK).map_err(|e| self.failed(e, operation))
    }

    pub fn answer(
        &mut self,
        number: u64,
        operation: Operation,
        body_limit: usize,
    ) -> Result<(WorkerReply, Vec<u8>), Stop> {
        let limit = match operation {
            Operation::Launch | Operation::Statement(_) => self.time_limit,
            Operation::Open | Operation::Own => OWN_WORK,
        };
        let answer = self.connection.answer::<WorkerAnswer>(number, body_limit, limit);
        let (answer, body) = answer.map_err(|e| self.failed(e, operation))?;
        if matches!(operation, Operation::Launch | Operation::Statement(_)) {
            self.expect_nothing_left()?;
        }
        Ok((answer?, body))
    }

    /// Ends the worker if its kernel has left a thread or a process running after a launch.
    fn expect_nothing_left(&mut self) -> Result<(), Stop> {
        let Some(left) = self.tasks.as_ref().and_then(WorkerTasks::left_behind) else { return Ok(()) };
        self.connection.end();
        Err(Stop::Crash(format!("the kernel left {left} running after its launch; all of it was ended")))
    }

    fn failed(&mut self, error: FrameError, operation: Operation) -> Stop {
        match error {
            FrameError::Closed => self.ended(operation),
            FrameError::TimedOut => {
                self.connection.end();
                match operation {
                    Operation::Launch => Stop::Crash(format!(
                        "the kernel did not end within {}: it hangs, or is far too slow",
                        seconds(self.time_limit)
                    )),
                    Operation::Statement(entry) => Stop::Crash(format!(
                        "{STATEMENT_OF} {entry} did not end within {}: it hangs",
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
            FrameError::Invalid(what) => self.invalid_answer(&what),
            FrameError::Io(error) => {
                self.connection.end();
                Stop::Lab(format!("the connection to the worker failed: {error}"))
            }
        }
    }

    fn ended(&mut self, operation: Operation) -> Stop {
        let how = self.connection.describe_end();
        match operation {
            Operation::Open => Stop::Lab(format!("the worker {how} before its device was open")),
            Operation::Launch => Stop::Crash(format!("the kernel crashed: its process {how}")),
            Operation::Statement(entry) => {
                Stop::Crash(format!("{STATEMENT_OF} {entry} crashed: the worker process {how}"))
            }
            Operation::Own => {
                Stop::Crash(format!("the kernel's process {how} between launches: the kernel damaged it"))
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

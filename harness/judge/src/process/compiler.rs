//! The compiler process and its client: it builds, holds no device, and can be ended when a build
//! never does.

use super::child::{self, Child, Forward, Program};
use super::link::{self, Link};
use super::wire::{self, WireError};
use crate::device::images::Remembering;
use crate::device::{self, BuildRequest, Builder, Built, DeviceError, Target};
use crate::problem::Stop;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::Duration;

/// Finding and loading a compiler.
const OPEN: Duration = Duration::from_secs(60);

#[derive(Serialize, Deserialize)]
enum Request {
    /// `parent`: process id of the judge.
    Open {
        target: Target,
        parent: i32,
    },
    /// To get ready for builds like this one.
    Warm(BuildRequest),
    Build(BuildRequest),
}

#[derive(Serialize, Deserialize)]
enum Reply {
    /// The builder's version.
    Opened(String),
    Warmed,
    Built(Built),
}

type Answer = Result<Reply, DeviceError>;

/// The judge's end of a compiler process.
pub struct Compiler {
    link: Link,
    opening: u64,
    version: Option<String>,
    /// A request to get ready whose answer nobody has waited for yet.
    warming: Option<u64>,
    time_limit: Duration,
}

impl Compiler {
    /// Starts the process, which loads its compiler while the caller does other things. It lives
    /// no longer than the calling thread. No build may take longer than `time_limit`.
    pub fn start(
        program: &Program,
        target: Target,
        time_limit: Duration,
        forward: Forward,
    ) -> Result<Compiler, Stop> {
        let (child, stream) = Child::start(program, forward).map_err(|e| {
            Stop::Lab(format!("the compiler process {} cannot be started: {e}", program.path.display()))
        })?;
        let mut link = Link::new(stream, Some(child));
        let request = Request::Open { target, parent: std::process::id() as i32 };
        // Where the child is gone already, the answer that fails to come says so.
        let opening = link.ask(&request, &[], OPEN).unwrap_or(0);
        Ok(Compiler { link, opening, version: None, warming: None, time_limit })
    }

    pub fn lives(&mut self) -> bool {
        self.link.lives()
    }

    /// Compiler and version; waits until it is loaded.
    pub fn version(&mut self) -> Result<&str, Stop> {
        if self.version.is_none() {
            let answer = self.link.answer::<Answer>(self.opening, 0, OPEN).map_err(|e| self.failed(e, OPEN));
            match answer?.0 {
                Ok(Reply::Opened(version)) => self.version = Some(version),
                Ok(_) => return Err(self.failed(unexpected(), OPEN)),
                Err(error) => return Err(Stop::Lab(error.to_string())),
            }
        }
        Ok(self.version.as_deref().unwrap_or(""))
    }

    /// Lets the process get ready for builds like this one, while the caller does other things.
    pub fn warm(&mut self, request: &BuildRequest) -> Result<(), Stop> {
        self.warmed()?;
        let number = self.link.ask(&Request::Warm(request.clone()), &[], OPEN);
        self.warming = Some(number.map_err(|e| self.failed(e, OPEN))?);
        Ok(())
    }

    /// Waits until it is ready.
    pub fn warmed(&mut self) -> Result<(), Stop> {
        self.version()?;
        let Some(number) = self.warming.take() else { return Ok(()) };
        let answer = self.link.answer::<Answer>(number, 0, OPEN).map_err(|e| self.failed(e, OPEN))?;
        match answer.0 {
            Ok(Reply::Warmed) => Ok(()),
            _ => Err(self.failed(unexpected(), OPEN)),
        }
    }

    pub fn build(&mut self, request: &BuildRequest) -> Result<Built, Stop> {
        self.warmed()?;
        let limit = self.time_limit;
        let request = Request::Build(request.clone());
        let number = self.link.ask(&request, &[], OPEN).map_err(|e| self.failed(e, OPEN))?;
        match self.link.answer::<Answer>(number, 0, limit).map_err(|e| self.failed(e, limit))?.0 {
            Ok(Reply::Built(built)) => Ok(built),
            Ok(_) => Err(self.failed(unexpected(), limit)),
            Err(error) => Err(Stop::Lab(error.to_string())),
        }
    }

    /// After a failure of the wire the process is of no more use.
    fn failed(&mut self, error: WireError, limit: Duration) -> Stop {
        match error {
            WireError::Closed => Stop::Crash(format!("the compiler process {}", self.link.how_it_ended())),
            WireError::TimedOut => {
                self.link.end();
                let limit = limit.as_secs_f64();
                Stop::Crash(format!("the build did not end within {limit} s: the compiler was ended"))
            }
            other => {
                self.link.end();
                Stop::Lab(format!("the compiler process sent what is no answer: {other}"))
            }
        }
    }
}

fn unexpected() -> WireError {
    WireError::Garbled("an answer of the wrong kind".into())
}

/// The compiler process: builds for the judge that started it until that ends.
pub fn main() -> ExitCode {
    // SIGTERM rather than SIGKILL: the host compiler has children, which must end with it.
    let served = super::leash::end_own_group_on_signals()
        .and_then(|()| child::adopt(Signal::TERM))
        .map_err(WireError::Io)
        .and_then(serve);
    super::child_exit("lab harness-compiler", served)
}

fn serve(mut stream: UnixStream) -> Result<(), WireError> {
    let Some((number, Request::Open { target, parent }, _)) = link::next(&mut stream)? else { return Ok(()) };
    if !super::leash::parent_is(parent) {
        return Ok(());
    }
    let mut builder = match device::builder(target) {
        Ok(builder) => Remembering::new(builder),
        Err(error) => return wire::send(&mut stream, &(number, Answer::Err(error)), &[]),
    };
    wire::send(&mut stream, &(number, Answer::Ok(Reply::Opened(builder.version()))), &[])?;
    while let Some((number, request, _)) = link::next(&mut stream)? {
        let answer: Answer = match request {
            Request::Open { .. } => return Err(unexpected()),
            Request::Warm(request) => {
                builder.warm(&request);
                Ok(Reply::Warmed)
            }
            Request::Build(request) => builder.build(&request).map(Reply::Built),
        };
        wire::send(&mut stream, &(number, answer), &[])?;
    }
    Ok(())
}

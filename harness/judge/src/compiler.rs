//! The compiler process and its client: it builds, holds no device, and can be ended when a build
//! never does.

use crate::outcome::Stop;
use crate::process::child::{self, Child, LineSink, Program};
use crate::process::framing::{self, FrameError};
use crate::process::rpc::{self, Connection};
use crate::process::{child_exit, lifetime};
use lab_device::build_cache::CachedBuilder;
use lab_device::{BuildRequest, Builder, Built, DeviceError};
use lab_protocol::Target;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::time::Duration;

/// Finding and loading a compiler.
const OPEN: Duration = Duration::from_secs(60);

#[derive(Serialize, Deserialize)]
enum CompilerRequest {
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
enum CompilerReply {
    /// The builder's version.
    Opened(String),
    Warmed,
    Built(Built),
}

type CompilerAnswer = Result<CompilerReply, DeviceError>;

/// The judge's end of a compiler process.
pub struct Compiler {
    connection: Connection,
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
        forward: LineSink,
    ) -> Result<Compiler, Stop> {
        let (child, stream) = Child::start(program, forward).map_err(|e| {
            Stop::Lab(format!("the compiler process {} cannot be started: {e}", program.path.display()))
        })?;
        let mut connection = Connection::new(stream, Some(child));
        let request = CompilerRequest::Open { target, parent: std::process::id() as i32 };
        // Where the child is gone already, the answer that fails to come says so.
        let opening = connection.ask(&request, &[], OPEN).unwrap_or(0);
        Ok(Compiler { connection, opening, version: None, warming: None, time_limit })
    }

    pub fn lives(&mut self) -> bool {
        self.connection.lives()
    }

    /// Compiler and version; waits until it is loaded.
    pub fn version(&mut self) -> Result<&str, Stop> {
        if self.version.is_none() {
            let answer = self
                .connection
                .answer::<CompilerAnswer>(self.opening, 0, OPEN)
                .map_err(|e| self.failed(e, OPEN));
            match answer?.0 {
                Ok(CompilerReply::Opened(version)) => self.version = Some(version),
                Ok(_) => return Err(self.failed(unexpected(), OPEN)),
                Err(error) => return Err(Stop::Lab(error.to_string())),
            }
        }
        Ok(self.version.as_deref().unwrap_or(""))
    }

    /// Lets the process get ready for builds like this one, while the caller does other things.
    pub fn warm(&mut self, request: &BuildRequest) -> Result<(), Stop> {
        self.warmed()?;
        let number = self.connection.ask(&CompilerRequest::Warm(request.clone()), &[], OPEN);
        self.warming = Some(number.map_err(|e| self.failed(e, OPEN))?);
        Ok(())
    }

    /// Waits until it is ready.
    pub fn warmed(&mut self) -> Result<(), Stop> {
        self.version()?;
        let Some(number) = self.warming.take() else { return Ok(()) };
        let answer =
            self.connection.answer::<CompilerAnswer>(number, 0, OPEN).map_err(|e| self.failed(e, OPEN))?;
        match answer.0 {
            Ok(CompilerReply::Warmed) => Ok(()),
            _ => Err(self.failed(unexpected(), OPEN)),
        }
    }

    pub fn build(&mut self, request: &BuildRequest) -> Result<Built, Stop> {
        self.warmed()?;
        let limit = self.time_limit;
        let request = CompilerRequest::Build(request.clone());
        let number = self.connection.ask(&request, &[], OPEN).map_err(|e| self.failed(e, OPEN))?;
        match self.connection.answer::<CompilerAnswer>(number, 0, limit).map_err(|e| self.failed(e, limit))?.0
        {
            Ok(CompilerReply::Built(built)) => Ok(built),
            Ok(_) => Err(self.failed(unexpected(), limit)),
            Err(error) => Err(Stop::Lab(error.to_string())),
        }
    }

    /// After a failure of the wire the process is of no more use.
    fn failed(&mut self, error: FrameError, limit: Duration) -> Stop {
        match error {
            FrameError::Closed => {
                Stop::Crash(format!("the compiler process {}", self.connection.how_it_ended()))
            }
            FrameError::TimedOut => {
                self.connection.end();
                let limit = limit.as_secs_f64();
                Stop::Crash(format!("the build did not end within {limit} s: the compiler was ended"))
            }
            other => {
                self.connection.end();
                Stop::Lab(format!("the compiler process sent what is no answer: {other}"))
            }
        }
    }
}

fn unexpected() -> FrameError {
    FrameError::Garbled("an answer of the wrong kind".into())
}

/// The compiler process: builds for the judge that started it until that ends.
pub fn main() -> ExitCode {
    // SIGTERM rather than SIGKILL: the host compiler has children, which must end with it.
    let served = lifetime::end_own_group_on_signals()
        .and_then(|()| child::adopt(Signal::TERM))
        .map_err(FrameError::Io)
        .and_then(serve);
    child_exit("lab harness-compiler", served)
}

fn serve(mut stream: UnixStream) -> Result<(), FrameError> {
    let Some((number, CompilerRequest::Open { target, parent }, _)) = rpc::next(&mut stream)? else {
        return Ok(());
    };
    if !lifetime::parent_is(parent) {
        return Ok(());
    }
    let mut builder = match lab_device::builder(target) {
        Ok(builder) => CachedBuilder::new(builder),
        Err(error) => return framing::send(&mut stream, &(number, CompilerAnswer::Err(error)), &[]),
    };
    framing::send(&mut stream, &(number, CompilerAnswer::Ok(CompilerReply::Opened(builder.version()))), &[])?;
    while let Some((number, request, _)) = rpc::next(&mut stream)? {
        let answer: CompilerAnswer = match request {
            CompilerRequest::Open { .. } => return Err(unexpected()),
            CompilerRequest::Warm(request) => {
                builder.warm(&request);
                Ok(CompilerReply::Warmed)
            }
            CompilerRequest::Build(request) => builder.build(&request).map(CompilerReply::Built),
        };
        framing::send(&mut stream, &(number, answer), &[])?;
    }
    Ok(())
}

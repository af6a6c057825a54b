//! The compiler process, and the judge's client for it.
//!
//! The compiler builds kernels and holds no device. It is a process of its own, so that a build
//! that never ends can be killed.

use crate::outcome::{OrLab, Result, Stop};
use crate::process::child::{self, Child, LineSink};
use crate::process::framing::{self, FrameError};
use crate::process::private_folder::PrivateFolder;
use crate::process::rpc::{self, Connection};
use crate::process::{child_exit, limits};
use lab_device::build_cache;
use lab_device::confined::ConfinedBuilder;
use lab_device::sandbox::{FileAccess, SandboxState};
use lab_device::{BuildRequest, Builder, Built, DeviceError, FolderTrust, TargetBuild};
use lab_protocol::Program;
use lab_protocol::Target;
use lab_system::lifetime;
use rustix::process::Signal;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

pub use crate::process::private_folder::SNAPSHOTS;

/// How long finding and loading a compiler may take, and preparing for a build.
const PREPARE_LIMIT: Duration = Duration::from_secs(60);

#[derive(Serialize, Deserialize)]
enum CompilerRequest {
    /// Opens the compiler for a target. The reply is [`Opened`]. `parent` is the process id of the judge. Beside its own
    /// files the compiler may use only `files`. `folder` says whether the compiler may be one of
    /// the current folder.
    Open {
        target: Target,
        folder: FolderTrust,
        parent: i32,
        files: FileAccess,
    },
    /// Prepares for builds like this one. The reply is `()`.
    WarmUp(BuildRequest),
    /// Builds. The reply is [`Built`].
    Build(BuildRequest),
    /// Builds for further architectures. The reply is a [`TargetBuild`] for each; `None` of a compiler that
    /// builds for no GPU.
    BuildFor(BuildRequest, Vec<String>),
}

/// The reply to [`CompilerRequest::Open`].
#[derive(Serialize, Deserialize)]
struct Opened {
    /// The builder's version.
    version: String,
    /// What holds the builder back.
    sandbox: SandboxState,
}

/// What the judge waits for: decides how a failure is described.
#[derive(Clone, Copy)]
enum Operation {
    Open,
    WarmUp,
    Build,
}

impl Operation {
    fn describe(self) -> &'static str {
        match self {
            Operation::Open => "loading the compiler",
            Operation::WarmUp => "preparing the compiler for the build",
            Operation::Build => "the build",
        }
    }
}

/// The judge's client for a compiler process.
pub struct Compiler {
    connection: Connection,
    /// The number of the request to open; `None` once its answer was read.
    opening: Option<Result<u64, FrameError>>,
    opened: Option<Opened>,
    /// The only folder that the compiler writes to.
    _folder: PrivateFolder,
    /// The number of a request to warm up whose answer was not read yet.
    warming_up: Option<u64>,
    time_limit: Duration,
}

impl Compiler {
    /// Starts the process, which loads its compiler while the caller does other things. It lives no
    /// longer than the calling thread. `folder` says whether the compiler may be one of the current
    /// folder. No build may take longer than `time_limit`. The compiler reads its own files,
    /// `readable` and the folder [`SNAPSHOTS`] in `cache_dir`, and writes to a private folder in
    /// `cache_dir`.
    pub fn start(
        program: &Program,
        (target, folder): (Target, FolderTrust),
        time_limit: Duration,
        cache_dir: &Path,
        readable: Vec<PathBuf>,
        forward: LineSink,
    ) -> Result<Compiler> {
        let (own_folder, files) = files(cache_dir, readable).or_lab(|| {
            let parent = cache_dir.display();
            format!("folders for the compiler cannot be made in {parent}")
        })?;
        // Compilers take `TMPDIR` for temporary files.
        let environment = [
            (build_cache::FOLDER_VARIABLE, own_folder.path()),
            ("TMPDIR", own_folder.path()),
            (build_cache::SHARED_FOLDER_VARIABLE, own_folder.closed()),
        ]
        .map(|(name, folder)| (name.into(), folder.into()));
        let (child, stream) = Child::start_in(program, &environment, forward).or_lab(|| {
            let path = program.path.display();
            format!("the compiler process {path} cannot be started")
        })?;
        let mut connection = Connection::new(stream, Some(child));
        let request = CompilerRequest::Open {
            target,
            folder,
            parent: std::process::id() as i32,
            files,
        };
        let opening = Some(connection.ask(&request, &[], PREPARE_LIMIT));
        Ok(Compiler {
            connection,
            opening,
            opened: None,
            _folder: own_folder,
            warming_up: None,
            time_limit,
        })
    }

    /// What holds the compiler back; `None` until [`Compiler::version`] has returned.
    pub fn sandbox(&self) -> Option<&SandboxState> {
        self.opened.as_ref().map(|opened| &opened.sandbox)
    }

    /// Returns whether the process has not ended.
    pub fn is_alive(&mut self) -> bool {
        self.connection.is_alive()
    }

    /// Waits until the compiler is loaded, and returns its name and version.
    pub fn version(&mut self) -> Result<&str> {
        if let Some(asked) = self.opening.take() {
            let number = asked.map_err(|e| self.failed(e, Operation::Open))?;
            self.opened = Some(self.answer(number, Operation::Open)?);
        }
        Ok(self.opened.as_ref().map_or("", |opened| &opened.version))
    }

    /// Lets the process prepare for builds like this one, while the caller does other things.
    pub fn warm_up(&mut self, request: &BuildRequest) -> Result {
        self.wait_for_warm_up()?;
        let request = CompilerRequest::WarmUp(request.clone());
        let number = self.connection.ask(&request, &[], PREPARE_LIMIT);
        self.warming_up = Some(number.map_err(|e| self.failed(e, Operation::WarmUp))?);
        Ok(())
    }

    fn wait_for_warm_up(&mut self) -> Result {
        self.version()?;
        let Some(number) = self.warming_up.take() else {
            return Ok(());
        };
        self.answer(number, Operation::WarmUp)
    }

    /// Builds. Compiler errors are part of [`Built`]. Returns [`Stop::Crash`] if the process ended
    /// or took longer than the time limit, and [`Stop::Lab`] if there is no compiler.
    pub fn build(&mut self, request: &BuildRequest) -> Result<Built> {
        self.call(&CompilerRequest::Build(request.clone()))
    }

    /// Builds for each of these architectures and keeps no image. `None` where the compiler builds for no
    /// GPU.
    pub fn build_for(
        &mut self,
        request: &BuildRequest,
        archs: &[String],
    ) -> Result<Option<Vec<TargetBuild>>> {
        self.call(&CompilerRequest::BuildFor(request.clone(), archs.to_vec()))
    }

    fn call<R: DeserializeOwned>(&mut self, request: &CompilerRequest) -> Result<R> {
        self.wait_for_warm_up()?;
        let asked = self.connection.ask(request, &[], PREPARE_LIMIT);
        let number = asked.map_err(|e| self.failed(e, Operation::Build))?;
        self.answer(number, Operation::Build)
    }

    fn limit(&self, operation: Operation) -> Duration {
        match operation {
            Operation::Open | Operation::WarmUp => PREPARE_LIMIT,
            Operation::Build => self.time_limit,
        }
    }

    fn answer<R: DeserializeOwned>(&mut self, number: u64, operation: Operation) -> Result<R> {
        let limit = self.limit(operation);
        let answer = self
            .connection
            .answer::<Result<R, DeviceError>>(number, 0, limit);
        let (answer, _) = answer.map_err(|e| self.failed(e, operation))?;
        answer.map_err(|error| Stop::Lab(error.to_string()))
    }

    /// Turns a failure of the connection into the reason to stop. The process is of no use after
    /// it.
    fn failed(&mut self, error: FrameError, operation: Operation) -> Stop {
        match error {
            FrameError::Closed => Stop::Crash(format!(
                "the compiler process {}",
                self.connection.describe_end()
            )),
            FrameError::TimedOut => {
                self.connection.end();
                let (what, limit) = (operation.describe(), self.limit(operation).as_secs_f64());
                Stop::Crash(format!(
                    "{what} did not end within {limit} s: the compiler was ended. If the machine is slow or busy, raise time_limit_s"
                ))
            }
            FrameError::Invalid(what) => {
                self.connection.end();
                Stop::Lab(format!(
                    "the compiler process sent an invalid answer: {what}"
                ))
            }
            FrameError::Io(error) => {
                self.connection.end();
                Stop::Lab(format!(
                    "the connection to the compiler process failed: {error}"
                ))
            }
        }
    }
}

/// Makes the folders that a compiler uses. Returns its private one, and what it may use.
fn files(cache_dir: &Path, mut readable: Vec<PathBuf>) -> io::Result<(PrivateFolder, FileAccess)> {
    let folder = PrivateFolder::new(cache_dir)?;
    for shared in [SNAPSHOTS, build_cache::HEADERS] {
        let shared = cache_dir.join(shared);
        std::fs::create_dir_all(&shared)?;
        readable.push(shared);
    }
    let write = vec![folder.path().to_owned()];
    Ok((
        folder,
        FileAccess {
            read: readable,
            write,
            ..FileAccess::default()
        },
    ))
}

/// Runs the compiler process: builds for the judge that started it, until the judge ends.
pub fn main() -> ExitCode {
    // The death of the judge arrives as SIGTERM rather than SIGKILL, so that the host compiler's
    // children can be killed too.
    let served = lifetime::kill_own_group_on_signals()
        .and_then(|()| child::adopt(Signal::TERM))
        .map_err(FrameError::Io)
        .and_then(serve);
    child_exit("lab harness-compiler", served)
}

fn serve(mut stream: UnixStream) -> Result<(), FrameError> {
    let Some((
        number,
        CompilerRequest::Open {
            target,
            folder,
            parent,
            files,
        },
        _,
    )) = rpc::next(&mut stream)?
    else {
        return Ok(());
    };
    if !lifetime::parent_is(parent) {
        return Ok(());
    }
    limits::limit_compiler(lab_device::resolve(target));
    let mut builder = match ConfinedBuilder::open(target, folder, files) {
        Ok(builder) => builder,
        Err(error) => {
            return framing::send(&mut stream, &(number, Err::<(), _>(error)), &[]);
        }
    };
    let opened = Opened {
        version: builder.version(),
        sandbox: builder.state().clone(),
    };
    framing::send(&mut stream, &(number, Ok::<_, DeviceError>(opened)), &[])?;
    while let Some((number, request, _)) = rpc::next(&mut stream)? {
        let answer: Result<Value, DeviceError> = match request {
            CompilerRequest::Open { .. } => {
                let what = "a request to open a compiler that is open".into();
                return Err(FrameError::Invalid(what));
            }
            CompilerRequest::WarmUp(request) => {
                builder.warm(&request);
                Ok(Value::Null)
            }
            CompilerRequest::Build(request) => {
                build_cache::build(&mut builder, &request).map(|built| json!(built))
            }
            CompilerRequest::BuildFor(request, archs) => builder
                .build_for(&request, &archs)
                .map(|built| json!(built)),
        };
        framing::send(&mut stream, &(number, answer), &[])?;
    }
    Ok(())
}

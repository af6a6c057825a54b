//! Supervising a child process of the judge: starting it with a socket on its stdin, forwarding its
//! output, ending it with everything that it started, and describing how it ended.

use super::forked::Forked;
use super::forwarded_stream::ForwardedStream;
use super::output;
use lab_protocol::{FatalSignal, Program};
use lab_system::child_group::{self, ChildGroup};
use lab_system::threads;
use lab_system::{environment, large_pages, lifetime};
use std::ffi::{OsStr, OsString};
use std::io::{self, PipeReader};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Takes each line that a child prints. Two threads call it, one for stdout and one for stderr.
pub type LineSink = Arc<dyn Fn(&str) + Send + Sync>;

/// A running child.
///
/// Dropping it kills it and everything that it started. The drop does not wait until the child is
/// gone, because giving back a GPU's context takes a tenth of a second, which would delay the
/// verdict.
pub struct Child {
    process: Process,
    /// Disconnects when both output streams are at their end.
    streams_open: Receiver<()>,
    streams: Vec<ForwardedStream>,
    /// The child printed too much and was killed for that.
    flooded: Arc<AtomicBool>,
}

/// The process of a child.
enum Process {
    /// A child of this process.
    Own(ChildGroup),
    /// A child of a Python on standby.
    Forked(Forked),
}

impl Process {
    fn id(&self) -> u32 {
        match self {
            Process::Own(group) => group.leader().as_raw_pid().unsigned_abs(),
            Process::Forked(forked) => forked.id(),
        }
    }

    fn poll(&mut self) -> io::Result<Option<ExitStatus>> {
        match self {
            Process::Own(group) => group.poll(),
            Process::Forked(forked) => forked.poll(),
        }
    }

    fn wait(&mut self) -> io::Result<ExitStatus> {
        match self {
            Process::Own(group) => group.wait(),
            Process::Forked(forked) => forked.wait(),
        }
    }

    fn kill(&self) {
        match self {
            Process::Own(group) => group.kill(),
            Process::Forked(forked) => forked.kill(),
        }
    }

    fn has_ended(&self) -> bool {
        match self {
            Process::Own(group) => group.is_reaped(),
            Process::Forked(forked) => forked.has_ended(),
        }
    }
}

/// How long to wait for the last output of a child that ended. Another process may hold its pipes
/// open.
const LAST_OUTPUT: Duration = Duration::from_millis(500);

/// Interval at which a child that is ending is polled.
const POLL_EVERY: Duration = Duration::from_millis(1);

/// How long a child that closed its socket may take to end by itself. How it ends by itself says
/// why it closed.
const END_BY_ITSELF: Duration = Duration::from_secs(2);

impl Child {
    /// Starts a child as the leader of its own process group. It lives no longer than the calling
    /// thread.
    pub fn start(program: &Program, forward: LineSink) -> io::Result<(Child, UnixStream)> {
        Self::start_in(program, &[], forward)
    }

    /// [`Child::start`] with further environment variables.
    pub fn start_in(
        program: &Program,
        environment: &[(OsString, OsString)],
        forward: LineSink,
    ) -> io::Result<(Child, UnixStream)> {
        let mut command = Command::new(&program.path);
        command
            .arg0("lab")
            .args(&program.args)
            .envs(environment.iter().map(|(name, value)| (name, value)));
        Self::spawn(&mut command, forward)
    }

    /// [`Child::start`] of this command, whose stdin, stdout and stderr are set here.
    pub fn spawn(command: &mut Command, forward: LineSink) -> io::Result<(Child, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        command
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        environment::restrict(command);
        large_pages::allow(command);
        // What the user's shell holds open is not the child's.
        lab_device::sandbox::keep_descriptors();
        let mut group = ChildGroup::spawn(command)?;
        let leader = group.leader();
        let pipes = [
            group.take_stdout().map(OwnedFd::from).map(PipeReader::from),
            group.take_stderr().map(OwnedFd::from).map(PipeReader::from),
        ];
        let kill = move || child_group::kill_unreaped(leader);
        let child = Self::with_output(
            Process::Own(group),
            pipes.into_iter().flatten(),
            kill,
            forward,
        )?;
        Ok((child, ours))
    }

    /// A child that a Python on standby forks, which listens on `socket`. It finds modules in the
    /// folders of `python_path`.
    pub fn fork(
        socket: &Path,
        python_path: &OsStr,
        forward: LineSink,
    ) -> io::Result<(Child, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        let ((stdout, to_stdout), (stderr, to_stderr)) = (io::pipe()?, io::pipe()?);
        let forked = Forked::start(
            socket,
            python_path,
            [theirs.as_fd(), to_stdout.as_fd(), to_stderr.as_fd()],
        )?;
        let kill = forked.killer()?;
        let child = Self::with_output(Process::Forked(forked), [stdout, stderr], kill, forward)?;
        Ok((child, ours))
    }

    /// A child whose output is forwarded. `kill` ends a child that prints too much.
    fn with_output(
        process: Process,
        pipes: impl IntoIterator<Item = PipeReader>,
        kill: impl Fn() + Clone + Send + 'static,
        forward: LineSink,
    ) -> io::Result<Child> {
        let (open, streams_open) = channel::<()>();
        let flooded = Arc::new(AtomicBool::new(false));
        let mut child = Child {
            process,
            streams_open,
            streams: Vec::new(),
            flooded: flooded.clone(),
        };
        for pipe in pipes {
            let stream = ForwardedStream::new(pipe);
            child.streams.push(stream.clone());
            let (forward, open, flooded, kill) =
                (forward.clone(), open.clone(), flooded.clone(), kill.clone());
            threads::start("forward", move || {
                if !stream.forward(&*forward) {
                    flooded.store(true, Ordering::SeqCst);
                    kill();
                }
                drop(open);
            })?;
        }
        Ok(child)
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Whether it is a child of this process, and not one of a Python on standby.
    pub fn is_own(&self) -> bool {
        matches!(self.process, Process::Own(_))
    }

    /// Returns whether the child has not ended yet.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.process.poll(), Ok(None))
    }

    /// Waits up to 2 s for a child that is ending by itself, then kills it. Returns its own status
    /// if it ended by itself.
    pub fn reap(&mut self) -> io::Result<ExitStatus> {
        self.reap_within(END_BY_ITSELF)
    }

    /// [`Child::reap`] with another limit.
    pub fn reap_within(&mut self, patience: Duration) -> io::Result<ExitStatus> {
        let deadline = Instant::now() + patience;
        while self.process.poll()?.is_none() && Instant::now() < deadline {
            std::thread::sleep(POLL_EVERY);
        }
        self.end()
    }

    /// Waits for the end of the child like [`Child::reap`], and describes it as the end of a
    /// sentence that begins with the name of the process.
    pub fn describe_end(&mut self) -> String {
        match self.reap() {
            Ok(_) if self.flooded.load(Ordering::SeqCst) => {
                format!(
                    "printed more than {} MiB: too much output",
                    output::FLOOD >> 20
                )
            }
            Ok(status) => describe(status),
            Err(error) => format!("cannot be waited for: {error}"),
        }
    }

    /// Waits until all that the child has printed is forwarded, so that it comes before any later
    /// line; not for one that goes on printing.
    pub fn forward_output(&self) {
        let deadline = Instant::now() + LAST_OUTPUT;
        while !self.streams.iter().all(ForwardedStream::all_forwarded) && Instant::now() < deadline
        {
            if self.streams_open.recv_timeout(POLL_EVERY) == Err(RecvTimeoutError::Disconnected) {
                break;
            }
        }
    }

    /// Kills the child, with everything that it started, and does not wait for its end.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Kills the child now, with everything that it started.
    pub fn end(&mut self) -> io::Result<ExitStatus> {
        self.process.kill();
        let status = self.process.wait()?;
        // Nothing is ever sent. This returns when both streams are at their end, or after the time.
        let _ = self.streams_open.recv_timeout(LAST_OUTPUT);
        Ok(status)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.process.has_ended() {
            return;
        }
        self.process.kill();
        // Its pipes close late, after its GPU context is gone.
        self.forward_output();
        // The drop of the group reaps the child without waiting for it.
    }
}

/// How a process ended, as the end of a sentence that begins with its name.
fn describe(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(number), _) => match FatalSignal::of(number) {
            Some(signal) => format!("was ended by {} ({})", signal.name, signal.cause),
            None => format!("was ended by signal {number}"),
        },
        (None, Some(code)) => format!("ended with exit code {code}"),
        (None, None) => format!("ended: {status}"),
    }
}

/// Sets up the child's side: takes the socket from stdin, which becomes `/dev/null`, and asks for
/// `signal` when the judge dies.
pub fn adopt(signal: rustix::process::Signal) -> io::Result<UnixStream> {
    lifetime::die_with_parent(signal)?;
    lifetime::no_core_files();
    let socket = rustix::stdio::stdin().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
    Ok(UnixStream::from(socket))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_process_is_described_with_its_cause() {
        let ended = |raw| describe(ExitStatus::from_raw(raw));
        assert_eq!(
            ended(11),
            "was ended by SIGSEGV (an access outside every buffer, or a stack overflow)"
        );
        assert_eq!(ended(34), "was ended by signal 34");
        assert_eq!(ended(3 << 8), "ended with exit code 3");
    }
}

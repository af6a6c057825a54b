//! A child process of the judge: a socket on its stdin, its output forwarded, its end in words.

use crate::process::lifetime;
use crate::process::output::{self, OutputStream};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::ioctl_fionread;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::ffi::OsString;
use std::io::{self, PipeReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What is started as a child.
#[derive(Clone, Debug)]
pub struct Program {
    pub path: PathBuf,
    pub args: Vec<OsString>,
}

impl Program {
    /// This executable itself, by a name that still works when the file was rebuilt or deleted.
    pub fn this(args: &[&str]) -> Self {
        let own = PathBuf::from("/proc/self/exe");
        let path = if own.exists() { own } else { std::env::current_exe().unwrap_or(own) };
        Program { path, args: args.iter().map(OsString::from).collect() }
    }
}

/// Takes each line that a child prints, from several threads.
pub type LineSink = Arc<dyn Fn(&str) + Send + Sync>;

/// A running child. Dropping it ends it and whatever it started, and does not wait until it is gone: giving
/// back a GPU's context takes a tenth of a second, which no verdict need wait for.
pub struct Child {
    process: std::process::Child,
    group: Pid,
    /// Disconnects when both of its output streams are at their end.
    printing: Receiver<()>,
    /// Those two streams.
    printed: Vec<ForwardedStream>,
    status: Option<ExitStatus>,
    /// It printed too much, and was ended for that.
    flooded: Arc<AtomicBool>,
}

/// How long the last words of an ended child are waited for: a stranger may hold its pipes open.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Between two looks at a child that is ending.
const A_MOMENT: Duration = Duration::from_millis(1);

/// A child that closed its socket is about to end by itself; its own way of ending says why.
const LAST_STEPS: Duration = Duration::from_secs(2);

impl Child {
    /// Starts it as leader of its own process group. It lives no longer than the calling thread.
    pub fn start(program: &Program, forward: LineSink) -> io::Result<(Child, UnixStream)> {
        Self::start_in(program, &[], forward)
    }

    /// The same with further variables in its environment.
    pub fn start_in(
        program: &Program,
        environment: &[(OsString, OsString)],
        forward: LineSink,
    ) -> io::Result<(Child, UnixStream)> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = Command::new(&program.path);
        command
            .arg0("lab")
            .args(&program.args)
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut groups = lifetime::groups();
        let mut process = command.spawn()?;
        let group = Pid::from_child(&process);
        groups.push(group);
        drop(groups);
        let (at_end, printing) = channel::<()>();
        let streams = [
            process.stdout.take().map(OwnedFd::from).map(PipeReader::from),
            process.stderr.take().map(OwnedFd::from).map(PipeReader::from),
        ];
        let flooded = Arc::new(AtomicBool::new(false));
        let mut child =
            Child { process, group, printing, printed: Vec::new(), status: None, flooded: flooded.clone() };
        for stream in streams.into_iter().flatten() {
            let printed = ForwardedStream {
                stream: Arc::new(stream),
                reading: Arc::new(Mutex::new(OutputStream::new())),
            };
            child.printed.push(printed.clone());
            let (forward, at_end, flooded) = (forward.clone(), at_end.clone(), flooded.clone());
            std::thread::Builder::new().name("forward".into()).spawn(move || {
                if !printed.forward(&*forward) {
                    flooded.store(true, Ordering::SeqCst);
                    // Only while it is not reaped: after that its id may be a stranger's.
                    let groups = lifetime::groups();
                    groups.iter().filter(|g| **g == group).copied().for_each(lifetime::end_group);
                }
                drop(at_end);
            })?;
        }
        Ok((child, ours))
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    pub fn lives(&mut self) -> bool {
        matches!(self.poll(), Ok(None))
    }

    /// Waits for a child that is ending by itself, and ends it if it does not. Its status is its
    /// own where it has one.
    pub fn reap(&mut self) -> io::Result<ExitStatus> {
        self.reap_within(LAST_STEPS)
    }

    /// The same for one that may take longer.
    pub fn reap_within(&mut self, patience: Duration) -> io::Result<ExitStatus> {
        let deadline = Instant::now() + patience;
        while self.poll()?.is_none() && Instant::now() < deadline {
            std::thread::sleep(A_MOMENT);
        }
        self.end()
    }

    /// Waits for its end like [`Child::reap`]; how it came, as the end of a sentence.
    pub fn how_it_ended(&mut self) -> String {
        match self.reap() {
            Ok(_) if self.flooded.load(Ordering::SeqCst) => {
                format!("printed more than {} MiB: too much output", output::FLOOD >> 20)
            }
            Ok(status) => ended(status),
            Err(error) => format!("cannot be waited for: {error}"),
        }
    }

    /// Ends it now, with everything it started.
    pub fn end(&mut self) -> io::Result<ExitStatus> {
        if self.poll()?.is_none() {
            lifetime::end_group(self.group);
        }
        let status = loop {
            if let Some(status) = self.poll()? {
                break status;
            }
            std::thread::sleep(A_MOMENT);
        };
        // Nothing is ever sent: this ends by disconnection or by time.
        let _ = self.printing.recv_timeout(LAST_WORDS);
        Ok(status)
    }

    /// Its status where it has ended; what it started is ended too.
    ///
    /// The lock is held only here, where a process id may become free for others, and never while
    /// waiting: a signal must find it free.
    fn poll(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            let mut groups = lifetime::groups();
            self.status = self.process.try_wait()?;
            if self.status.is_some() {
                lifetime::end_group(self.group);
                groups.retain(|g| *g != self.group);
            }
        }
        Ok(self.status)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.status.is_some() {
            return;
        }
        lifetime::end_group(self.group);
        // What it printed comes before whatever is said of it. Its pipes end late, after its context.
        let deadline = Instant::now() + LAST_WORDS;
        while !self.printed.iter().all(ForwardedStream::all_forwarded) && Instant::now() < deadline {
            if self.printing.recv_timeout(A_MOMENT) == Err(RecvTimeoutError::Disconnected) {
                break;
            }
        }
        let group = self.group;
        let buried = std::thread::Builder::new().name("bury".into()).spawn(move || bury(group));
        if buried.is_err() {
            let _ = self.end();
        }
    }
}

/// One of a child's two output streams, and how far it was read. The lock is held while something is
/// read and handed over, and not while nothing is there.
#[derive(Clone)]
struct ForwardedStream {
    stream: Arc<PipeReader>,
    reading: Arc<Mutex<OutputStream>>,
}

impl ForwardedStream {
    /// Hands over each line, to the stream's end; false where it printed too much to be read to its end.
    fn forward(&self, forward: impl Fn(&str)) -> bool {
        let mut line = |text: &str| forward(text);
        let mut more = true;
        while more {
            // Interrupted or not, reading tells.
            let _ = poll(&mut [PollFd::new(&self.stream, PollFlags::IN)], None);
            more = self.reading().read(&*self.stream, &mut line);
        }
        let mut reading = self.reading();
        let flooded = reading.flooded();
        std::mem::replace(&mut *reading, OutputStream::new()).finish(&mut line);
        !flooded
    }

    fn all_forwarded(&self) -> bool {
        let reading = self.reading();
        reading.at_rest() && ioctl_fionread(&*self.stream).is_ok_and(|unread| unread == 0)
    }

    fn reading(&self) -> MutexGuard<'_, OutputStream> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reaps a child that was ended. Where this process ends first, whoever inherits it does.
fn bury(child: Pid) {
    let ended = WaitIdOptions::EXITED;
    // Without the lock, and so without reaping: see [`Child::poll`].
    let _ = waitid(WaitId::Pid(child), ended | WaitIdOptions::NOWAIT);
    let mut groups = lifetime::groups();
    let _ = waitid(WaitId::Pid(child), ended);
    groups.retain(|group| *group != child);
}

/// How a process ended, as the end of a sentence that begins with its name.
fn ended(status: ExitStatus) -> String {
    let Some(signal) = status.signal() else {
        return format!("ended with exit code {}", status.code().unwrap_or(-1));
    };
    let (name, meaning) = match signal {
        4 => ("SIGILL", "__trap() or an illegal instruction"),
        5 => ("SIGTRAP", "__brkpt() or a debugger's trap"),
        6 => ("SIGABRT", "an assertion or the C++ runtime gave up"),
        7 => ("SIGBUS", "a misaligned access or memory that is not there"),
        8 => ("SIGFPE", "an integer division by zero"),
        9 => ("SIGKILL", "ended from outside, or the machine is out of memory"),
        11 => ("SIGSEGV", "an access outside every buffer, or a stack that overflowed"),
        15 => ("SIGTERM", "ended from outside"),
        other => return format!("was ended by signal {other}"),
    };
    format!("was ended by {name} ({meaning})")
}

/// The child's side: takes the socket from stdin, which becomes `/dev/null`, and asks for `signal`
/// when the judge dies.
pub fn adopt(signal: rustix::process::Signal) -> io::Result<UnixStream> {
    lifetime::die_with_parent(signal)?;
    lifetime::no_core_files();
    let socket = rustix::stdio::stdin().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
    Ok(UnixStream::from(socket))
}

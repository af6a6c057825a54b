//! One child process: started in a process group of its own, followed, limited, ended, and reaped
//! once. Every harness that this crate starts goes through here.

use crate::follow::{Batch, Follow};
use lab_protocol::EXIT;
use lab_run::Ending;
use lab_system::child_group::ChildGroup;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::ioctl_fionread;
use rustix::process::{PidfdFlags, Signal, pidfd_open};
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time between SIGTERM at the time limit and SIGKILL.
const GRACE: Duration = Duration::from_secs(1);

/// How often a process is looked at that may have been stopped, as by SIGSTOP. A kernel can stop
/// the process that judges it.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How many times a stopped process is continued. After that the run ends.
const MOST_STOPS: u32 = 3;

/// Least time between two batches for the screen.
const BATCH_EVERY: Duration = Duration::from_millis(16);

/// Ends a run from any thread.
pub struct Control {
    own: Flag,
    /// What ends this one too.
    above: Vec<Flag>,
}

/// That something is to end, and how who waits for that is woken. Its clones are the same flag.
#[derive(Clone)]
struct Flag {
    ended: Arc<AtomicBool>,
    wake: Arc<OwnedFd>,
}

impl Control {
    pub fn new() -> io::Result<Self> {
        Ok(Control {
            own: Flag::new()?,
            above: Vec::new(),
        })
    }

    /// A control that ends with this one, and can be ended alone.
    pub fn within(&self) -> io::Result<Self> {
        let mut above = self.above.clone();
        above.push(self.own.clone());
        Ok(Control {
            own: Flag::new()?,
            above,
        })
    }

    fn flags(&self) -> impl Iterator<Item = &Flag> {
        self.above.iter().chain([&self.own])
    }

    fn poll_fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.flags()
            .map(|flag| PollFd::new(&*flag.wake, PollFlags::IN))
    }

    /// Ends the run at once. Calling it again changes nothing.
    pub fn end(&self) {
        self.own.ended.store(true, Ordering::SeqCst);
        // The write only fails where the counter is full, and then a wake-up waits already.
        let _ = rustix::io::write(&*self.own.wake, &1u64.to_ne_bytes());
    }

    pub fn is_ended(&self) -> bool {
        self.flags().any(|flag| flag.ended.load(Ordering::SeqCst))
    }

    /// Waits for at most this long. Returns whether the run is to end.
    pub fn wait(&self, limit: Duration) -> bool {
        let mut fds: Vec<PollFd> = self.poll_fds().collect();
        let limit = Timespec::try_from(limit).ok();
        // A signal only makes the wait shorter.
        let _ = poll(&mut fds, limit.as_ref());
        self.is_ended()
    }
}

impl Flag {
    fn new() -> io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Flag {
            ended: Arc::new(AtomicBool::new(false)),
            wake: Arc::new(wake),
        })
    }
}

/// Starts the command with its output in one pipe. The calling thread must live as long as the
/// process: Linux ends a child that asked for it together with the *thread* that started the child.
pub fn start(mut command: Command, stdin: impl Into<Stdio>) -> io::Result<RunningProcess> {
    let (pipe, end) = io::pipe()?;
    command.stdin(stdin).stdout(end.try_clone()?).stderr(end);
    let group = ChildGroup::spawn(&mut command)?;
    // The command still holds the pipe's write end: the pipe would never end.
    drop(command);
    RunningProcess::new(group, pipe)
}

/// Follows a process to its end, and ends it where a limit is reached, `control` says so, or
/// following it fails. What fails is written into the log; where it hides how the process ended,
/// the ending is [`Ending::Unknown`]. Returns a judge that stands by for another kernel.
pub fn follow(
    running: RunningProcess,
    limit: Duration,
    control: &Control,
    follow: &mut Follow,
    tell: impl FnMut(Batch),
) -> (Ending, Option<RunningProcess>) {
    follow_process(running, limit, control, follow, tell).unwrap_or_else(|error| {
        follow.say(&format!(
            "the harness could not be followed to its end: {error}"
        ));
        (Ending::Unknown, None)
    })
}

fn follow_process(
    mut running: RunningProcess,
    limit: Duration,
    control: &Control,
    follow: &mut Follow,
    mut tell: impl FnMut(Batch),
) -> io::Result<(Ending, Option<RunningProcess>)> {
    let mut enforcer = Enforcer {
        limit,
        started: Instant::now(),
        ending: None,
        told: None,
        looked: Instant::now(),
        stops: 0,
    };
    loop {
        let now = Instant::now();
        enforcer.enforce(&running, control, follow, now);
        enforcer.keep_going(&running, follow, now);
        if follow.has_news() && enforcer.told.is_none_or(|told| now - told >= BATCH_EVERY) {
            tell(follow.batch());
            enforcer.told = Some(now);
        }
        // Nobody takes the wake-up of `control` away: after a kill it would wake this loop without
        // end.
        let listen = (!enforcer.killed()).then_some(control);
        let ended = running.wait(listen, enforcer.timeout(follow, now))?;
        if running.readable {
            running.read(follow);
        }
        if ended {
            break;
        }
        let code = || follow.report().value(EXIT)?.parse().ok();
        if let Some(code) = code().filter(|_| running.stays && enforcer.ending.is_none()) {
            return Ok((Ending::Exited(code), Some(running)));
        }
    }
    let status = running.reap(follow)?;
    // The output that was read last may exceed the limit.
    let flooded = follow.flooded().then_some(Ending::Flooded);
    let ending = enforcer.ending.or(flooded);
    Ok((ending.unwrap_or_else(|| ending_of(status)), None))
}

/// Applies the limits to one process.
struct Enforcer {
    limit: Duration,
    started: Instant,
    /// How the lab ended the process, if it did.
    ending: Option<Ending>,
    /// When the last batch was told.
    told: Option<Instant>,
    /// When the process was last looked at.
    looked: Instant,
    /// How many times it was found stopped.
    stops: u32,
}

impl Enforcer {
    fn enforce(
        &mut self,
        running: &RunningProcess,
        control: &Control,
        follow: &Follow,
        now: Instant,
    ) {
        let over = now - self.started;
        if self.ending == Some(Ending::TimedOut) && over >= self.limit + GRACE {
            running.group.kill();
        }
        if self.killed() {
            return;
        }
        if control.is_ended() {
            self.ending = Some(Ending::Superseded);
            running.group.kill();
        } else if follow.flooded() {
            self.ending = Some(Ending::Flooded);
            running.group.kill();
        } else if self.ending.is_none() && over >= self.limit {
            self.ending = Some(Ending::TimedOut);
            running.group.signal(Signal::TERM);
        }
    }

    /// Continues a process that a signal has stopped, and ends it where that happens again and
    /// again. It would otherwise wait, and its own limits with it.
    fn keep_going(&mut self, running: &RunningProcess, follow: &mut Follow, now: Instant) {
        if now - self.looked < LOOK_EVERY {
            return;
        }
        self.looked = now;
        if self.killed() || !running.group.is_stopped() {
            return;
        }
        self.stops += 1;
        if self.stops > MOST_STOPS {
            follow.say("the kernel or another process stops the harness again and again (SIGSTOP): the run was ended");
            self.ending = Some(Ending::Unknown);
            running.group.kill();
        } else {
            follow.say("the harness was stopped (SIGSTOP), by the kernel or by another process, and goes on");
            running.group.signal(Signal::CONT);
        }
    }

    /// Whether SIGKILL was sent. At the time limit SIGTERM comes first.
    fn killed(&self) -> bool {
        self.ending.is_some_and(|e| e != Ending::TimedOut)
    }

    /// Time until a limit or a batch is due; `None` where only output or an end can come.
    fn timeout(&self, follow: &Follow, now: Instant) -> Option<Duration> {
        let over = now - self.started;
        let limit = match self.ending {
            None => Some(self.limit.saturating_sub(over)),
            Some(Ending::TimedOut) => Some((self.limit + GRACE).saturating_sub(over)),
            Some(_) => None,
        };
        let news = follow.has_news().then(|| match self.told {
            Some(told) => BATCH_EVERY.saturating_sub(now - told),
            None => Duration::ZERO,
        });
        let look = (!self.killed()).then(|| LOOK_EVERY.saturating_sub(now - self.looked));
        limit.into_iter().chain(news).chain(look).min()
    }
}

/// A process that was started. Dropping it ends the process and its group.
pub struct RunningProcess {
    group: ChildGroup,
    /// Readable once the process has ended, reaped or not.
    life: OwnedFd,
    pipe: Option<PipeReader>,
    readable: bool,
    buffer: Vec<u8>,
    /// It is a judge that says when it is done, and stands by for another kernel.
    stays: bool,
}

impl RunningProcess {
    fn new(group: ChildGroup, pipe: PipeReader) -> io::Result<Self> {
        let life = pidfd_open(group.leader(), PidfdFlags::empty())?;
        Ok(RunningProcess {
            group,
            life,
            pipe: Some(pipe),
            readable: false,
            buffer: vec![0; 64 * 1024],
            stays: false,
        })
    }

    /// The same process, which is a judge that may stand by for another kernel when it is done.
    #[must_use]
    pub fn staying(mut self, stays: bool) -> RunningProcess {
        self.stays = stays;
        self
    }

    /// Number of bytes that it printed and nobody has read yet.
    pub fn unread(&self) -> u64 {
        self.pipe
            .as_ref()
            .and_then(|pipe| ioctl_fionread(pipe).ok())
            .unwrap_or(0)
    }

    /// Whether the process has neither ended nor closed its output.
    pub fn lives(&self) -> bool {
        let Some(pipe) = &self.pipe else { return false };
        let mut fds = [
            PollFd::new(&self.life, PollFlags::IN),
            PollFd::new(pipe, PollFlags::empty()),
        ];
        matches!(poll(&mut fds, Some(&Timespec::default())), Ok(0))
    }

    /// Waits until the process prints something. False where it ends instead, `control` ends the
    /// run, or the time is over.
    pub fn wait_for_output(&mut self, control: &Control, limit: Duration) -> io::Result<bool> {
        let deadline = Instant::now() + limit;
        while self.unread() == 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            let ended = self.wait(Some(control), Some(left))?;
            let silent_end = self.readable && self.unread() == 0;
            if ended || silent_end || left.is_zero() || control.is_ended() {
                break;
            }
        }
        Ok(self.unread() > 0)
    }

    /// Takes in what the process prints until a result line of this key is among it. False where the
    /// process ends before, `control` ends the run, or the time is over.
    pub fn read_until(
        &mut self,
        key: &str,
        follow: &mut Follow,
        control: &Control,
        limit: Duration,
    ) -> io::Result<bool> {
        let deadline = Instant::now() + limit;
        while follow.report().value(key).is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            let ended = self.wait(Some(control), Some(left))?;
            if control.is_ended() || left.is_zero() || (ended && !self.readable) {
                return Ok(false);
            }
            if self.readable {
                self.read(follow);
            }
        }
        Ok(true)
    }

    /// Waits for output, the end, a wake-up by `control`, or the timeout. True once the process has
    /// ended.
    fn wait(&mut self, control: Option<&Control>, timeout: Option<Duration>) -> io::Result<bool> {
        // Rounded up, so that the loop does not spin through the last millisecond.
        let timeout = timeout.map(|t| t + Duration::from_millis(1));
        let timeout = timeout.and_then(|t| Timespec::try_from(t).ok());
        let mut fds = vec![PollFd::new(&self.life, PollFlags::IN)];
        fds.extend(control.into_iter().flat_map(Control::poll_fds));
        let at = fds.len();
        fds.extend(
            self.pipe
                .as_ref()
                .map(|pipe| PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)),
        );
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ended = !fds[0].revents().is_empty();
        self.readable = fds.get(at).is_some_and(|pipe| !pipe.revents().is_empty());
        Ok(ended)
    }

    /// Reads once what is there. At the end of the output, or where reading fails, the pipe is
    /// closed.
    fn read(&mut self, follow: &mut Follow) {
        let Some(pipe) = &mut self.pipe else { return };
        match pipe.read(&mut self.buffer) {
            Ok(0) => self.pipe = None,
            Ok(n) => follow.take(&self.buffer[..n]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                self.pipe = None;
                follow.cut_off(error);
            }
        }
    }

    /// Ends what is left of the group, reads what is left in the pipe, and reaps the leader. A
    /// process that left the group may hold the pipe open without end, so this does not wait for
    /// the pipe's end.
    fn reap(mut self, follow: &mut Follow) -> io::Result<ExitStatus> {
        self.group.kill();
        let mut left = 1 << 20;
        while let Some(pipe) = &self.pipe
            && left > 0
        {
            let mut fds = [PollFd::from_borrowed_fd(pipe.as_fd(), PollFlags::IN)];
            if !matches!(poll(&mut fds, Some(&Timespec::default())), Ok(1)) {
                break;
            }
            let before = follow.bytes();
            self.read(follow);
            left -= i64::try_from(follow.bytes() - before).unwrap_or(left);
        }
        self.group.wait()
    }
}

impl Drop for RunningProcess {
    /// Ends a process that is still there, because following it failed. After `reap` there is
    /// nothing to do.
    fn drop(&mut self) {
        if matches!(self.group.poll(), Ok(None)) {
            self.group.kill();
            let _ = self.group.wait();
        }
    }
}

/// A shell reports its child's signal as exit code 128 + signal, and so does `lab supervise`.
fn ending_of(status: ExitStatus) -> Ending {
    match (status.code(), status.signal()) {
        (Some(code @ 129..=192), _) => Ending::Signalled(code - 128),
        (Some(code), _) => Ending::Exited(code),
        (None, signal) => Ending::Signalled(signal.unwrap_or(0)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use rustix::process::{WaitOptions, waitpid};

    #[test]
    fn output_that_cannot_be_read_makes_the_log_incomplete_and_says_why() {
        let mut running = start(Command::new("true"), Stdio::null()).unwrap();
        // Reading a folder fails.
        running.pipe = Some(OwnedFd::from(std::fs::File::open("/").unwrap()).into());
        let mut lines = Follow::new(tempfile::tempfile().unwrap(), 1000);
        let limit = Duration::from_secs(60);
        follow(running, limit, &Control::new().unwrap(), &mut lines, |_| {});
        let why = lines.finish().unwrap_err().to_string();
        assert!(
            why.starts_with("cannot read what the harness prints: Is a directory"),
            "{why}"
        );
    }

    /// Follows `sh -c script` for at most a minute. Returns how it ended, and the last words of its
    /// log.
    fn followed(script: &str) -> (Ending, String) {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let running = start(command, Stdio::null()).unwrap();
        let mut lines = Follow::new(tempfile::tempfile().unwrap(), 1000);
        let limit = Duration::from_secs(60);
        let (ending, _) = follow(running, limit, &Control::new().unwrap(), &mut lines, |_| {});
        (ending, lines.last_words())
    }

    #[test]
    fn a_process_that_was_stopped_goes_on_and_one_that_stays_stopped_is_ended() {
        let began = Instant::now();
        let (ending, words) = followed("kill -STOP $$; exit 5");
        assert_eq!(ending, Ending::Exited(5));
        assert!(
            words.starts_with("lab: the harness was stopped (SIGSTOP)"),
            "{words}"
        );
        let (ending, words) = followed("while true; do kill -STOP $$; done");
        assert_eq!(ending, Ending::Unknown);
        assert!(
            words.ends_with("again and again (SIGSTOP): the run was ended"),
            "{words}"
        );
        assert!(began.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_process_that_somebody_else_reaped_has_an_unknown_ending() {
        let running = start(Command::new("true"), Stdio::null()).unwrap();
        waitpid(Some(running.group.leader()), WaitOptions::empty()).unwrap();
        let log = tempfile::tempfile().unwrap();
        let mut lines = Follow::new(log, 1000);
        let limit = Duration::from_secs(60);
        let (ending, _) = follow(running, limit, &Control::new().unwrap(), &mut lines, |_| {});
        assert_eq!(ending, Ending::Unknown);
        assert!(
            lines
                .last_words()
                .starts_with("lab: the harness could not be followed to its end: No child")
        );
    }
}

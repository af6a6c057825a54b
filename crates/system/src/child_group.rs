//! A child process that leads a process group of its own, with every process that it starts in
//! turn: signalled, waited for and reaped in one place.
//!
//! The id of a process belongs to it until it is reaped. After that another process may get the id.
//! So the group is killed before its leader is reaped, and the list of groups is locked while a
//! child is started or reaped: a thread that handles signals finds every child in the list, and no
//! process that reuses the id of a child.

use crate::descendants::{self, Descendant};
use crate::threads;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process_group, waitid};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard};

/// The groups whose leaders are not reaped yet.
static GROUPS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

fn groups() -> MutexGuard<'static, Vec<Pid>> {
    threads::lock(&GROUPS)
}

/// A child and its process group.
///
/// ```
/// use lab_system::child_group::ChildGroup;
/// use std::process::Command;
///
/// let mut group = ChildGroup::spawn(Command::new("sh").args(["-c", "sleep 600 & exit 3"]))?;
/// // The `sleep` is killed when the shell has ended.
/// assert_eq!(group.wait()?.code(), Some(3));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// Dropping it kills the group and does not wait: another thread reaps the child.
#[derive(Debug)]
pub struct ChildGroup {
    child: Child,
    leader: Pid,
    status: Option<ExitStatus>,
}

impl ChildGroup {
    /// Starts the command as the leader of a new process group.
    pub fn spawn(command: &mut Command) -> io::Result<ChildGroup> {
        let mut groups = groups();
        let child = command.process_group(0).spawn();
        let child = child.map_err(|error| threads::refused("process", error))?;
        let leader = Pid::from_child(&child);
        groups.push(leader);
        Ok(ChildGroup {
            child,
            leader,
            status: None,
        })
    }

    /// The id of the child, which is its group's too.
    pub fn leader(&self) -> Pid {
        self.leader
    }

    /// The child's stdout, if it is a pipe and was not taken yet.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// The child's stderr, if it is a pipe and was not taken yet.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// Whether the child has ended and was reaped.
    pub fn is_reaped(&self) -> bool {
        self.status.is_some()
    }

    /// Sends a signal to the whole group. Does nothing once the child is reaped.
    pub fn signal(&self, signal: Signal) {
        if self.status.is_none() {
            let _ = kill_process_group(self.leader, signal);
        }
    }

    /// Kills the whole group, and every process that the child has started and that has left the
    /// group. Does nothing once the child is reaped.
    pub fn kill(&self) {
        if self.status.is_some() {
            return;
        }
        // The children of a process that has ended have another parent by now, so they are not
        // found below it.
        match self.has_ended(WaitIdOptions::NOHANG) {
            Ok(true) => drop(kill_process_group(self.leader, Signal::KILL)),
            _ => kill_with_descendants(self.leader),
        }
    }

    /// Whether a signal has stopped the child, as SIGSTOP does.
    pub fn is_stopped(&self) -> bool {
        let now = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.status.is_none()
            && waitid(WaitId::Pid(self.leader), now).is_ok_and(|stopped| stopped.is_some())
    }

    /// The child's status if it has ended. Then its group is killed and the child is reaped.
    pub fn poll(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() && self.has_ended(WaitIdOptions::NOHANG)? {
            self.reap()?;
        }
        Ok(self.status)
    }

    /// Waits until the child ends. Then its group is killed and the child is reaped.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        if let Some(status) = self.status {
            return Ok(status);
        }
        while !self.has_ended(WaitIdOptions::empty())? {}
        self.reap()
    }

    /// Whether the child has ended, without reaping it. An error says that it is no child of this
    /// process any more.
    fn has_ended(&self, how: WaitIdOptions) -> io::Result<bool> {
        match waitid(
            WaitId::Pid(self.leader),
            how | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
        ) {
            Ok(ended) => Ok(ended.is_some()),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => {
                groups().retain(|group| *group != self.leader);
                Err(error.into())
            }
        }
    }

    /// Reaps the child, which has ended.
    fn reap(&mut self) -> io::Result<ExitStatus> {
        let mut groups = groups();
        self.signal(Signal::KILL);
        let status = self.child.wait();
        groups.retain(|group| *group != self.leader);
        self.status = status.as_ref().ok().copied();
        kill_orphans(&groups);
        status
    }
}

/// Kills a group and what its leader has started. A stopped process is killed too.
fn kill_with_descendants(leader: Pid) {
    let started = descendants::of(leader);
    let _ = kill_process_group(leader, Signal::KILL);
    descendants::kill(&started);
}

/// Kills the processes that were left to this process when their parents ended, if it adopts
/// orphans. They lead groups or sessions of their own; this process's other children are in its own
/// group.
fn kill_orphans(groups: &[Pid]) {
    if !descendants::adopts_orphans() {
        return;
    }
    let own = descendants::own_group();
    let known =
        |group: i32| Some(group) == own || groups.iter().any(|leader| leader.as_raw_pid() == group);
    let left: Vec<Descendant> = descendants::of(getpid())
        .into_iter()
        .filter(|process| !known(process.group))
        .collect();
    descendants::kill(&left);
}

impl Drop for ChildGroup {
    fn drop(&mut self) {
        if self.status.is_some() || !groups().contains(&self.leader) {
            return;
        }
        self.kill();
        let leader = self.leader;
        let reaper = threads::start("reap", move || reap_killed(leader));
        if reaper.is_err() {
            // Without a thread the drop itself waits. There is nobody to report a failure to.
            let _ = self.wait();
        }
    }
}

/// Reaps a child that was killed. If this process ends first, the process that inherits the child
/// reaps it.
fn reap_killed(leader: Pid) {
    let ended = WaitIdOptions::EXITED;
    // Waits without the lock, and so without reaping.
    let _ = waitid(WaitId::Pid(leader), ended | WaitIdOptions::NOWAIT);
    let mut groups = groups();
    let _ = waitid(WaitId::Pid(leader), ended);
    groups.retain(|group| *group != leader);
    kill_orphans(&groups);
}

/// Kills the group of this child, unless the child is reaped already. For a thread that does not
/// own the [`ChildGroup`].
pub fn kill_unreaped(leader: Pid) {
    if groups().contains(&leader) {
        kill_with_descendants(leader);
    }
}

/// Kills the groups of all children, and then calls `last`. No child can be started meanwhile.
pub fn kill_all_and(last: impl FnOnce()) {
    let groups = groups();
    groups.iter().copied().for_each(kill_with_descendants);
    last();
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use rustix::process::test_kill_process;
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::ExitStatusExt;
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    /// A shell that starts a child and prints the child's id.
    fn with_child(then: &str) -> (ChildGroup, Pid) {
        let script = format!("sleep 600 & echo $!; {then}");
        let mut group = ChildGroup::spawn(
            Command::new("sh")
                .args(["-c", &script])
                .stdout(Stdio::piped()),
        )
        .unwrap();
        let mut line = String::new();
        BufReader::new(group.take_stdout().unwrap())
            .read_line(&mut line)
            .unwrap();
        (group, Pid::from_raw(line.trim().parse().unwrap()).unwrap())
    }

    /// Waits until a process is gone, or a zombie that nobody in this container reaps.
    fn is_gone(process: Pid) -> bool {
        let limit = Instant::now() + Duration::from_secs(10);
        let state = || std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        while Instant::now() < limit {
            if test_kill_process(process).is_err() || state().contains(") Z ") {
                return true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        false
    }

    #[test]
    fn what_a_child_leaves_behind_ends_with_it() {
        let (mut group, child) = with_child("exit 3");
        assert_eq!(group.wait().unwrap().code(), Some(3));
        assert!(is_gone(child));
        assert_eq!(
            group.poll().unwrap().unwrap().code(),
            Some(3),
            "the status stays known"
        );
        assert!(!groups().contains(&group.leader()));
    }

    #[test]
    fn a_process_that_has_left_the_group_is_killed_too() {
        let script = "setsid sh -c 'echo $$; sleep 600; echo' & wait";
        let mut group = ChildGroup::spawn(
            Command::new("sh")
                .args(["-c", script])
                .stdout(Stdio::piped()),
        )
        .unwrap();
        let mut line = String::new();
        BufReader::new(group.take_stdout().unwrap())
            .read_line(&mut line)
            .unwrap();
        let escaped = Pid::from_raw(line.trim().parse().unwrap()).unwrap();
        let below = descendants::of(group.leader());
        let found = below.iter().find(|process| process.id == escaped).unwrap();
        assert_ne!(found.group, group.leader().as_raw_pid());
        assert!(descendants::has_children(group.leader()));
        group.kill();
        assert!(below.iter().all(|process| is_gone(process.id)));
        group.wait().unwrap();
    }

    #[test]
    fn a_stopped_child_is_seen_and_can_be_killed() {
        let mut group =
            ChildGroup::spawn(Command::new("sh").args(["-c", "kill -STOP $$; exit 7"])).unwrap();
        let limit = Instant::now() + Duration::from_secs(10);
        while !group.is_stopped() && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(
            group.is_stopped() && group.is_stopped(),
            "looking changes nothing"
        );
        group.signal(Signal::CONT);
        assert_eq!(group.wait().unwrap().code(), Some(7));
        assert!(!group.is_stopped());
        let mut stopped =
            ChildGroup::spawn(Command::new("sh").args(["-c", "kill -STOP $$"])).unwrap();
        stopped.kill();
        assert_eq!(
            stopped.wait().unwrap().signal(),
            Some(Signal::KILL.as_raw())
        );
    }

    #[test]
    fn a_signal_reaches_the_whole_group() {
        let (mut group, child) = with_child("wait");
        assert_eq!(group.poll().unwrap(), None);
        group.signal(Signal::TERM);
        assert_eq!(group.wait().unwrap().signal(), Some(Signal::TERM.as_raw()));
        assert!(is_gone(child));
    }

    #[test]
    fn a_dropped_child_is_killed_and_reaped() {
        let (group, child) = with_child("wait");
        let leader = group.leader();
        drop(group);
        assert!(is_gone(child) && is_gone(leader));
        let limit = Instant::now() + Duration::from_secs(10);
        while groups().contains(&leader) && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(!groups().contains(&leader));
        kill_unreaped(leader);
    }

    #[test]
    fn a_child_that_somebody_else_reaped_is_an_error() {
        let mut group = ChildGroup::spawn(&mut Command::new("true")).unwrap();
        waitid(WaitId::Pid(group.leader()), WaitIdOptions::EXITED).unwrap();
        assert!(group.wait().is_err() && group.poll().is_err());
        assert!(!groups().contains(&group.leader()));
    }
}

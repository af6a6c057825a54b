//! The processes that a process has started, as `/proc` shows them: also those that have left its
//! process group or session.

use crate::listing;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, wait};
use std::collections::HashMap;
use std::fs;
use std::io;
use std::iter::successors;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};

/// A process that another one has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descendant {
    /// Its id.
    pub id: Pid,
    /// The id of its process group.
    pub group: i32,
}

/// Returns the processes below `root` that have not ended, parents before their children. A process
/// whose parent has ended belongs to the next subreaper above it, and otherwise to none; see
/// [`adopt_orphans`].
pub fn of(root: Pid) -> Vec<Descendant> {
    let mut children: HashMap<i32, Vec<Descendant>> = HashMap::new();
    for entry in listing::entries("/proc") {
        let Some(id) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
            .and_then(Pid::from_raw)
        else {
            continue;
        };
        // A process may end while the list is read.
        if let Some(stat) = Stat::of(id)
            && !matches!(stat.state, 'Z' | 'X')
        {
            let group = stat.group;
            let process = Descendant { id, group };
            children.entry(stat.parent).or_default().push(process);
        }
    }
    let mut found: Vec<Descendant> = children.remove(&root.as_raw_pid()).unwrap_or_default();
    let mut next = 0;
    while let Some(parent) = found.get(next) {
        let below = children.remove(&parent.id.as_raw_pid()).unwrap_or_default();
        found.extend(below);
        next += 1;
    }
    found
}

/// Makes this process the parent of every process below it whose own parent has ended. So what a
/// kernel or a compiler has started can be found below this process ([`of`]), and ends with it
/// where a [`crate::child_group::ChildGroup`] is reaped.
pub fn adopt_orphans() -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    ADOPTS.store(true, Ordering::SeqCst);
    Ok(())
}

/// Waits until a child ends, and reaps every other child that ends meanwhile. A process that adopts
/// orphans must reap them: code that waits for the end of an orphan by its id waits until then.
pub fn reap_until(child: Pid) -> io::Result<ExitStatus> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((ended, status))) if ended == child => {
                return Ok(ExitStatus::from_raw(status.as_raw()));
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Whether this process has called [`adopt_orphans`].
pub(crate) fn adopts_orphans() -> bool {
    ADOPTS.load(Ordering::SeqCst)
}

static ADOPTS: AtomicBool = AtomicBool::new(false);

/// Kills these processes. One that has ended already is left out.
pub fn kill(processes: &[Descendant]) {
    for process in processes {
        let _ = kill_process(process.id, Signal::KILL);
    }
}

/// How often [`kill_own`] looks for processes that were started while it killed.
const ROUNDS: usize = 100;

/// Kills every process below this one. A process that starts others faster than they are found here
/// keeps some.
pub fn kill_own() {
    for _ in 0..ROUNDS {
        let own = getpid();
        let left = if has_children(own) {
            of(own)
        } else {
            Vec::new()
        };
        if left.is_empty() {
            return;
        }
        kill(&left);
    }
}

/// A process, its parent, and so on, up to the first that this process cannot see.
fn ancestry(process: i32) -> impl Iterator<Item = (Pid, Stat)> {
    let seen = |id| Some((id, Stat::of(id)?));
    // A bound, because a process may get another parent meanwhile. No chain of parents is this
    // long.
    let first = Pid::from_raw(process).and_then(seen);
    successors(first, move |(_, stat)| seen(Pid::from_raw(stat.parent)?)).take(64)
}

/// Whether a process is `ancestor` or was started by it, over any number of generations.
pub fn descends_from(process: u32, ancestor: u32) -> bool {
    let mut line = ancestry(process.cast_signed());
    line.any(|(id, _)| id.as_raw_pid().cast_unsigned() == ancestor)
}

/// Whether a shell above this process can continue its process group after a stop: the nearest
/// ancestor of another group belongs to the same session. Linux calls other groups orphaned.
pub fn has_shell() -> bool {
    continues(ancestry(getpid().as_raw_pid()).map(|(_, stat)| stat))
}

/// [`has_shell`] for the first of these processes, each the parent of the one before.
fn continues(mut line: impl Iterator<Item = Stat>) -> bool {
    let Some(own) = line.next() else {
        return false;
    };
    let above = line.find(|stat| stat.group != own.group);
    above.is_some_and(|stat| stat.session == own.session)
}

/// The process group of this process, as its descendants show it. None without `/proc`.
pub(crate) fn own_group() -> Option<i32> {
    Stat::of(getpid()).map(|stat| stat.group)
}

/// The threads of a process in `/proc`. None if it has ended.
fn tasks(process: Pid) -> impl Iterator<Item = listing::Entry> {
    listing::entries(format!("/proc/{}/task", process.as_raw_pid()))
}

/// The number of threads of a process. 0 if it has ended.
pub fn threads(process: Pid) -> usize {
    tasks(process).count()
}

/// The number of threads of a process that are running now, its first one left out. 0 if the
/// process has ended.
pub fn busy_threads(process: Pid) -> usize {
    let first = process.as_raw_pid().to_string();
    let is_busy = |task: &listing::Entry| {
        let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        task.file_name() != *first && Stat::parse(&stat).is_some_and(|stat| stat.state == 'R')
    };
    tasks(process).filter(is_busy).count()
}

/// Whether a process has started others that live below it. Costs less than [`of`].
pub fn has_children(process: Pid) -> bool {
    tasks(process).any(|task| {
        let children = fs::read_to_string(task.path().join("children"));
        children.is_ok_and(|children| !children.trim().is_empty())
    })
}

/// What `/proc/PID/stat` says of a process. An id is 0 where its process is outside of this PID
/// namespace, as the parent of a container's first process is. So the ids are read here and not
/// asked for with `getsid`, whose answer rustix takes for the id of a process.
struct Stat {
    state: char,
    parent: i32,
    group: i32,
    session: i32,
}

impl Stat {
    /// None if the process has ended.
    fn of(process: Pid) -> Option<Self> {
        let line = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_pid())).ok()?;
        Self::parse(&line)
    }

    /// The name before the state is in brackets and may hold any character.
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.rsplit_once(')')?.1.split_whitespace();
        let state = words.next()?.chars().next()?;
        let mut id = || words.next()?.parse().ok();
        Some(Self {
            state,
            parent: id()?,
            group: id()?,
            session: id()?,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_name_with_brackets_is_skipped() {
        let stat = Stat::parse("17 (a) b) S 4 17 18 0 -1").unwrap();
        let ids = (stat.state, stat.parent, stat.group, stat.session);
        assert_eq!(ids, ('S', 4, 17, 18));
        assert!(Stat::parse("17 (a").is_none());
    }

    #[test]
    fn a_stopped_program_goes_on_under_a_shell_of_its_session_only() {
        let continues = |line: &[&str]| {
            let line: Vec<Stat> = line.iter().map(|line| Stat::parse(line).unwrap()).collect();
            super::continues(line.into_iter())
        };
        let lab = "30 (lab) S 20 20 10 0 -1";
        let script = "20 (run.sh) S 10 20 10 0 -1";
        assert!(continues(&[lab, script, "10 (bash) S 9 10 10 0 -1"]));
        assert!(!continues(&[lab, script, "10 (sshd) S 1 9 9 0 -1"]));
        assert!(!continues(&[lab, script]));
        // Started into a container from outside: the parent's group and session are not in it.
        assert!(!continues(&[lab, script, "10 (runner) S 0 0 0 0 -1"]));
        assert!(!continues(&["1 (lab) S 0 0 0 0 -1"]));
        assert!(!continues(&[]));
    }

    #[test]
    fn this_process_has_threads_and_is_found_below_its_parent() {
        let own = rustix::process::getpid();
        assert!(threads(own) >= 1);
        let parent = rustix::process::getppid().unwrap();
        assert!(of(parent).iter().any(|process| process.id == own));
    }
}

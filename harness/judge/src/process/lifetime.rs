//! Who dies with whom, so that nothing is ever left running.
//!
//! The judge starts each child as the leader of a process group of its own and ends it by ending
//! that group: the host compiler has children too. When the judge dies, even by SIGKILL, the
//! kernel sends its children the signal they asked for: the worker SIGKILL, because it may hang,
//! and the compiler SIGTERM, on which it ends its whole group.

use rustix::process::{Pid, Signal, getpid, getppid, kill_process_group, set_parent_process_death_signal};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The groups to end when this process is told to end.
static GROUPS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// Held while children are started and reaped, so that a signal finds all of them and no stranger.
pub fn groups() -> MutexGuard<'static, Vec<Pid>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends a group of processes at once. One that is gone already is no error.
pub fn end_group(leader: Pid) {
    let _ = kill_process_group(leader, Signal::KILL);
}

/// Asks for `signal` when the parent dies. Linux means the parent's *thread*: a child must be
/// started from a thread that lives as long as the child shall.
pub fn die_with_parent(signal: Signal) -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(signal))?)
}

/// Whether `parent` is still the parent: it may have died before [`die_with_parent`] was called.
pub fn parent_is(parent: i32) -> bool {
    getppid().map(Pid::as_raw_pid) == Some(parent)
}

/// A crash here is an everyday verdict: no core files.
pub fn no_core_files() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
}

/// On SIGTERM, SIGINT and SIGHUP: ends every child's group, then this process, by that signal.
pub fn end_children_on_signals() -> io::Result<()> {
    on_signals(|signal| {
        let groups = groups();
        groups.iter().copied().for_each(end_group);
        // Still holding the lock: no child can be started any more.
        let _ = signal_hook::low_level::emulate_default_handler(signal);
        drop(groups);
    })
}

/// Ends every child's group, then this process, quietly.
pub fn end_children_and_exit() -> ! {
    let groups = groups();
    groups.iter().copied().for_each(end_group);
    // Still holding the lock: no child can be started any more.
    std::process::exit(0)
}

/// On SIGTERM, SIGINT and SIGHUP: ends this process's whole group.
pub fn end_own_group_on_signals() -> io::Result<()> {
    on_signals(|_| end_group(getpid()))
}

fn on_signals(mut act: impl FnMut(i32) + Send + 'static) -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            act(signal);
        }
    })?;
    Ok(())
}

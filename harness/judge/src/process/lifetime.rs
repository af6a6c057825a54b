//! Which process ends with which, so that nothing is left running.
//!
//! The judge starts each child as the leader of a process group and ends a child by killing its group, because the host compiler
//! has children too. If the judge dies, even by SIGKILL, the Linux kernel sends its children the signal that they asked for: the
//! worker SIGKILL, because it may hang, and the compiler SIGTERM, on which it kills its own group.

use crate::sync::lock;
use rustix::process::{Pid, Signal, getpid, getppid, kill_process_group, set_parent_process_death_signal};
use std::io;
use std::sync::{Mutex, MutexGuard};

/// The groups to kill when this process is told to end.
static GROUPS: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// Locks the list of the children's groups.
///
/// The lock is held while a child is started or reaped, so that a signal handler finds every child, and no process that reuses the
/// id of a child.
pub fn groups() -> MutexGuard<'static, Vec<Pid>> {
    lock(&GROUPS)
}

/// Kills a group of processes. Does nothing if it has ended already.
pub fn kill_group(leader: Pid) {
    let _ = kill_process_group(leader, Signal::KILL);
}

/// Asks for `signal` when the parent dies. Linux means the parent's *thread*: a child must be started from a thread that lives as
/// long as the child.
pub fn die_with_parent(signal: Signal) -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(signal))?)
}

/// Returns whether `parent` is still the parent. It may have died before [`die_with_parent`] was called.
pub fn parent_is(parent: i32) -> bool {
    getppid().map(Pid::as_raw_pid) == Some(parent)
}

/// Switches core files off: a crash of a kernel is an ordinary verdict. If that fails, a crash leaves a core file.
pub fn no_core_files() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
}

/// On SIGTERM, SIGINT and SIGHUP: kills every child's group, then ends this process by that signal.
pub fn kill_children_on_signals() -> io::Result<()> {
    on_signals(|signal| {
        let groups = groups();
        groups.iter().copied().for_each(kill_group);
        // The lock is still held, so no child can be started any more. The call returns only for an unknown signal.
        let _ = signal_hook::low_level::emulate_default_handler(signal);
        drop(groups);
    })
}

/// Kills every child's group, then exits with code 0.
pub fn kill_children_and_exit() -> ! {
    let groups = groups();
    groups.iter().copied().for_each(kill_group);
    // The lock is still held, so no child can be started any more.
    std::process::exit(0)
}

/// On SIGTERM, SIGINT and SIGHUP: kills this process's whole group, itself included.
pub fn kill_own_group_on_signals() -> io::Result<()> {
    on_signals(|_| kill_group(getpid()))
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

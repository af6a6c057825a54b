//! Which process ends with which, so that nothing is left running.
//!
//! Each child leads a process group of its own ([`crate::child_group`]). If its parent dies, even
//! by SIGKILL, the Linux kernel sends it the signal that it asked for. A process that must also end
//! its own children asks for a signal that it can handle, and kills their groups or its own.

use crate::child_group;
use crate::descendants;
use crate::open_files::is_of_descriptors;
use crate::threads;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, getpid, getppid, getrlimit, kill_process_group,
    set_parent_process_death_signal, setrlimit,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fs::File;
use std::io;
use std::thread;
use std::time::Duration;

/// The signals by which a user or the system ends a process.
pub const TERMINATION: [i32; 3] = [SIGTERM, SIGINT, SIGHUP];

/// Asks for `signal` when the parent dies. Linux means the parent's *thread*: a child must be
/// started from a thread that lives as long as the child.
pub fn die_with_parent(signal: Signal) -> io::Result<()> {
    Ok(set_parent_process_death_signal(Some(signal))?)
}

/// Returns whether `parent` is still the parent. It may have died before [`die_with_parent`] was
/// called.
pub fn parent_is(parent: i32) -> bool {
    getppid().map(Pid::as_raw_pid) == Some(parent)
}

/// Limits this process, and those that it starts from now on, to at most this much of a resource. A
/// limit that is lower already stays. If Linux refuses, the limit stays as it was.
pub fn limit(resource: Resource, most: u64) {
    let known = getrlimit(resource);
    let lower = |limit: Option<u64>| Some(limit.map_or(most, |limit| limit.min(most)));
    let lowered = Rlimit {
        current: lower(known.current),
        maximum: lower(known.maximum),
    };
    let _ = setrlimit(resource, lowered);
}

/// As many files more are opened at once to ask Linux for a sandbox.
const SPARE: usize = 4;

/// Says that this process may open no further files, and what to do; `None` where it may.
pub fn few_descriptors() -> Option<String> {
    let opened: io::Result<Vec<File>> = (0..SPARE).map(|_| File::open("/dev/null")).collect();
    let error = opened.err()?;
    let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    is_of_descriptors(&error).then(|| {
        format!(
            "this process may open {most} files, which are too few: raise the limit (`ulimit -n`), then try again ({error})"
        )
    })
}

/// Switches core files off: kernels crash often. If that fails, a crash leaves a core file.
pub fn no_core_files() {
    limit(Resource::Core, 0);
}

/// Calls `act` on another thread for each of these signals. The signals lose their default effect.
pub fn on_signals(signals: &[i32], mut act: impl FnMut(i32) + Send + 'static) -> io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new(signals)?;
    threads::start("signals", move || {
        for signal in signals.forever() {
            act(signal);
        }
    })?;
    Ok(())
}

/// How long the last work of a process may take once a signal has told it to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// On [`TERMINATION`]: calls `act`, which makes the process end, and sees to it that it does
/// ([`end_soon`]).
pub fn end_on_signals(mut act: impl FnMut(i32) + Send + 'static) -> io::Result<()> {
    on_signals(&TERMINATION, move |signal| {
        act(signal);
        end_soon(signal);
    })
}

/// Ends this process by the signal if it has not ended by itself within ten seconds: work may never
/// end, as where a file system does not answer. The next lab completes a decision that is cut off.
pub fn end_soon(signal: i32) {
    let end = move || {
        thread::sleep(PATIENCE);
        signal_hook::low_level::emulate_default_handler(signal)
    };
    if threads::start("end", end).is_err() {
        let _ = end();
    }
}

/// On [`TERMINATION`]: kills every child's group, calls `last`, then ends this process by that
/// signal.
pub fn kill_children_on_signals(last: fn()) -> io::Result<()> {
    on_signals(&TERMINATION, move |signal| {
        child_group::kill_all_and(|| {
            last();
            // The call returns only for an unknown signal.
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        });
    })
}

/// On [`TERMINATION`]: kills every process below this one, then ends this process by that signal. For
/// children that stay in this process's group, as one that asks at the terminal must.
pub fn kill_own_on_signals() -> io::Result<()> {
    on_signals(&TERMINATION, |signal| {
        descendants::kill_own();
        let _ = signal_hook::low_level::emulate_default_handler(signal);
    })
}

/// Kills every child's group, calls `last`, then exits with code 0.
pub fn kill_children_and_exit(last: fn()) -> ! {
    child_group::kill_all_and(|| {
        last();
        std::process::exit(0)
    });
    std::process::exit(0)
}

/// On [`TERMINATION`]: kills this process's whole group, itself included.
pub fn kill_own_group_on_signals() -> io::Result<()> {
    on_signals(&TERMINATION, |_| kill_own_group())
}

/// Kills the group that this process leads, itself included.
pub fn kill_own_group() {
    let _ = kill_process_group(getpid(), Signal::KILL);
}

//! `lab supervise`, a hidden subcommand: the parent of an external harness. It ends the harness and
//! all its children when the lab ends, also if SIGKILL ends the lab.
//!
//! The supervisor leads the process group. When the lab's thread that started it is gone, the
//! kernel sends it a signal, and it ends its whole group, itself included. `setsid` takes a process
//! out of the group. When its parent ends, it becomes a child of the supervisor, which ends it too.

use lab_system::{descendants, lifetime};
use rustix::process::{Pid, Signal};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

/// Runs `sh -c command` and exits as it does; 128 + signal where a signal ended it.
pub fn main(parent: i32, command: &str) -> std::io::Result<u8> {
    let parent_ended = Signal::USR2;
    lifetime::on_signals(
        &[parent_ended.as_raw(), Signal::TERM.as_raw()],
        move |signal| {
            // At the time limit SIGTERM goes to the whole group. The harness may end in its own
            // way, and this process waits for its exit.
            if signal == parent_ended.as_raw() {
                descendants::kill_own();
                lifetime::kill_own_group();
            }
        },
    )?;
    descendants::adopt_orphans()?;
    lifetime::die_with_parent(parent_ended)?;
    // The lab may have ended before the death signal was set.
    if !lifetime::parent_is(parent) {
        lifetime::kill_own_group();
    }
    lifetime::no_core_files();
    let shell = Command::new("sh").arg("-c").arg(command).spawn()?;
    let status = descendants::reap_until(Pid::from_child(&shell))?;
    descendants::kill_own();
    let signal = || status.signal().unwrap_or(0);
    let code = status.code().unwrap_or_else(|| 128 + signal());
    Ok(u8::try_from(code).unwrap_or(u8::MAX))
}

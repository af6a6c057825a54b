//! `lab supervise`, a hidden subcommand: the parent of an external harness. It ends the harness and all its children when
//! the lab ends, also where the lab is killed by SIGKILL.
//!
//! The supervisor leads the process group. When the lab's thread that started it is gone, the kernel sends it a signal, and
//! it ends its whole group, itself included.

use rustix::process::{
    Pid, Resource, Rlimit, Signal, getpid, getppid, kill_process_group, set_parent_process_death_signal,
    setrlimit,
};
use signal_hook::consts::{SIGTERM, SIGUSR2};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

/// Runs `sh -c command` and exits as it does; 128 + signal where a signal ended it.
pub fn main(parent: i32, command: &str) -> std::io::Result<u8> {
    let mut signals = signal_hook::iterator::Signals::new([SIGUSR2, SIGTERM])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            // At the time limit SIGTERM goes to the whole group. The harness may end in its own way, and this process
            // waits for its exit.
            if signal == SIGUSR2 {
                let _ = kill_process_group(getpid(), Signal::KILL);
            }
        }
    })?;
    set_parent_process_death_signal(Some(Signal::USR2))?;
    // The lab may have ended before the death signal was set.
    if getppid().map(Pid::as_raw_pid) != Some(parent) {
        let _ = kill_process_group(getpid(), Signal::KILL);
    }
    // Kernels crash often: write no core files.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let status = Command::new("sh").arg("-c").arg(command).status()?;
    let signal = || status.signal().unwrap_or(0);
    let code = status.code().unwrap_or_else(|| 128 + signal());
    Ok(u8::try_from(code).unwrap_or(u8::MAX))
}

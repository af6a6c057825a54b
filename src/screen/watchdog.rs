//! Restores the terminal if the screen is killed by SIGKILL or for lack of memory and cannot do it.
//! A small shell waits on a pipe that nobody writes to. The kernel closes the pipe when this
//! process ends, and the shell then restores the modes. Without `sh` or `stty` the screen runs
//! without this help.
//!
//! The shell inherits the open terminal. If this process leads its session, as with
//! `ssh -t host lab`, the session loses its terminal with it, and `/dev/tty` can no longer be
//! opened.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// `$1` holds the modes from before; the terminal is stdout and, for `stty`, stderr. A shell that
/// already has its terminal back has set its own modes, which stay. Only while output is raw are
/// the modes still the screen's.
const SCRIPT: &str = r#"
trap '' HUP INT TERM TTOU
read -r nothing
case $(stty -a <&2 2>/dev/null) in
    *-opost*) stty "$1" <&2 2>/dev/null ;;
esac
printf '\033[?2026l\033[?1006l\033[?1002l\033[?1000l\033[?1004l\033[?2004l\033[?1049l\033[?25h'
"#;

/// The name in a list of processes.
const NAME: &str = "lab-terminal-watchdog";

pub struct Watchdog {
    /// `None` where it could not be started.
    shell: Option<Child>,
}

impl Watchdog {
    /// Call this while the terminal still has the modes to be restored.
    pub fn start() -> Self {
        Watchdog {
            shell: Watchdog::spawn().ok(),
        }
    }

    #[allow(
        clippy::disallowed_methods,
        reason = "the shell writes sequences of its own to the terminal"
    )]
    fn spawn() -> io::Result<Child> {
        let modes = Command::new("stty")
            .arg("-g")
            .stdin(Stdio::inherit())
            .stderr(Stdio::null())
            .output()?;
        let modes = String::from_utf8_lossy(&modes.stdout).trim().to_owned();
        if modes.is_empty() {
            return Err(io::Error::other("stty does not know this terminal"));
        }
        let terminal = rustix::stdio::stdout().try_clone_to_owned()?;
        // In a process group of its own, so that signals to the screen's group do not reach it.
        // Pipes of the standard library are closed on exec, so no other child holds this one open.
        Command::new("sh")
            .args(["-c", SCRIPT, NAME, &modes])
            .stdin(Stdio::piped())
            .stdout(terminal)
            .stderr(rustix::stdio::stdin().try_clone_to_owned()?)
            .process_group(0)
            .spawn()
    }
}

impl Drop for Watchdog {
    /// Ends the shell before its pipe closes: there is nothing to restore.
    fn drop(&mut self) {
        if let Some(shell) = &mut self.shell {
            let _ = shell.kill();
            let _ = shell.wait();
        }
    }
}

//! Gives the terminal back where the screen was ended so that it could not: by SIGKILL, or for want
//! of memory. A small shell waits at the end of a pipe that nobody writes to; it closes with this
//! process, however that ends. Where `sh` or `stty` is missing the screen does without.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// `$1` is how the terminal was. A shell that has its terminal back already has set its own modes,
/// and those stand: only while output is raw are they still the screen's.
const SCRIPT: &str = r#"
trap '' HUP INT TERM TTOU
read -r nothing
case $(stty -a </dev/tty) in
    *-opost*) stty "$1" </dev/tty ;;
esac
printf '\033[?2026l\033[?1006l\033[?1002l\033[?1000l\033[?1004l\033[?2004l\033[?1049l\033[?25h' >/dev/tty
"#;

/// The name that a list of processes shows.
const NAME: &str = "lab-terminal-watchdog";

pub struct Watchdog {
    shell: Child,
}

impl Watchdog {
    /// To be called while the terminal still has the modes that it is to have again.
    pub fn start() -> io::Result<Self> {
        let modes = Command::new("stty").arg("-g").stdin(Stdio::inherit()).stderr(Stdio::null()).output()?;
        let modes = String::from_utf8_lossy(&modes.stdout).trim().to_owned();
        if modes.is_empty() {
            return Err(io::Error::other("stty does not know this terminal"));
        }
        // A group of its own: what is sent to the screen's group is not for it. Every pipe of the
        // standard library is closed on exec, so that no other child holds this one open.
        let shell = Command::new("sh")
            .args(["-c", SCRIPT, NAME, &modes])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        Ok(Watchdog { shell })
    }
}

impl Drop for Watchdog {
    /// Before its pipe closes: it has nothing to do.
    fn drop(&mut self) {
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

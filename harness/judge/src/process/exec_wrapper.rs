//! A worker that runs under another program, such as compute-sanitizer.
//!
//! The judge starts it like every worker. The worker asks to die with the judge and then becomes
//! that program by `exec`; the program starts the worker again as its child. So the end of the
//! judge ends the tool, and the end of the tool ends the worker.

use lab_system::lifetime;
use rustix::process::Signal;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::process::Command;

const VARIABLE: &str = "LAB_WORKER_UNDER";

/// Returns the environment variable that makes a worker run under `command`: program and arguments,
/// separated by line breaks, which no word contains.
pub fn wrap(command: &[OsString]) -> (OsString, OsString) {
    (VARIABLE.into(), command.join(OsStr::new("\n")))
}

/// Becomes the program that this worker is to run under. Returns `Ok` if there is none, and an
/// error with the program's path if the program cannot be started.
pub fn exec_if_asked() -> io::Result<()> {
    let Some(asked) = std::env::var_os(VARIABLE).filter(|asked| !asked.is_empty()) else {
        return Ok(());
    };
    lifetime::die_with_parent(Signal::KILL)?;
    let mut words = asked
        .as_bytes()
        .split(|byte| *byte == b'\n')
        .map(|word| OsString::from_vec(word.to_vec()));
    let program = words.next().unwrap_or_default();
    let mut command = Command::new(&program);
    command
        .args(words)
        .arg(std::env::current_exe()?)
        .args(std::env::args_os().skip(1));
    let error = command.env_remove(VARIABLE).exec();
    Err(io::Error::new(
        error.kind(),
        format!("{} cannot be started: {error}", program.display()),
    ))
}

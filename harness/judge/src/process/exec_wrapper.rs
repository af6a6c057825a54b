//! A worker that runs under another program: it is started as every worker is, asks to die with the judge, and then becomes that
//! program, which starts the worker anew. So the judge's death ends the tool, and the tool's the worker.

use crate::process::lifetime;
use rustix::process::Signal;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::process::Command;

const VARIABLE: &str = "LAB_WORKER_UNDER";

/// The variable that makes a worker run under `command`: program and arguments, as no word holds a line break.
pub fn wrap(command: &[OsString]) -> (OsString, OsString) {
    (VARIABLE.into(), command.join(OsStr::new("\n")))
}

/// Becomes the program that this worker is to run under, where there is one. Returns where there is none.
pub fn exec_if_asked() -> io::Result<()> {
    let Some(asked) = std::env::var_os(VARIABLE).filter(|asked| !asked.is_empty()) else { return Ok(()) };
    lifetime::die_with_parent(Signal::KILL)?;
    let mut words =
        asked.as_bytes().split(|byte| *byte == b'\n').map(|word| OsString::from_vec(word.to_vec()));
    let program = words.next().unwrap_or_default();
    let mut command = Command::new(&program);
    command.args(words).arg(std::env::current_exe()?).args(std::env::args_os().skip(1));
    let error = command.env_remove(VARIABLE).exec();
    Err(io::Error::new(error.kind(), format!("{}: {error}", program.display())))
}

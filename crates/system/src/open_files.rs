//! Errors of opening more files than the process or the machine may.

use rustix::io::Errno;
use std::borrow::Cow;
use std::io;

/// Whether a step failed because the process, or the machine, may open no further files.
pub fn is_of_descriptors(error: &io::Error) -> bool {
    let too_many = [Errno::MFILE, Errno::NFILE].map(|errno| Some(errno.raw_os_error()));
    too_many.contains(&error.raw_os_error())
}

/// How the system's message for that begins.
const TOO_MANY: &str = "Too many open files";

/// Adds what to do to a message of [`is_of_descriptors`] that does not say it.
pub fn with_remedy(text: &str) -> Cow<'_, str> {
    match text.contains(TOO_MANY) && !text.contains("ulimit") {
        true => format!("{text}: raise the limit (`ulimit -n`), then try again").into(),
        false => text.into(),
    }
}

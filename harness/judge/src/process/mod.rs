//! The judge's child processes: supervising one ([`child`]), and exchanging requests and answers
//! with one ([`rpc`] over [`framing`]). `lab_system` says which process ends with which.
//!
//! There are three kinds of process, because no single process can be warm, safe and trusted at
//! once:
//! - The [judge](crate::judge) holds the problem, the reference and the comparison. Only the judge
//!   writes result lines.
//! - The [compiler](crate::compiler) builds. It can be killed when a build never ends.
//! - The [worker](crate::worker) holds the device and runs the kernel. It is replaced whenever the
//!   kernel may have damaged it.

pub mod child;
pub mod descriptors;
pub mod exec_wrapper;
pub mod forked;
mod forwarded_stream;
pub mod framing;
pub mod limited;
pub mod limits;
mod output;
pub mod private_folder;
pub mod rpc;

use framing::FrameError;
use lab_protocol::{Exit, console};
use std::process::ExitCode;

/// The exit code of a child that has stopped serving: success if its judge is gone, [`Exit::Usage`]
/// with a message on stderr if it was started without a judge.
pub fn child_exit(name: &str, served: Result<(), FrameError>) -> ExitCode {
    match served {
        Ok(()) | Err(FrameError::Closed) => ExitCode::SUCCESS,
        Err(error) => {
            console::complain(
                "lab",
                &format!("{name} is started by `lab harness`, not by hand: {error}"),
            );
            ExitCode::from(Exit::Usage as u8)
        }
    }
}

//! Child processes of the judge: starting one and reaping it ([`child`]), speaking to it ([`rpc`] over [`framing`]), and
//! making sure that none outlives what started it ([`lifetime`]).
//!
//! One process cannot be warm, safe and honest at once. The [judge](crate::judge) holds problem, reference and comparison
//! and alone writes result lines. The [compiler](crate::compiler) builds and can be killed when a build never ends. The
//! [worker](crate::worker) holds the device, runs the kernel, and is replaced whenever it is not provably clean.

pub mod child;
pub mod exec_wrapper;
pub mod framing;
pub mod lifetime;
mod output;
pub mod rpc;

use framing::FrameError;
use lab_protocol::Exit;
use std::process::ExitCode;

/// The exit code of a child whose judge is gone, or that a person started by hand.
pub fn child_exit(name: &str, served: Result<(), FrameError>) -> ExitCode {
    match served {
        Ok(()) | Err(FrameError::Closed) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name} is started by `lab harness`, not by hand: {error}");
            ExitCode::from(Exit::Usage as u8)
        }
    }
}

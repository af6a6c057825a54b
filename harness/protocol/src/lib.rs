//! What the processes of the lab tell each other: the result lines of run.log ([`report`]), the exit codes of a run
//! ([`Exit`]), the device a run asks for ([`Target`]), the tools of `lab check` ([`Tool`]), and a GPU's state
//! ([`telemetry`]).
//!
//! This crate opens no device, starts no process and imports no other crate of the lab.
#![forbid(unsafe_code)]

mod exit;
pub mod report;
mod signal;
mod target;
pub mod telemetry;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod tool;

pub use exit::Exit;
pub use signal::FatalSignal;
pub use target::Target;
pub use tool::{Tool, tool_names};

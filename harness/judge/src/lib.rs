//! Builds a `kernel.cu`, verifies it against an independent reference and measures it, on a CUDA
//! device or on an emulated one, and writes the result lines of [`lab_protocol::report`].
//!
//! From bottom to top: how children of the judge are started and spoken to ([`process`]), the [`worker`] and the
//! [`compiler`] with their clients, what a device can do ([`probe`]), what is computed and when it is right ([`problem`],
//! [`gates`]), statistics of timings ([`measure`]), the device's state over a measurement ([`telemetry`]), the tools of
//! `lab check` ([`check`]), and the [`judge`], which uses all of them and alone writes result lines.
#![forbid(unsafe_code)]

mod atomic_file;
pub mod check;
pub mod compiler;
pub mod device_lock;
pub mod dtype;
pub mod gates;
pub mod judge;
pub mod measure;
mod options;
pub mod outcome;
pub mod probe;
pub mod problem;
pub mod process;
mod sink;
mod sync;
pub mod telemetry;
#[cfg(test)]
mod testing;
pub mod worker;

pub use options::JudgeOptions;

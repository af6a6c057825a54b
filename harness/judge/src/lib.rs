//! The judge: builds a kernel.cu, verifies it against an independent reference and measures it, on
//! a CUDA device or on the emulated cpu device. It writes the result lines of
//! [`lab_protocol::report`].
//!
//! A module uses only modules above it in this table, and modules of its own row:
//!
//! | module | what it is |
//! |---|---|
//! | [`outcome`], [`dtype`] | why a run ends, element types |
//! | [`gates`], [`measure`] | comparing outputs, statistics of times |
//! | [`process`] | child processes: supervising them and exchanging requests with them |
//! | [`compiler`], [`worker`] | the two children, each with its client |
//! | `source_place` | the line of the source that a failed launch belongs to |
//! | [`probe`] | what the device can do, and the bounds that follow |
//! | [`problem`] | what is computed, and when it is right |
//! | `toolkit` | where the programs of the CUDA toolkit are |
//! | [`check`] | the tools of `lab check` |
//! | [`profile`] | what `lab profile` reads of a profiler's report and of an image |
//! | [`telemetry`], [`device_lock`] | the device's state during a measurement, and who may use it |
//! | [`judge`] | one run; uses all of the above and alone writes result lines |
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod cells;
pub mod check;
pub mod compiler;
pub mod device_lock;
pub mod dtype;
pub mod gates;
pub mod judge;
pub mod measure;
pub mod outcome;
mod parallel;
pub mod probe;
pub mod problem;
pub mod process;
pub mod profile;
mod sink;
mod source_place;
pub mod telemetry;
#[cfg(test)]
mod testing;
mod toolkit;
pub mod worker;

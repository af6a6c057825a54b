//! Builds a `kernel.cu`, verifies it against an independent reference and measures it, on a CUDA
//! device or on an emulated one, and says all of it in the lines of [`report`].
//!
//! This crate knows no terminal and no git. The `lab` package reads [`report`]s, starts the [`process`]es, and shows what
//! the devices say of themselves; ARCHITECTURE.md names all that it imports.

pub mod device;
pub mod dtype;
pub mod gates;
pub mod measure;
pub mod probe;
pub mod problem;
pub mod process;
pub mod report;
#[cfg(test)]
mod testing;
pub mod watch;

//! `lab`: a terminal workbench for CUDA kernel experiments. ARCHITECTURE.md shows the crates.
//!
//! This package holds the command line ([`cli`]) and the threads that connect the screen with the
//! core ([`screen`]).
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod ask_python;
pub mod cli;
mod confinement;
pub mod screen;

//! Reads kernels as people publish them, and says what a problem folder for one holds.
//!
//! The crate takes texts and returns texts: it opens no file and runs nothing. What it cannot know
//! it guesses, and says so in a comment beside the guess.
#![forbid(unsafe_code)]

pub mod cuda;
pub mod described;
pub mod flashinfer;
mod names;
mod problem;
mod problem_toml;
mod python;
mod values;
mod yaml;

pub use problem::{NewFile, Problem};

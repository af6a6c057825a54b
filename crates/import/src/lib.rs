//! Reads kernels as people publish them, and says what a problem folder for one holds.
//!
//! The crate takes texts and returns texts: it opens no file and runs nothing. What it cannot know
//! it guesses, and says so in a comment beside the guess.
#![forbid(unsafe_code)]

pub mod cuda;
pub mod flashinfer;
mod names;
mod values;

/// A file of a new problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// Its name in the problem's folder.
    pub name: &'static str,
    pub text: String,
}

/// A problem for a published kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The name of the kernel function in kernel.cu.
    pub entry: String,
    pub files: Vec<NewFile>,
    /// What is a guess, and what was left out.
    pub notes: Vec<String>,
    /// reference.cu has still to be written.
    pub lacks_reference: bool,
}

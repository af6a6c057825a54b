//! Text that people read: log lines made safe for a screen, numbers, names of signals, words for a
//! shell, and messages.
#![forbid(unsafe_code)]
// Tests make the files of strangers.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod age;
pub mod axis;
pub mod figures;
pub mod glob;
pub mod json;
pub mod line_ends;
mod listed;
pub mod sanitise;
pub mod shell;
pub mod signal;
pub mod suggest;
pub mod toml_error;

pub use listed::listed;

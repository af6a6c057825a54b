//! The data that the processes of the lab exchange.
//!
//! | item | what it is |
//! |---|---|
//! | [`CompileOptions`] | the compiler options that a lab.toml may give |
//! | [`report`] | the result lines of run.log, with a reader and a writer |
//! | [`JudgeRequest`] | what a judge is asked to do |
//! | [`plan`] | how long to measure |
//! | [`Exit`] | the exit codes of a run |
//! | [`Language`] | the language of a kernel or a reference |
//! | [`Target`] | the device that a run asks for |
//! | [`profile`] | the profile of one launch, as in profile.json |
//! | [`Tool`] | the tools of `lab check` |
//! | [`When`] | the occasion at which a workload is judged |
//! | [`telemetry`] | the state of a GPU at one moment |
//! | [`ascii`] | the signs of text in ASCII |
//! | [`console`] | the one writer for stdout and stderr |
//! | [`text`] | the characters of text from outside that a terminal may get |
//! | [`FatalSignal`] | the names of the signals that end a process |
//!
//! This crate opens no device, starts no process and uses no other crate of the lab.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod ascii;
mod compile_options;
pub mod console;
mod exit;
mod language;
pub mod plan;
pub mod profile;
pub mod report;
mod request;
mod signal;
mod target;
pub mod telemetry;
pub mod text;
mod tool;
mod when;

pub use compile_options::{CompileOptions, RefusedOption};
pub use exit::Exit;
pub use language::Language;
pub use request::{ENOUGH, EXIT, JudgeKind, JudgeRequest, ProfileRequest, Program};
pub use signal::{FatalSignal, is_from_outside};
pub use target::Target;
pub use tool::{Tool, tool_names};
pub use when::When;

//! The judge with its real children, from the text of a kernel.cu to the text of a run.log.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a developer reads its output"
)]
#![allow(clippy::unwrap_used)]

mod behind_the_end;
mod bench;
mod check;
mod declared;
mod delayed;
mod doubled;
mod faults;
mod grid;
mod indexed;
mod matched;
mod numbers;
mod objectives;
mod peers;
mod planted;
mod problems;
mod profile;
mod ragged;
mod rmsnorm;
mod support;
mod targets;
mod toy;
mod types;
mod unwatched;
mod unwritten;
mod views;
mod wavegru;
mod when;
mod workspace;

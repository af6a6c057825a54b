//! The real binary in a real pseudo terminal: what only a terminal shows. Every wait is for a text
//! or an event, with a watchdog; none is for a fixed time.

#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod actions;
mod bench;
mod commands;
mod flows;
mod hands;
mod kernels;
mod loops;
mod profiles;
mod results;
mod rmsnorm;
mod source;
mod standby;
mod stranger;
mod terminal;

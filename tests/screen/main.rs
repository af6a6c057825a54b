//! The whole screen on a terminal that is a buffer: stories in words go through `update`, and the
//! drawn screen is compared. No clock, no disk, no child process.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a developer reads its output"
)]
#![allow(clippy::unwrap_used)]

mod charts;
mod checks;
mod colours;
mod contract;
mod deciding;
mod decisions;
mod device;
mod diffs;
mod elsewhere;
mod first_users;
mod git;
mod hands;
mod keep_or_discard;
mod kernel_engineer;
mod looks;
mod loops;
mod narrow;
mod peers;
mod profile;
mod random;
mod results;
mod rows;
mod second_screen;
mod source;
mod states;
mod stories;
mod sweeps;
mod workloads;
mod world;
mod wrong_cells;

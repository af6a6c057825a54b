//! The loop of `lab auto`: a command edits the kernel, the lab judges and decides by rule, and
//! tells the command what came of it, until a budget is spent or a person ends it.
//!
//! One turn is: the command runs in a work tree of its own, its kernel's bytes are taken, judged,
//! decided and recorded. The file `.lab/auto/KEY/state.json` is replaced before and after each
//! step. A loop that was killed goes on from there: the bytes that were taken are judged once, and
//! a decision that was begun is completed.
#![forbid(unsafe_code)]
// Tests make the files of strangers.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod answer;
mod begin;
mod candidate;
mod command;
mod disk;
mod files;
mod hints;
mod judged_by;
mod lanes;
mod noticed;
mod options;
mod patches;
mod progress;
mod requests;
mod running;
mod state;
mod the_loop;
mod turn;
mod view;
mod waits;

pub use answer::Answer;
pub use begin::start_from;
pub use disk::{DiskUse, disk_use};
pub use files::{is_running, read_state};
pub use lanes::{LaneView, device_name, lanes, open_lane};
pub use options::{Auto, Editor, Ended, Options};
pub use progress::{Best, KeptPoint};
pub use requests::{Request, request, request_everywhere};
pub use state::{
    Budget, CountedRun, Counts, LastTurn, LeftRun, Phase, State, TurnOutcome, VERSION,
};
pub use the_loop::run;
pub use view::{LoopRun, LoopSnapshot, LoopView, OnDisk};

//! `lab sweep`: builds, verifies and measures the points of a kernel's tune lines.
//!
//! A point is the kernel with other values in the places that its tune lines name
//! (`lab_source::tune`), so it has bytes of its own. It is judged as a save is, and the kernel on disk
//! stays as it is. A sweep is a folder `.lab/sweep/N` with what is tried and a record for each point.
//! It decides nothing and has no row in the ledger.
//!
//! | file | what it does |
//! |---|---|
//! | `record` | what is stored of a sweep and of a point |
//! | `store` | the folder, its lock, reading and appending |
//! | `begin` | beginning a sweep, or going on with one |
//! | `session` | the builders and the lanes, until all points are measured or the budget is spent |
//! | `points` | the point that comes next, the records so far, and when a sweep ends |
//! | `builders` | processes that build points ahead, and the queue of these points |
//! | `lane` | one device: the judge of a point, and when a point ends early |
//! | `slurm` | the commands of Slurm |
//! | `task` | what a task of an array judges |
//! | `waiting` | the tasks of an array that are awaited, and how they ended |
//! | `cluster` | sends arrays, and gathers the records of their tasks |
//! | `strategy` | the order of the points |
//! | `summary` | the best points, and what each parameter matters |
#![forbid(unsafe_code)]
// Tests make the files of strangers.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod begin;
mod builders;
mod cluster;
mod lane;
mod points;
pub mod record;
mod session;
pub mod slurm;
pub mod store;
mod strategy;
pub mod summary;
pub mod task;
mod waiting;

pub use begin::{SweepRequest, fingerprint_of, space_of};
pub use points::{Budget, Ended, SweepEvent};
pub use record::{AppliedPoints, PointOutcome, Sweep, SweepId, SweepJobs, SweepPoint, SweepStart};
pub use session::Session;
pub use store::{FOREIGN, SweepStore, SweepView, origin_of};
pub use strategy::Strategy;

//! `lab bench`: several independent runs of one kernel by a fixed discipline, over all workloads.
//!
//! A bench is a folder `.lab/bench/N` with what is measured and a record for each run that has
//! ended. It belongs to bytes, rules and device: only then may it be resumed. It decides nothing
//! and has no row in the ledger.
//!
//! | file | what it does |
//! |---|---|
//! | `record` | what is stored of a bench and of a run |
//! | `store` | the folder, its lock, reading and appending |
//! | `from_report` | what the result lines of a run say about each workload |
//! | `judge` | one run: a judge process, or the user's own harness |
//! | `session` | beginning or resuming a bench, and its runs one after the other |
//! | `summary` | the mean of the runs, their spread, each workload over all runs; a bench in one line |
//! | `comparison` | a bench beside another one |
//! | `export` | CSV, Markdown and Bencher's format |
//! | `remaining` | how long a bench still takes |
#![forbid(unsafe_code)]
// Tests make the files of strangers.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod comparison;
pub mod export;
mod from_report;
mod judge;
pub mod record;
pub mod remaining;
pub mod session;
pub mod store;
pub mod summary;

pub use comparison::Comparison;
pub use lab_protocol::plan::Discipline;
pub use record::{Bench, BenchId, BenchOutcome, BenchPeers, BenchRun, BenchStart, BenchedDevice};
pub use session::{BenchEvent, BenchRequest, BenchState, Ended, Session};
pub use store::BenchStore;
pub use summary::{BenchDigest, Summary, us};

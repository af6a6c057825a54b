//! What the lab keeps of its runs in `.lab/runs`: one folder a run with its record and log, and an
//! index of all runs.
//!
//! [`RunStore`] reads and writes one run. [`RunIndex`] knows a [`RunSummary`] of every run.
//! [`DecisionLock`] lets one process decide at a time and tells the index which records decisions
//! changed.
#![forbid(unsafe_code)]
// Tests make the files of strangers.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod checked;
pub mod decision_lock;
pub mod index;
mod row_kernels;
pub mod run_store;
pub mod series;
pub mod signature;
pub mod summary;

pub use decision_lock::DecisionLock;
pub use index::{Fact, Keys, RunIndex};
pub use row_kernels::{KernelNames, find_kernels_of_rows};
pub use run_store::{INCUMBENT, LOG, RunStore, TREE};
pub use summary::{HeldOutSummary, RunSummary, VerdictSummary};

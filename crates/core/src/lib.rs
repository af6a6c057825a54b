//! The workbench without a screen: projects, runs, records, the ledger, git, decisions, watching
//! and trust.
//!
//! The command line and the screen's threads call this crate. It starts the judge as a child
//! process and reads the judge's run.log; it links only [`lab_protocol`]. It draws nothing and
//! reads no key.
#![forbid(unsafe_code)]
// Tests make the files of strangers.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod auto;
pub mod bench;
pub mod config;
pub mod decide;
pub mod disk;
pub mod history;
pub mod inputs;
pub mod ledger;
pub mod message;
pub mod new_peer;
pub mod objective;
pub mod profile;
pub mod project;
pub mod repo;
pub mod rules;
pub mod run;
pub mod runner;
pub mod status;
pub mod store;
pub mod text;
pub mod watch;

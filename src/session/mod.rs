//! The domain, with no terminal in it: runs, verdicts, records, the ledger, the repository.
//!
//! What the screen and the command line call, by what they want:
//! open a folder ([`project::Project`]) · may its harness run ([`trust`]) · judge the present bytes
//! ([`runner`]) · hear of saves ([`watch`]) · where things stand ([`status`]) · decide
//! ([`decide`]) · what was decided so far ([`history`]) · commits ([`repo`]).

pub mod decide;
pub mod experiment;
pub mod history;
pub mod project;
pub mod record;
pub mod repo;
pub mod run;
pub mod runner;
pub mod sanitise;
pub mod status;
pub mod trust;
pub mod verdict;
pub mod watch;

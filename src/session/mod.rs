//! The domain, with no terminal in it: runs, verdicts, records, the ledger, the repository.
//!
//! What the screen and the command line call, by what they want:
//! open a folder ([`project::Project`]) · may its harness run ([`trust`]) · judge the present bytes
//! ([`runner`], or [`execute`] on the caller's thread) · hear of saves ([`watch`]) · where things
//! stand ([`status`]) · decide ([`decide`]) · what was decided so far ([`history`]) · commits ([`repo`]).

pub mod about;
pub mod auto;
pub mod debounce;
pub mod decide;
mod deciding;
pub mod execute;
pub mod experiment;
pub mod figures;
pub mod follow;
pub mod held_out;
pub mod history;
pub mod inputs;
pub mod ledger;
pub mod message;
pub mod order;
pub mod process;
pub mod project;
pub mod record;
pub mod records;
pub mod repo;
pub mod room;
pub mod run;
pub mod runner;
pub mod sanitise;
pub mod screen_lock;
pub mod shelf;
mod stamp;
pub mod standby;
pub mod status;
pub mod supervise;
mod surroundings;
pub mod trailers;
pub mod trust;
pub mod verdict;
pub mod watch;
pub mod whole;

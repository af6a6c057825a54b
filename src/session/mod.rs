//! The domain, with no terminal in it: runs, verdicts, records, the ledger, the repository.

pub mod experiment;
pub mod run;
pub mod verdict;

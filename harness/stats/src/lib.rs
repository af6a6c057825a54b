//! The statistics of the lab. Pure functions over numbers: no clock, no device, no file.
//!
//! | item | what it is |
//! |---|---|
//! | [`centre`](mod@centre) | the centre of a few numbers, with a 95 % interval |
//! | [`abba`] | two kernels timed in turns, and the ratio of their speeds |
//! | [`aggregate`] | the one figure of several workloads: geometric mean, arithmetic mean or worst |
//! | [`several`] | the verdicts on several workloads, corrected for their number |
//! | [`speed`] | the rule that turns a ratio into *faster*, *slower*, *same* or *undecided* |
//! | [`summary`] | median, spread and interval of a set of times |
//!
//! The built-in harness uses them while it measures. `lab-protocol` uses them for the `turns:`
//! lines of a harness of the user's own. So both follow the same rule.
#![forbid(unsafe_code)]

pub mod abba;
pub mod aggregate;
pub mod centre;
pub mod several;
pub mod speed;
pub mod summary;

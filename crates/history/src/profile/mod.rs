//! What a profile says: its figures by name, the roofline, a digest, and two profiles beside one
//! another. Everything but [`read`] is a pure function over [`lab_protocol::profile::Profile`].
//!
//! A report holds what its chip, its version and its set have. So each figure is an `Option`, and
//! what is missing is left out.

pub mod compare;
pub mod digest;
pub mod facts;
pub mod least;
pub mod lines;
pub mod read;
pub mod roofline;

#[cfg(test)]
mod tests;

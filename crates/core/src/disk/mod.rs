//! Files: whether one changed, and what to say when the disk is full.

pub mod space;
pub mod stamp;

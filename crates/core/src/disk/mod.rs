//! Files: replaced in one step, locked, compared without reading, and what to say when the disk is full.

pub mod atomic;
pub mod lock;
pub mod space;
pub mod stamp;

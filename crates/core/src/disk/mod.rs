//! Files: compared without reading, and what to say when the disk is full.

pub mod space;
pub mod special_files;
pub mod stamp;

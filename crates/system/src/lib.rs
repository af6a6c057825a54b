//! What several crates of the lab need of Linux, each thing once.
//!
//! | module | what it does |
//! |---|---|
//! | [`atomic_file`] | replaces a file in one step |
//! | [`failure`] | says of a failure which file it is about, and what came of it |
//! | [`file_lock`] | locks a file, so that processes wait for each other |
//! | [`temporary`] | creates files and folders under temporary names |
//! | [`leftovers`] | removes those of killed processes |
//! | [`child_group`] | starts a child as the leader of a process group, and ends the whole group |
//! | [`descendants`] | the processes that a process has started |
//! | [`environment`] | which variables reach the processes of a kernel |
//! | [`random`] | random numbers of the operating system |
//! | [`root`] | opens the files of a folder without following links |
//! | [`large_pages`] | lets a program have its memory in large pages |
//! | [`memory`] | how much memory this process may use |
//! | [`space`] | says what to do when the disk is full or may not be written |
//! | [`special_files`] | tells files that block or never end |
//! | [`stamp`] | compares files without reading them |
//! | [`listing`] | lists a folder, also of a faulty disk |
//! | [`threads`] | starts threads, which Linux may refuse |
//! | [`lifetime`] | ends a process with its parent, and its children with a signal |
//!
//! This crate knows nothing of kernels, runs and devices, and uses no other crate of the lab.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods))]

pub mod atomic_file;
pub mod child_group;
pub mod descendants;
pub mod environment;
pub mod failure;
pub mod file_lock;
pub mod large_pages;
pub mod leftovers;
pub mod lifetime;
pub mod listing;
pub mod memory;
pub mod open_files;
pub mod random;
pub mod root;
pub mod space;
pub mod special_files;
pub mod stamp;
pub mod temporary;
pub mod threads;

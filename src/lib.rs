//! `lab`: a terminal workbench for CUDA kernel experiments. See ARCHITECTURE.md for the house.

pub mod cli;
pub mod config;
pub mod session;
pub mod settings;
pub mod tui;

//! The circle without a screen, as a user's stories: text in, text out. Every story has a
//! repository of its own in a temporary folder, with its own home, configuration and identity.
#![allow(clippy::unwrap_used)]

#[path = "../../harness/device/tests/support/headers.rs"]
mod headers;
#[path = "../../harness/device/tests/support/host_header.rs"]
mod host_header;

mod auto;
mod auto_changed_harness;
mod auto_ended_turns;
mod auto_faults;
mod auto_hostile;
mod auto_lanes;
mod auto_loop;
mod auto_repository;
mod auto_rules;
mod auto_two_loops;
mod bad_git;
mod bad_harness;
mod bad_kernel;
mod bad_ledger;
mod bench;
mod beside;
mod beside_a_screen;
mod built_in;
mod check;
mod circle;
mod clean;
mod commits;
mod cut_off;
mod describe;
mod experiments;
mod export;
mod fetch;
mod foreign;
mod git_formats;
mod held_out;
mod hostile;
mod includes;
mod interrupted_builds;
mod json;
mod lab;
mod limits;
mod line_endings;
mod mcp;
mod mcp_gone;
mod mcp_wire;
mod measure;
mod memory;
mod names;
mod new;
mod not_judged;
mod options;
mod own_harness;
mod peers;
mod processes;
mod profile;
mod python;
mod python_kernels;
mod python_setup;
mod rights;
mod rules;
mod runner;
mod sandbox;
mod schema;
mod several;
mod source;
mod standby;
mod stranger;
mod theme;
mod trailers;
mod trust;
mod twice;
mod undo;
mod watch;
mod when;

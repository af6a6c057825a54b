//! `cargo run --release --example make-history -- DIR EXPERIMENTS COMMITS`: a repository with a
//! long history, to measure in. Needs the `git` program.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a developer reads its output"
)]

mod repository;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let numbers = |at: usize| {
        args.get(at)
            .and_then(|n| n.replace('_', "").parse::<usize>().ok())
    };
    let (Some(folder), Some(experiments), Some(commits)) = (args.first(), numbers(1), numbers(2))
    else {
        eprintln!("make-history DIR EXPERIMENTS COMMITS");
        return ExitCode::from(64);
    };
    match repository::make(Path::new(folder), experiments, commits) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("make-history: {error:#}");
            ExitCode::FAILURE
        }
    }
}

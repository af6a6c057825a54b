//! `cargo bench -p lab-report -- EXPERIMENTS [DIR]`: the time and the memory of a report of a
//! repository with a long history, and its size.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a developer reads its output"
)]

#[path = "../../../examples/make-history/repository.rs"]
mod repository;

use anyhow::{Context, Result};
use lab_project::Project;
use std::path::PathBuf;
use std::time::Instant;

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    let experiments = args.next().map_or(Ok(10_000), |n| n.parse())?;
    let temp = tempfile::tempdir()?;
    let folder = args
        .next()
        .map_or_else(|| temp.path().join("repo"), PathBuf::from);
    if !folder.exists() {
        repository::make(&folder, experiments, 1_000)?;
    }
    let project = Project::open(&folder, None).context("the repository that was made")?;
    for _ in 0..3 {
        let began = Instant::now();
        let report = lab_report::html(&project, &[])?;
        let ms = began.elapsed().as_secs_f64() * 1e3;
        println!(
            "{} experiments, {} listed: {:.2} MB in {ms:.0} ms",
            report.experiments,
            report.listed,
            report.text.len() as f64 / 1e6
        );
    }
    println!("at most {} MiB resident", peak_kib()? / 1024);
    Ok(())
}

/// The most memory that this process had (proc(5), status).
fn peak_kib() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next());
    Ok(kib.context("no VmHWM")?.parse()?)
}

//! `cargo bench --bench history -- EXPERIMENTS COMMITS [DIR]`: how long it takes to look at a repository with a long
//! history, in milliseconds: the first time, and again.

#[path = "../examples/make-history/repository.rs"]
mod repository;

use anyhow::{Context, Result};
use lab::session::project::Project;
use lab::session::repo::{self, Marks};
use lab::session::shelf::Shelf;
use lab::session::{history, status};
use std::path::PathBuf;
use std::time::Instant;

/// Measured so often; the median is told.
const TIMES: usize = 5;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let number = |at: usize, otherwise: usize| args.get(at).map_or(Ok(otherwise), |n| n.parse());
    let (experiments, commits) = (number(0, 10_000)?, number(1, 10_000)?);
    let temp = tempfile::tempdir()?;
    let folder = args.get(2).map_or_else(|| temp.path().join("repo"), PathBuf::from);
    if !folder.exists() {
        timed("making it", || repository::make(&folder, experiments, commits))?;
    }
    println!("{experiments} experiments, {commits} commits");
    let project = Project::open(&folder, None).context("the repository that was made")?;
    let index = project.lab_dir.join("runs/index.json");
    let _ = std::fs::remove_file(&index);
    timed("shelf, without an index", || Ok(Shelf::open(&project)))?;

    median("shelf, from the index", || Ok(Shelf::open(&project)))?;
    let mut shelf = Shelf::open(&project);
    median("shelf, again", || {
        shelf.refresh();
        Ok(())
    })?;
    let all = history::look(&project, &mut shelf);
    anyhow::ensure!(all.experiments.len() == experiments && all.problems.is_empty(), "{:?}", all.problems);
    median("history", || Ok(history::look(&project, &mut shelf)))?;
    median("status", || status::look(&project, &shelf))?;
    let marks = Marks::of(&all.experiments);
    median("marks", || Ok(Marks::of(&all.experiments)))?;
    median("log, its first 500", || repo::log_page(&project, &marks, None, 500))?;
    median("graph, its first 500", || repo::Graph::open(&project)?.page(&marks, 500))?;
    let mut graph = repo::Graph::open(&project)?;
    timed("graph, its first 100,000", || graph.page(&marks, 100_000).map(drop))?;
    timed("graph, 500 more", || graph.page(&marks, 500).map(drop))?;
    median("details of a commit", || repo::commit_details(&project, "HEAD", 3))?;
    median("all of it, from nothing", || {
        let mut shelf = Shelf::open(&project);
        let history = history::look(&project, &mut shelf);
        let log = repo::log_page(&project, &Marks::of(&history.experiments), None, 500)?;
        Ok((status::look(&project, &shelf)?, log))
    })
}

fn timed<T>(what: &str, act: impl FnOnce() -> Result<T>) -> Result<T> {
    let began = Instant::now();
    let result = act()?;
    println!("{what:<28} {:>9.2} ms", began.elapsed().as_secs_f64() * 1e3);
    Ok(result)
}

fn median<T>(what: &str, mut act: impl FnMut() -> Result<T>) -> Result<()> {
    let mut times = Vec::new();
    for _ in 0..TIMES {
        let began = Instant::now();
        act()?;
        times.push(began.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    println!("{what:<28} {:>9.2} ms", times[TIMES / 2]);
    Ok(())
}

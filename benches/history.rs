//! `cargo bench --bench history -- EXPERIMENTS COMMITS [DIR]`: the milliseconds for reading a
//! repository with a long history: the first time, and again.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a developer reads its output"
)]

#[path = "../examples/make-history/repository.rs"]
mod repository;

use anyhow::{Context, Result};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use lab::screen::view_loader::PAGE;
use lab_decide::status;
use lab_git::{Marks, Repo};
use lab_history::History;
use lab_project::Project;
use lab_run::experiment::Experiment;
use lab_store::RunIndex;
use lab_tui::effect::Effect;
use lab_tui::event::{Event, UserInput};
use lab_tui::keymap::Key;
use lab_tui::model::Model;
use lab_tui::reply::{GraphPage, Overview, RepositoryReply, ViewReply};
use lab_tui::request::ViewRequest;
use lab_tui::state::Setup;
use lab_tui::theme::Theme;
use lab_tui::update;
use lab_tui::views::View;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The number of measurements; the median is printed.
const TIMES: usize = 5;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let number = |at: usize, otherwise: usize| args.get(at).map_or(Ok(otherwise), |n| n.parse());
    let (experiments, commits) = (number(0, 10_000)?, number(1, 10_000)?);
    let temp = tempfile::tempdir()?;
    let folder = args
        .get(2)
        .map_or_else(|| temp.path().join("repo"), PathBuf::from);
    if !folder.exists() {
        timed("making it", || {
            repository::make(&folder, experiments, commits)
        })?;
    }
    println!("{experiments} experiments, {commits} commits");
    let project = Project::open(&folder, None).context("the repository that was made")?;
    let index = project.lab_dir.join("runs/index.bin");
    let _ = std::fs::remove_file(&index);
    timed("run index, without its file", || {
        Ok(RunIndex::open(&project))
    })?;

    median("run index, from its file", || Ok(RunIndex::open(&project)))?;
    let mut index = RunIndex::open(&project);
    median("index, again", || {
        index.refresh();
        Ok(())
    })?;
    let all = lab_history::look(&Repo::open(&project)?, &mut index);
    anyhow::ensure!(
        all.experiments.len() == experiments && all.problems.is_empty(),
        "{:?}",
        all.problems
    );
    median("history", || {
        Ok(lab_history::look(&Repo::open(&project)?, &mut index))
    })?;
    median("status", || status::look(&Repo::open(&project)?, &index))?;
    let marks = Marks::of(&all.experiments);
    median("marks", || Ok(Marks::of(&all.experiments)))?;
    median("log, its first 500", || {
        lab_git::log_page(&Repo::open(&project)?, &marks, None, 500)
    })?;
    median("graph, its first 500", || {
        lab_git::Graph::open(&Repo::open(&project)?)?.page(&marks, 500)
    })?;
    let mut graph = lab_git::Graph::open(&Repo::open(&project)?)?;
    timed("graph, its first 100,000", || {
        graph.page(&marks, 100_000).map(drop)
    })?;
    timed("graph, 500 more", || graph.page(&marks, 500).map(drop))?;
    to_the_end(&project, all.experiments)?;
    median("details of a commit", || {
        lab_git::commit_details(&Repo::open(&project)?, "HEAD", 3)
    })?;
    median("all of it, from nothing", || {
        let (repo, mut index) = (Repo::open(&project)?, RunIndex::open(&project));
        let history = lab_history::look(&repo, &mut index);
        let log = lab_git::log_page(&repo, &Marks::of(&history.experiments), None, 500)?;
        Ok((status::look(&repo, &index)?, log))
    })
}

/// `G` in the view Git: reads pages until there are no older commits, or the screen holds no more.
fn to_the_end(project: &Project, history: Vec<Experiment>) -> Result<()> {
    let mut model = Model::new(Setup::of(project), Theme::plain(), TimeZone::UTC);
    model.panes.view = View::Git;
    let history = Ok(History {
        experiments: history,
        problems: Vec::new(),
    });
    let facts = Overview {
        at: Timestamp::UNIX_EPOCH,
        stage_times: None,
        status: Err("not looked at".to_owned()),
        history,
        log: Ok(Vec::new()),
    };
    let _ = update(
        &mut model,
        Event::Repository(RepositoryReply::Overview(Box::new(facts))),
        Duration::ZERO,
    );
    let (before, began) = (resident(), Instant::now());
    let mut graph = lab_git::Graph::open(&Repo::open(project)?)?;
    let (mut pages, mut slowest) = (0, Duration::ZERO);
    loop {
        let entries = graph.page(&Marks::of(&[]), PAGE)?;
        let page = GraphPage {
            is_first: pages == 0,
            is_last: entries.len() < PAGE,
            entries,
        };
        let took = Instant::now();
        let mut asked = update(
            &mut model,
            Event::View(ViewReply::Graph(Ok(page))),
            Duration::ZERO,
        )
        .effects;
        slowest = slowest.max(took.elapsed());
        if pages == 0 {
            let end = Key::parse("G").context("a key")?;
            asked = update(
                &mut model,
                Event::Input(UserInput::Key(end.event())),
                Duration::ZERO,
            )
            .effects;
        }
        pages += 1;
        if !asked.contains(&Effect::View(ViewRequest::MoreGraph)) {
            break;
        }
    }
    let (rows, ms) = (
        model.panes.graph.rows.len(),
        began.elapsed().as_secs_f64() * 1e3,
    );
    let memory = resident().saturating_sub(before) as f64 / f64::from(1 << 20);
    let slowest = slowest.as_secs_f64() * 1e3;
    println!(
        "G to {rows} rows: {ms:.0} ms, {memory:.0} MiB, a page of {PAGE} keeps a key waiting {slowest:.2} ms at most"
    );
    Ok(())
}

/// Resident bytes of this process (proc(5), statm).
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|text| text.split_whitespace().nth(1)?.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
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

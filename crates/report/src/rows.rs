//! The table of experiments: a row for each, and a summary of those for which the file has no room.

use crate::workloads::interval;
use askama::Template;
use lab_history::chart_points::ChartPoints;
use lab_history::kernels::{day, marks};
use lab_project::config::Config;
use lab_run::experiment::{Experiment, Status};
use lab_run::verdict::Change;
use lab_text::figures::{count, figure};

/// Characters of a text that a row shows.
const TEXT: usize = 400;

/// Caveats of an experiment that a row shows.
const CAVEATS: usize = 3;

/// Experiments that one row of the summary is about, at most.
const BLOCK: usize = 500;

/// A row of the table.
#[derive(Template)]
#[template(path = "experiment.html")]
pub struct Row<'a> {
    id: String,
    number: usize,
    status: Status,
    figure: String,
    us: String,
    change: String,
    commit: &'a str,
    day: String,
    description: String,
    /// What limits the figures: caveats, foreign, the former name of the kernel.
    notes: Vec<String>,
    /// The diff in this file; empty without one.
    diff: &'a str,
}

/// The experiments before those that are listed.
pub struct Older {
    pub from: usize,
    pub to: usize,
    pub days: String,
    pub kept: usize,
    pub discarded: usize,
    /// The best figure that had been kept by then.
    pub best_kept: String,
}

/// The row of experiment `at` of a chart; `caveats` are those of its record.
pub fn row<'a>(
    e: &'a Experiment,
    (id, at): (&str, usize),
    points: &ChartPoints,
    config: &Config,
    caveats: &[String],
    diff: &'a str,
) -> Row<'a> {
    let caveated = e.measured.caveated && caveats.is_empty();
    let notes = caveats
        .iter()
        .take(CAVEATS)
        .map(|caveat| cut(caveat))
        .chain(
            (caveats.len() > CAVEATS).then(|| format!("{} more caveats", caveats.len() - CAVEATS)),
        )
        .chain(caveated.then(|| "caveats, which its record names".to_owned()))
        .chain(e.renamed_from.iter().map(|from| format!("was {from}")));
    let us = e.row.time().filter(|_| e.counts());
    Row {
        id: format!("{id}-e{}", at + 1),
        number: at + 1,
        status: e.row.status,
        figure: figure_of(e, points, config),
        us: us.map(figure).unwrap_or_default(),
        change: change(e, config),
        commit: &e.row.commit,
        day: day(e).unwrap_or_default(),
        description: cut(&e.row.description),
        notes: notes.collect(),
        diff,
    }
}

/// The change against the incumbent of that time, and whether the two were timed in turns. An
/// emulated time has none.
pub fn change(e: &Experiment, config: &Config) -> String {
    let change = e.measured.change.filter(|_| e.counts() && !e.emulated);
    let in_words = |change: Change| {
        let text = change.in_words(&e.objective(&config.objective), e.goal(config.goal));
        match change.interval {
            Some(_) => text,
            None => format!("{text} vs its record"),
        }
    };
    change.map(in_words).unwrap_or_default()
}

/// The figure with its interval and its marks, in the chart's measure; another measure names its
/// unit.
fn figure_of(e: &Experiment, points: &ChartPoints, config: &Config) -> String {
    let marks = marks(e);
    match (points.figure(e), e.figure()) {
        (Some(value), _) => {
            let is_of_chart = e.measure() == points.measure();
            let shown = e.measured.shown().filter(|_| is_of_chart);
            let shown = shown.map_or_else(|| count(value), |measure| interval(&measure));
            marks + &shown
        }
        (None, Some(value)) => {
            let unit = e.objective(&config.objective);
            format!("{marks}{} {}", count(value), unit.unit())
        }
        (None, None) => String::new(),
    }
}

/// The text, or its beginning with its length.
pub fn cut(text: &str) -> String {
    match text.char_indices().nth(TEXT) {
        Some((at, _)) => format!("{} … ({} characters)", &text[..at], text.chars().count()),
        None => text.to_owned(),
    }
}

/// Summarises the first `count` experiments.
pub fn older(experiments: &[&Experiment], count_of: usize, points: &ChartPoints) -> Vec<Older> {
    let blocks = experiments[..count_of].chunks(BLOCK).enumerate();
    let block = |(at, block): (usize, &[&Experiment])| {
        let from = at * BLOCK;
        let of = |status: &[Status]| {
            let all = block.iter();
            all.filter(|e| status.contains(&e.row.status)).count()
        };
        let days = [block.first(), block.last()].map(|e| e.and_then(|e| day(e)));
        let days = days.map(|day| day.unwrap_or_else(|| "?".to_owned()));
        Older {
            from: from + 1,
            to: from + block.len(),
            days: days.join(" to "),
            kept: of(&[Status::Keep]),
            discarded: of(&[Status::Discard, Status::Crash]),
            best_kept: points
                .best(from + block.len() - 1)
                .map(count)
                .unwrap_or_default(),
        }
    };
    blocks.map(block).collect()
}

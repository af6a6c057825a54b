//! The pane Verdicts: the results of the kernel's newest runs, the newest first.

use crate::prelude::*;
use lab_auto::LoopRun;
use lab_project::config::Goal;
use lab_protocol::report::Speed;
use lab_run::experiment::Status;

/// Columns of a run's number, of its result, and of its change.
const RUN: usize = 6;
const CAME: usize = 10;
const CHANGE: usize = 9;

/// All rows, cut to so many columns.
pub fn rows(data: ScreenData, columns: usize) -> Lines {
    let runs = data.loops.view().into_iter().flat_map(|view| &view.runs);
    runs.map(|run| row(run, data.setup.goal, columns)).collect()
}

fn row(run: &LoopRun, goal: Goal, columns: usize) -> Line<'static> {
    let (sign, came, style) = came(run);
    let change = run.change.map(|change| change.improvement(goal).ratio);
    let change = change.map(format::percent);
    let speed = run.change.and_then(|change| change.speed).map(Speed::word);
    let words = format!(
        "{} {}",
        speed.unwrap_or_default(),
        printable(&run.description)
    );
    let used = 2 + RUN + 1 + CAME + CHANGE + 1;
    let id = pad_left(&run.id.to_string(), RUN);
    let change = pad_left(&change.unwrap_or_default(), CHANGE);
    let words = fit(words.trim(), columns.saturating_sub(used));
    Line::from(vec![
        Span::styled(format!("{sign} "), style),
        Span::raw(format!("{id} ")),
        Span::styled(pad(came, CAME), style),
        Span::raw(format!("{change} {words}")),
    ])
}

/// The sign, the word and the style of a run's result.
fn came(run: &LoopRun) -> (&'static str, &'static str, Style) {
    match (run.status, run.outcome) {
        (Some(status), _) => {
            let word = match status {
                Status::Keep => "kept",
                Status::Discard => "discarded",
                Status::Crash => "crash",
                Status::Rules => "rules",
            };
            (mark(status), word, style::experiment(status))
        }
        (None, Some(outcome)) if outcome.is_verdict() => ("?", "open", WARN),
        (None, Some(outcome)) => (outcome.sign(), "void", QUIET),
        (None, None) => ("◐", "judging", ACCENT),
    }
}

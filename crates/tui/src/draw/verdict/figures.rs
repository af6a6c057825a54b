//! The figures of the verdict: the objective with its unit and aggregate, the change against the
//! incumbent, the fastest peer; and the line below them.

use crate::model::Model;
use crate::prelude::*;
use crate::state::{FinishedRun, peers};
use itertools::Itertools;
use lab_project::objective::Objective;
use lab_protocol::report::{Measure, Speed};
use lab_run::experiment::Status;
use lab_run::verdict::{Change, Figure, Outcome};

/// What a run without a verdict means.
const VOID: &str = "void: the run says nothing about the bytes";

/// What the run in progress has measured so far, with its interval.
pub(super) fn so_far(model: &Model) -> Option<Vec<Span<'static>>> {
    let report = &model.runs.live()?.report;
    let figure = Figure::so_far(report, &model.setup.objective)?;
    let Measure { value, low, high } = figure.measure;
    let (value, ends) = format::measure(value, low.zip(high));
    let ends = ends.map_or_else(String::new, |ends| format!(" {ends}"));
    let mut line = vec![
        "so far  ".quiet(),
        value.strong(),
        format!("{ends} {}", unit_of(&figure)).quiet(),
    ];
    let snapshot = model.repository.snapshot();
    let has_incumbent = snapshot.is_none_or(|snapshot| snapshot.incumbent.is_some());
    let change = Change::in_turns(report, &model.setup.objective).filter(|_| has_incumbent);
    line.extend(change.map(|change| change_span(model, &change)));
    Some(line)
}

/// The figure and its change; of a run that did not pass, the reason.
pub(super) fn figures(model: &Model, last: &FinishedRun) -> Vec<Span<'static>> {
    let verdict = &last.verdict;
    if verdict.outcome != Outcome::Pass {
        return vec![Span::raw(printable(&verdict.why))];
    }
    let mut line = Vec::new();
    match verdict.figure(&model.setup.objective) {
        Some(figure) => {
            let style = if verdict.emulated { QUIET } else { STRONG };
            line.push(Span::styled(format::count(figure.measure.value), style));
            line.push(format!(" {}", unit_of(&figure)).quiet());
            if verdict.emulated {
                line.push(", not a GPU's".quiet());
            }
        }
        None => line.push(format!("no {}", model.setup.objective).warn()),
    }
    if let Some(change) = verdict.change {
        line.push(change_span(model, &change));
        // A kept kernel is the incumbent now; its change is against the one that it replaced.
        let against = match (last.decided == Some(Status::Keep), change.speed) {
            (true, _) => format!(" vs {} before", change.against()),
            // The word for the speed already names the incumbent's side.
            (false, Some(_)) => String::new(),
            (false, None) => format!(" vs {}", change.against()),
        };
        line.push(against.quiet());
    }
    line
}

/// The verdict before a run that gave none, quiet if it is about other bytes than those on disk.
pub(super) fn before_void(model: &Model) -> Option<Vec<Span<'static>>> {
    let runs = &model.runs;
    let is_void = runs
        .last
        .as_ref()
        .is_some_and(|last| !last.verdict.outcome.is_verdict());
    let before = runs
        .before_void
        .as_ref()
        .filter(|_| is_void && runs.is_idle())?;
    let verdict = &before.verdict;
    let is_present =
        matches!(&runs.present, Some(Ok(present)) if before.start.fingerprint == *present);
    let style = match is_present {
        true => style::verdict(verdict.outcome),
        false => QUIET,
    };
    let word = format!("{} {}", verdict.sign(), verdict.word());
    let mut line = vec!["last  ".quiet(), Span::styled(word, style), Span::raw("  ")];
    line.extend(figures(model, before));
    Some(line)
}

/// The verdict before a void run, which workloads are slower, a caveat, or what the verdict rests on.
pub(super) fn third_line(model: &Model) -> Vec<Span<'static>> {
    if let Some(mut before) = before_void(model) {
        before.push(format!("   {VOID}").quiet());
        return before;
    }
    if let Some(text) = qualifies(model) {
        return vec![format!("! {}", printable(&text)).warn()];
    }
    // Beside the figures of the run in progress, those of the last run would be mistaken for its
    // own.
    let last = model.runs.last.as_ref();
    let Some(last) = last.filter(|_| so_far(model).is_none()) else {
        return Vec::new();
    };
    let gates = last.report.gates();
    let good = gates.iter().filter(|g| g.passes()).count();
    let figure = last.verdict.figure(&model.setup.objective);
    let is_figure = figure.is_some_and(|figure| figure.objective == Objective::KernelTime);
    let is_void = last.verdict.outcome == Outcome::Void;
    let parts = [
        beside_peers(model, last),
        is_void.then(|| VOID.to_owned()),
        (!gates.is_empty()).then(|| format!("{good} of {} gates", gates.len())),
        last.verdict
            .kernel_us
            .filter(|_| !is_figure)
            .map(|time| format!("kernel {}", format::us(time))),
        last.seconds
            .map(|time| format!("verdict after {}", format::seconds(time))),
    ];
    let parts = parts.into_iter().flatten().join("   ");
    // During a run these belong to the last verdict, like the line above.
    let indent = if model.runs.is_idle() { "" } else { "      " };
    vec![format!("{indent}{parts}").quiet()]
}

/// Which workloads are slower, or the first caveat.
pub(super) fn qualifies(model: &Model) -> Option<String> {
    let last = model.runs.last.as_ref().filter(|_| model.runs.is_idle());
    let mixed = last.and_then(|last| last.verdict.mixed());
    mixed.or_else(|| model.runs.report()?.caveats().first().cloned())
}

/// The fastest peer, behind the figures.
pub(super) fn peers_behind(model: &Model, last: &FinishedRun) -> Option<Span<'static>> {
    beside_peers(model, last).map(|text| format!("  {text}").quiet())
}

/// How fast a kernel that passed is beside the fastest peer.
fn beside_peers(model: &Model, last: &FinishedRun) -> Option<String> {
    let known =
        peers::of(last, &model.repository).filter(|_| last.verdict.outcome == Outcome::Pass)?;
    let text = known.in_words(model.repository.time_of_day(model.now))?;
    Some(printable(&text))
}

fn change_span(model: &Model, change: &Change) -> Span<'static> {
    let text = format!("  {}", model.setup.in_words(change));
    Span::styled(text, change_style(model, change))
}

pub(super) fn change_style(model: &Model, change: &Change) -> Style {
    let change = change.improvement(model.setup.goal);
    match (change.speed, change.ratio) {
        (Some(Speed::Same), _) | (None, 0.0) => QUIET,
        (Some(Speed::Faster), _) => GOOD,
        (Some(Speed::Slower | Speed::Undecided | Speed::Mixed), _) => WARN,
        (None, ratio) if ratio > 0.0 => GOOD,
        (None, _) => WARN,
    }
}

/// The unit of a figure, as in `sps`, of several workloads with their aggregate:
/// `sps (geometric mean of 54)`.
fn unit_of(figure: &Figure) -> String {
    let unit = printable(figure.objective.heading());
    match figure.aggregate {
        Some(aggregate) => format!("{unit} ({aggregate})"),
        None => unit,
    }
}

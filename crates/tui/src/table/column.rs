//! The columns of the table: what they are called, what they are sorted by.

use super::Facts;
use lab_core::config::Goal;
use lab_core::run::experiment::{Experiment, Status};
use lab_protocol::report::Speed;
use std::cmp::Ordering;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    Commit,
    Status,
    Figure,
    /// Against the incumbent of its time, as its run found.
    Change,
    /// Over the best that was kept before it.
    Best,
    KernelUs,
    Correctness,
    Speed,
    Device,
    When,
    Run,
    Description,
}

/// What a row is sorted by.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    Number(f64),
    Text(&'a str),
}

impl Column {
    /// As they stand side by side.
    pub const ALL: [Column; 12] = [
        Column::Commit,
        Column::Status,
        Column::Figure,
        Column::Change,
        Column::Best,
        Column::KernelUs,
        Column::Correctness,
        Column::Speed,
        Column::Device,
        Column::When,
        Column::Run,
        Column::Description,
    ];

    /// What it is called; the objective gives [`Column::Figure`] its unit.
    pub fn name(self) -> &'static str {
        match self {
            Column::Commit => "commit",
            Column::Status => "status",
            Column::Figure => "figure",
            Column::Change => "vs incumbent",
            Column::Best => "vs best",
            Column::KernelUs => "kernel µs",
            Column::Correctness => "correctness",
            Column::Speed => "speed",
            Column::Device => "device",
            Column::When => "when",
            Column::Run => "run",
            Column::Description => "description",
        }
    }

    /// The one to sort by after this.
    pub fn next(self) -> Column {
        let at = Column::ALL.iter().position(|c| *c == self).unwrap_or(0);
        Column::ALL[(at + 1) % Column::ALL.len()]
    }

    /// Whether the largest is what one looks for first.
    pub fn is_descending(self, goal: Goal) -> bool {
        match self {
            Column::Figure | Column::Change | Column::Best => goal == Goal::Maximize,
            Column::When | Column::Run => true,
            _ => false,
        }
    }

    /// `None` where the experiment has nothing to say here: such rows come last, whichever way it is sorted.
    pub fn value<'a>(self, place: usize, experiment: &'a Experiment, facts: &Facts) -> Option<Value<'a>> {
        let number = |n: f64| Some(Value::Number(n));
        let row = &experiment.row;
        match self {
            Column::Commit => Some(Value::Text(&row.commit)),
            Column::Status => number(match row.status {
                Status::Keep => 0.0,
                Status::Discard => 1.0,
                Status::Crash => 2.0,
            }),
            Column::Figure => experiment.figure().map(Value::Number),
            Column::Change => experiment.measured.change.map(|c| Value::Number(c.ratio)),
            Column::Best => facts.over_best.map(Value::Number),
            Column::KernelUs => Some(row.kernel_us).filter(|us| *us > 0.0).map(Value::Number),
            Column::Correctness => Some(Value::Text(row.correctness.word())),
            Column::Speed => experiment.measured.change.and_then(|c| c.speed).map(|speed| {
                Value::Number(match speed {
                    Speed::Faster => 0.0,
                    Speed::Same => 1.0,
                    Speed::Slower => 2.0,
                })
            }),
            Column::Device => experiment.device.as_deref().map(Value::Text),
            // A row whose time is not known stands after its neighbour in the history.
            Column::When => number(place as f64),
            Column::Run => experiment.run.map(|run| Value::Number(run.0 as f64)),
            Column::Description => Some(Value::Text(&row.description)),
        }
    }
}

pub fn compare(a: &Option<Value>, b: &Option<Value>, descending: bool) -> Ordering {
    let known = match (a, b) {
        (Some(Value::Number(a)), Some(Value::Number(b))) => a.total_cmp(b),
        (Some(Value::Text(a)), Some(Value::Text(b))) => a.cmp(b),
        (Some(_), None) => return Ordering::Less,
        (None, Some(_)) => return Ordering::Greater,
        _ => Ordering::Equal,
    };
    if descending { known.reverse() } else { known }
}

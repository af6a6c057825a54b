//! The columns of the table: their names, and the values that rows are sorted by.

use super::{OverBest, RowFacts};
use crate::text::problem;
use lab_project::config::Goal;
use lab_protocol::report::Speed;
use lab_run::experiment::{Experiment, Status};
use lab_run::peers;
use std::cmp::Ordering;
use strum::{IntoStaticStr, VariantArray};

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum Column {
    Commit,
    Status,
    Figure,
    /// The change against the incumbent of its time, as its run measured it.
    #[strum(serialize = "vs incumbent")]
    Change,
    /// The change against the best that was kept before it, where the two were timed in turns.
    #[strum(serialize = "vs best")]
    Best,
    /// The fastest of the peers that it was timed beside, with the ratio.
    #[strum(serialize = "vs fastest peer")]
    Peer,
    #[strum(serialize = "kernel µs")]
    KernelUs,
    Correctness,
    Speed,
    /// The problem of its kernel: the name of the folder.
    Problem,
    Device,
    When,
    Run,
    Description,
}

/// The value that a row of a table is sorted by.
#[derive(Clone, Debug, PartialEq)]
pub enum SortValue<'a> {
    Number(f64),
    Text(&'a str),
    /// A text whose numbers are compared as numbers: `n=8` comes before `n=16`.
    Numbered(&'a str),
}

impl Column {
    /// All columns, from left to right.
    pub const ALL: &[Column] = Column::VARIANTS;

    /// The name in the table's head. The table adds the objective's unit to [`Column::Figure`].
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The column to the right; after the last column the first.
    #[must_use]
    pub fn next(self) -> Column {
        let at = Column::ALL.iter().position(|c| *c == self).unwrap_or(0);
        Column::ALL[(at + 1) % Column::ALL.len()]
    }

    /// Whether the largest value is the best, or the most interesting one.
    pub fn is_descending(self, goal: Goal) -> bool {
        match self {
            Column::Figure => goal == Goal::Maximize,
            Column::Change | Column::Best | Column::Peer | Column::When | Column::Run => true,
            _ => false,
        }
    }

    /// The value of the experiment at `index` in the history. `None` where the experiment has none:
    /// such rows come last in either order.
    pub fn value<'a>(
        self,
        index: usize,
        experiment: &'a Experiment,
        facts: &RowFacts,
    ) -> Option<SortValue<'a>> {
        use SortValue::{Number, Text};
        let row = &experiment.row;
        let change = facts.change;
        Some(match self {
            Column::Commit => Text(&row.commit),
            Column::Status => Number(match row.status {
                Status::Keep => 0.0,
                Status::Discard => 1.0,
                Status::Crash => 2.0,
                Status::Rules => 3.0,
            }),
            Column::Figure => Number(experiment.figure()?),
            Column::Change => Number(change?.ratio),
            Column::Best => match facts.over_best? {
                OverBest::InTurns(ratio) => Number(ratio),
                OverBest::NotInTurns | OverBest::Unnamed => return None,
            },
            Column::Peer => Number(peers::fastest(&experiment.peers)?.ratio?.value),
            Column::KernelUs => Number(Some(row.kernel_us).filter(|us| *us > 0.0)?),
            Column::Correctness => Text(row.correctness.word()),
            Column::Speed => Number(match change?.speed? {
                Speed::Faster => 0.0,
                Speed::Same => 1.0,
                Speed::Mixed => 2.0,
                Speed::Undecided => 3.0,
                Speed::Slower => 4.0,
            }),
            Column::Problem => Text(problem(experiment.kernel.as_deref()?)),
            Column::Device => Text(experiment.device.as_deref()?),
            // The history is in the order of time, and some rows have no time.
            Column::When => Number(index as f64),
            Column::Run => Number(experiment.run?.0 as f64),
            Column::Description => Text(&row.description),
        })
    }
}

/// Compares two rows; a row without a value comes last in either order.
pub fn compare(a: Option<SortValue>, b: Option<SortValue>, descending: bool) -> Ordering {
    let known = match (a, b) {
        (Some(SortValue::Number(a)), Some(SortValue::Number(b))) => a.total_cmp(&b),
        (Some(SortValue::Text(a)), Some(SortValue::Text(b))) => a.cmp(b),
        (Some(SortValue::Numbered(a)), Some(SortValue::Numbered(b))) => numbered(a, b),
        (Some(_), None) => return Ordering::Less,
        (None, Some(_)) => return Ordering::Greater,
        _ => Ordering::Equal,
    };
    if descending { known.reverse() } else { known }
}

/// Compares texts with the numbers in them as numbers.
fn numbered(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let digits =
            |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (da, db) = (digits(a), digits(b));
        if da > 0 && db > 0 {
            let ((one, rest_a), (other, rest_b)) = (a.split_at(da), b.split_at(db));
            let (plain, plain_other) = (one.trim_start_matches('0'), other.trim_start_matches('0'));
            let order = plain
                .len()
                .cmp(&plain_other.len())
                .then_with(|| plain.cmp(plain_other));
            if order != Ordering::Equal {
                return order;
            }
            (a, b) = (rest_a, rest_b);
            continue;
        }
        let (mut chars_a, mut chars_b) = (a.chars(), b.chars());
        match (chars_a.next(), chars_b.next()) {
            (Some(x), Some(y)) if x == y => (a, b) = (chars_a.as_str(), chars_b.as_str()),
            (x, y) => return x.cmp(&y),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_are_numbers() {
        let sorted = |mut names: Vec<&'static str>| {
            names.sort_by(|a, b| numbered(a, b));
            names.join(", ")
        };
        assert_eq!(
            sorted(vec!["n=16", "n=8", "n=100 k=2", "n=100 k=1", "n=100"]),
            "n=8, n=16, n=100, n=100 k=1, n=100 k=2"
        );
        assert_eq!(
            sorted(vec!["b", "a9", "a10", "", "a09x"]),
            ", a9, a09x, a10, b"
        );
        assert_eq!(
            sorted(vec![
                "n=99999999999999999999999",
                "n=100000000000000000000000"
            ]),
            "n=99999999999999999999999, n=100000000000000000000000"
        );
    }
}

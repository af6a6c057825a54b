//! The columns of the table of workloads: which fit, and what the rows are sorted by.

use super::cells;
use crate::prelude::*;
use crate::table;
use crate::widgets::canvas::{GAP, TableColumn};
use lab_protocol::report::{Speed, Workload};
use std::cmp::Ordering;

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// The words that name the workload.
    Name,
    /// Microseconds of a launch.
    Time,
    /// The ends of the time's interval.
    Interval,
    /// The floor in percent of the time.
    Floor,
    /// The candidate's speed over the incumbent's.
    Ratio,
    /// The ends of the ratio's interval.
    RatioInterval,
    /// The comparison as a bar.
    Heat,
    /// The verdict on the speed.
    Speed,
    /// The incumbent's microseconds.
    Incumbent,
    Gbps,
    Gflops,
}

impl Column {
    /// All columns, from left to right.
    pub const ALL: [Column; 11] = [
        Column::Name,
        Column::Time,
        Column::Interval,
        Column::Floor,
        Column::Ratio,
        Column::RatioInterval,
        Column::Heat,
        Column::Speed,
        Column::Incumbent,
        Column::Gbps,
        Column::Gflops,
    ];

    /// The columns that are shown, the most important first.
    const BY_IMPORTANCE: [Column; 11] = [
        Column::Name,
        Column::Time,
        Column::Speed,
        Column::Ratio,
        Column::Heat,
        Column::Floor,
        Column::RatioInterval,
        Column::Interval,
        Column::Gbps,
        Column::Incumbent,
        Column::Gflops,
    ];

    /// The name in the table's head.
    pub fn name(self) -> &'static str {
        match self {
            Column::Name => "workload",
            Column::Time => "µs",
            Column::Interval => "95 % interval",
            Column::Floor => "% of floor",
            Column::Ratio => "vs incumbent",
            Column::RatioInterval => "its interval",
            Column::Heat => "heat",
            Column::Speed => "speed",
            Column::Incumbent => "incumbent µs",
            Column::Gbps => "GB/s",
            Column::Gflops => "GFLOP/s",
        }
    }

    /// The column to sort by next; `None` after the last one.
    pub fn next(self) -> Option<Column> {
        let at = Column::ALL.iter().position(|c| *c == self)?;
        // Two columns with intervals and the heat are sorted as the column beside them.
        let is_own = |column: &&Column| {
            !matches!(
                column,
                Column::Interval | Column::RatioInterval | Column::Heat
            )
        };
        Column::ALL[at + 1..].iter().find(is_own).copied()
    }

    /// The column is aligned right.
    pub fn is_figure(self) -> bool {
        !matches!(
            self,
            Column::Name | Column::Interval | Column::RatioInterval | Column::Heat | Column::Speed
        )
    }

    /// The number that a row is sorted by; `None` where the workload has none.
    fn number(self, workload: &Workload) -> Option<f64> {
        match self {
            Column::Name => None,
            Column::Time | Column::Interval => workload.us.map(|us| us.value),
            Column::Floor => workload.of_floor,
            Column::Ratio | Column::RatioInterval | Column::Heat => {
                workload.ratio.map(|ratio| ratio.value)
            }
            // The worst first.
            Column::Speed => workload.speed.map(|speed| match speed {
                Speed::Slower => 0.0,
                Speed::Mixed | Speed::Undecided => 1.0,
                Speed::Same => 2.0,
                Speed::Faster => 3.0,
            }),
            Column::Incumbent => workload.incumbent_us,
            Column::Gbps => workload.gbps,
            Column::Gflops => workload.gflops,
        }
    }
}

pub type Sort = table::Sort<Column>;

impl Sort {
    /// By this column, what needs attention first: the longest time, the lowest ratio.
    pub fn by(column: Column) -> Sort {
        Sort {
            column,
            descending: matches!(column, Column::Time | Column::Interval | Column::Incumbent),
        }
    }

    /// Compares two rows; a row without a value comes last in either order.
    pub fn compare(self, a: &Workload, b: &Workload) -> Ordering {
        let known = if self.column == Column::Name {
            natural(&a.name, &b.name)
        } else {
            match (self.column.number(a), self.column.number(b)) {
                (Some(a), Some(b)) => a.total_cmp(&b),
                (Some(_), None) => return Ordering::Less,
                (None, Some(_)) => return Ordering::Greater,
                (None, None) => Ordering::Equal,
            }
        };
        if self.descending {
            known.reverse()
        } else {
            known
        }
    }
}

/// Compares names with the numbers in them as numbers: `n=8` comes before `n=16`.
fn natural(a: &str, b: &str) -> Ordering {
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

/// As many columns as fit into `room` cells. A column in which no workload has a value is left out.
pub fn choose(room: usize, workloads: &[Workload], sort: Option<Sort>) -> Vec<TableColumn<Column>> {
    let wide = |column: Column| {
        let cells = workloads
            .iter()
            .map(|workload| width(&cells::sized(column, workload)));
        let widest = cells.max().unwrap_or(0);
        if widest == 0 {
            0
        } else {
            widest.max(width(column.name()))
        }
    };
    let shown = |column: Column, width| TableColumn {
        column,
        index: Column::ALL.iter().position(|c| *c == column).unwrap_or(0),
        name: column.name().to_owned(),
        width,
        is_figure: column.is_figure(),
        descending: sort
            .filter(|sort| sort.column == column)
            .map(|sort| sort.descending),
    };
    let mut left = room;
    let mut chosen: Vec<TableColumn<Column>> = Vec::new();
    for column in Column::BY_IMPORTANCE {
        let needs = match column {
            Column::Name => wide(column).min((room / 2).max(12)),
            _ => wide(column),
        };
        if needs == 0 {
            continue;
        }
        let gap = if chosen.is_empty() { 0 } else { GAP.len() };
        if needs + gap > left {
            if chosen.is_empty() {
                chosen.push(shown(column, left));
            }
            break;
        }
        left -= needs + gap;
        chosen.push(shown(column, needs));
    }
    chosen.sort_by_key(|column| column.index);
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_are_numbers() {
        let sorted = |mut names: Vec<&'static str>| {
            names.sort_by(|a, b| natural(a, b));
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

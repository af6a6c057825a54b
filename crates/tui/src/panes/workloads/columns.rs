//! The columns of the table of workloads: which fit, and what the rows are sorted by.

use super::cells;
use crate::prelude::*;
use crate::table::{self, SortValue};
use crate::widgets::canvas::{GAP, TableColumn};
use lab_protocol::report::{Speed, Workload};
use strum::VariantArray;

/// A column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray)]
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
    pub const ALL: &[Column] = Column::VARIANTS;

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

    /// The value that a row is sorted by; `None` where the workload has none.
    pub fn value(self, workload: &Workload) -> Option<SortValue<'_>> {
        Some(SortValue::Number(match self {
            Column::Name => return Some(SortValue::Numbered(&workload.name)),
            Column::Time | Column::Interval => workload.us?.value,
            Column::Floor => workload.of_floor?,
            Column::Ratio | Column::RatioInterval | Column::Heat => workload.ratio?.value,
            // The worst first.
            Column::Speed => match workload.speed? {
                Speed::Slower => 0.0,
                Speed::Mixed | Speed::Undecided => 1.0,
                Speed::Same => 2.0,
                Speed::Faster => 3.0,
            },
            Column::Incumbent => workload.incumbent_us?,
            Column::Gbps => workload.gbps?,
            Column::Gflops => workload.gflops?,
        }))
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
}

/// As many columns as fit into `room` cells. A column in which no workload has a value is left out.
pub fn choose(room: usize, workloads: &[Workload], sort: Option<Sort>) -> Vec<TableColumn<Column>> {
    let wide = |column: Column| {
        let cells = workloads
            .iter()
            .map(|workload| cells::sized(column, workload));
        match cells.map(|cell| width(&cell)).max() {
            None | Some(0) => 0,
            Some(widest) => widest.max(width(column.name())),
        }
    };
    let mut left = room;
    let mut chosen: Vec<TableColumn<Column>> = Vec::new();
    for column in Column::BY_IMPORTANCE {
        let mut needs = match column {
            Column::Name => wide(column).min((room / 2).max(12)),
            _ => wide(column),
        };
        if needs == 0 {
            continue;
        }
        let gap = if chosen.is_empty() { 0 } else { GAP.len() };
        if needs + gap > left {
            if !chosen.is_empty() {
                break;
            }
            needs = left;
        }
        left -= needs + gap;
        let sorted = sort.filter(|sort| sort.column == column);
        chosen.push(TableColumn {
            column,
            index: column as usize,
            name: column.name().to_owned(),
            width: needs,
            is_figure: column.is_figure(),
            descending: sorted.map(|sort| sort.descending),
        });
    }
    chosen.sort_by_key(|column| column.index);
    chosen
}

//! The columns that fit, and their widths.

use super::cells::in_short;
use crate::format;
use crate::table::{Column, Table};
use crate::text::{printable, width};
use crate::widgets::table_head::GAP;
use lab_core::objective::Objective;

/// A description that would get narrower than this gives no columns to others …
const DESCRIPTION: usize = 26;

/// … and one narrower than this none to the least important ones.
const SENTENCE: usize = 34;

/// In a narrower table a status is its sign alone.
const NARROW: usize = 50;

#[derive(Clone, Copy, Debug)]
pub struct ShownColumn {
    pub column: Column,
    pub width: usize,
}

/// Columns that are always shown. The description takes the rest of the row.
const FIRST: [Column; 3] = [Column::Commit, Column::Status, Column::Figure];

/// Further columns, the most important first.
const FURTHER: [Column; 10] = [
    Column::Problem,
    Column::Change,
    Column::Best,
    Column::Peer,
    Column::When,
    Column::Speed,
    Column::KernelUs,
    Column::Device,
    Column::Run,
    Column::Correctness,
];

/// As many columns as fit into `room` cells. `device` is the device that was measured on last.
pub fn choose(room: usize, device: Option<&str>, table: &Table) -> Vec<ShownColumn> {
    let device = device.map_or(0, |device| width(in_short(&printable(device))));
    let wide = |column| wide(column, room, device);
    let taken = |column| wide(column) + GAP.len();
    let mut left = room.saturating_sub(FIRST.into_iter().map(taken).sum());
    let mut shown: Vec<Column> = FIRST.to_vec();
    // The problem is told where there are several.
    let is_told = |column: &Column| match column {
        Column::Problem => !table.is_of_one_problem() && table.of_others() > 0,
        column => !table.has_no_values(*column),
    };
    for column in FURTHER.into_iter().filter(is_told) {
        let is_minor = matches!(column, Column::Run | Column::Correctness);
        if left < taken(column) + if is_minor { SENTENCE } else { DESCRIPTION } {
            break;
        }
        left -= taken(column);
        shown.push(column);
    }
    let chosen = Column::ALL.into_iter().filter(|c| shown.contains(c));
    let mut chosen: Vec<ShownColumn> = chosen
        .map(|column| ShownColumn {
            column,
            width: wide(column),
        })
        .collect();
    chosen.push(ShownColumn {
        column: Column::Description,
        width: left,
    });
    chosen
}

fn wide(column: Column, room: usize, device: usize) -> usize {
    match column {
        Column::Commit => 8,
        Column::Status if room < NARROW => 3,
        Column::Status => 11,
        Column::Figure => 10,
        Column::Change => 14,
        Column::Best => 9,
        Column::Peer => 18,
        Column::KernelUs => 10,
        Column::Correctness => 12,
        Column::Speed => 9,
        Column::Problem => 12,
        // A longer name is cut: the description is more important.
        Column::Device => device.clamp(6, 10),
        Column::When => 16,
        Column::Run => 5,
        Column::Description => 0,
    }
}

/// The column is aligned right.
pub fn is_figure(column: Column) -> bool {
    matches!(
        column,
        Column::Figure | Column::Change | Column::Best | Column::KernelUs | Column::Run
    )
}

/// The heading of a column.
pub fn name(column: Column, objective: &Objective) -> String {
    match column {
        Column::Figure => printable(format::unit(objective)).into_owned(),
        _ => column.name().to_owned(),
    }
}

//! The columns that fit, and their widths.

use crate::prelude::*;
use crate::table::{Column, Table};
use crate::widgets::canvas::{GAP, TableColumn};
use crate::widgets::in_short;
use lab_project::objective::Objective;

/// A description that would get narrower than this gives no columns to others …
const DESCRIPTION: usize = 26;

/// … and one narrower than this none to the least important one.
const SENTENCE: usize = 34;

/// In a narrower table a status is its sign alone.
const NARROW: usize = 50;

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
    // Commands name an experiment by it.
    Column::Run,
    Column::Device,
    Column::Correctness,
];

/// As many columns as fit into `room` cells. `device` is the device that was measured on last.
pub fn choose(room: usize, data: ScreenData, table: &Table) -> Vec<TableColumn<Column>> {
    let device = data
        .repository
        .present_device(data.runs.last.as_ref(), data.setup);
    let device = device.and_then(|(device, _)| device);
    let device = device.map_or(0, |device| width(in_short(&printable(device))));
    let wide = |column| wide(column, room, device);
    let taken = |column| wide(column) + GAP.len();
    let mut left = room.saturating_sub(FIRST.into_iter().map(taken).sum());
    let mut shown: Vec<Column> = FIRST.to_vec();
    let objective = data
        .repository
        .comparable()
        .points
        .objective(&data.setup.objective);
    let is_told = |column: &Column| match column {
        // The figure is the time.
        Column::KernelUs if objective == Objective::KernelTime => false,
        Column::Problem => !table.is_of_one_problem() && table.of_others > 0,
        column => !table.empty_columns.contains(column),
    };
    for column in FURTHER.into_iter().filter(is_told) {
        let is_minor = column == Column::Correctness;
        if left < taken(column) + if is_minor { SENTENCE } else { DESCRIPTION } {
            break;
        }
        left -= taken(column);
        shown.push(column);
    }
    shown.push(Column::Description);
    let sort = table.sort;
    let chosen = Column::ALL.iter().copied().enumerate();
    let chosen = chosen.filter(|(_, column)| shown.contains(column));
    let chosen = chosen.map(|(index, column)| TableColumn {
        column,
        index,
        name: name(column, data),
        width: match column {
            Column::Description => left,
            column => wide(column),
        },
        is_figure: is_figure(column),
        descending: (sort.column == column).then_some(sort.descending),
    });
    chosen.collect()
}

fn wide(column: Column, room: usize, device: usize) -> usize {
    match column {
        Column::Commit => 8,
        Column::Status if room < NARROW => 3,
        Column::Status => 11,
        Column::Figure => 10,
        Column::Change => 14,
        Column::Best => 12,
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
fn is_figure(column: Column) -> bool {
    matches!(
        column,
        Column::Figure | Column::Change | Column::Best | Column::KernelUs | Column::Run
    )
}

/// The heading of a column.
pub fn name(column: Column, data: ScreenData) -> String {
    let points = &data.repository.comparable().points;
    match column {
        Column::Figure => {
            let objective = points.objective(&data.setup.objective);
            fit(&printable(objective.heading()), 10)
        }
        _ => column.name().to_owned(),
    }
}

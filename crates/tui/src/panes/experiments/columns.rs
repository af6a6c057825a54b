//! Which columns there is room for, and how wide they are.

use super::super::super::app::App;
use super::super::super::format;
use super::super::super::table::Column;
use super::super::super::text::{printable, width};
use super::cells::in_short;

/// Between two columns.
pub const GAP: &str = "  ";

/// A description of fewer columns than this makes way for no further column …
const DESCRIPTION: usize = 26;

/// … and one of fewer than this for none that says least.
const SENTENCE: usize = 34;

/// Below this a status is its sign alone.
const NARROW: usize = 50;

#[derive(Clone, Copy, Debug)]
pub struct Shown {
    pub column: Column,
    pub width: usize,
}

/// Always there, beside the description that takes what is left.
const FIRST: [Column; 3] = [Column::Commit, Column::Status, Column::Figure];

/// What comes next, the most telling first.
const FURTHER: [Column; 8] = [
    Column::Change,
    Column::Best,
    Column::When,
    Column::Speed,
    Column::KernelUs,
    Column::Device,
    Column::Run,
    Column::Correctness,
];

/// As many as fit into so many columns of the screen.
pub fn choose(room: usize, app: &App) -> Vec<Shown> {
    let device = app.present_device().and_then(|(device, _)| device);
    let device = device.map_or(0, |device| width(in_short(&printable(device))));
    let wide = |column| wide(column, room, device);
    let taken = |column| wide(column) + GAP.len();
    let mut left = room.saturating_sub(FIRST.into_iter().map(taken).sum());
    let mut shown: Vec<Column> = FIRST.to_vec();
    for column in FURTHER.into_iter().filter(|column| !app.table.is_silent(*column)) {
        let says_least = matches!(column, Column::Run | Column::Correctness);
        if left < taken(column) + if says_least { SENTENCE } else { DESCRIPTION } {
            break;
        }
        left -= taken(column);
        shown.push(column);
    }
    let chosen = Column::ALL.into_iter().filter(|c| shown.contains(c));
    let mut chosen: Vec<Shown> = chosen.map(|column| Shown { column, width: wide(column) }).collect();
    chosen.push(Shown { column: Column::Description, width: left });
    chosen
}

fn wide(column: Column, room: usize, device: usize) -> usize {
    match column {
        Column::Commit => 8,
        Column::Status if room < NARROW => 3,
        Column::Status => 11,
        Column::Figure => 8,
        Column::Change => 14,
        Column::Best => 9,
        Column::KernelUs => 10,
        Column::Correctness => 12,
        Column::Speed => 7,
        // A longer one is cut: the description says more.
        Column::Device => device.clamp(6, 10),
        Column::When => 16,
        Column::Run => 5,
        Column::Description => 0,
    }
}

/// Figures stand under each other at their right ends.
pub fn is_figure(column: Column) -> bool {
    matches!(column, Column::Figure | Column::Change | Column::Best | Column::KernelUs | Column::Run)
}

pub fn name(column: Column, app: &App) -> String {
    match column {
        Column::Figure => printable(format::unit(&app.setup.objective)).into_owned(),
        _ => column.name().to_owned(),
    }
}

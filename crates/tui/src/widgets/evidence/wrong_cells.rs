//! Which cells of an output are wrong, as a picture: a map of the whole tensor, the pattern in words,
//! and the values around the first wrong cell.

use crate::chart::SymbolSet;
use crate::format;
use crate::text::{pad_left, printable, width, wrap};
use crate::theme::style::{BAD, Meaning, QUIET, TEXT, WARN};
use crate::widgets::paragraph::{Lines, hanging};
use lab_protocol::report::Report;
use lab_protocol::report::all_cells::PAGE_SIZE;
use lab_protocol::report::wrong_cells::{TileCell, WrongMap, WrongTile};
use ratatui::style::Stylize;
use ratatui::text::{Line, Span};
use std::ops::Range;

/// Least columns of a value in the tile.
const CELL: usize = 11;

/// `y: 16 of 8,192 cells are wrong: every 32nd column from 31, in every row`, for each tensor.
pub fn summary(report: &Report, columns: usize) -> Lines {
    let tensors = report.wrong_tensors().into_iter();
    let row = |name: &str| Some(head(name, &report.wrong_map(name)?, columns));
    tensors.filter_map(row).flatten().collect()
}

/// The map of a tensor and the values around its first wrong cell; empty if none was recorded.
pub fn lines(report: &Report, tensor: &str, columns: usize, symbols: SymbolSet) -> Lines {
    let Some(map) = report.wrong_map(tensor) else {
        return Vec::new();
    };
    let mut out = heat(tensor, &map, columns, symbols);
    if let Some(tile) = report.wrong_tile(tensor) {
        out.push(Line::default());
        out.extend(values(&tile, columns));
    }
    out
}

fn head(tensor: &str, map: &WrongMap, columns: usize) -> Lines {
    let [rows, wide] = map.shape;
    let count = |n: u64| format::gate(n as f64);
    let all = (rows * wide) as u64;
    // Cells without a pattern are only counted.
    let pattern = match map.pattern == format!("{} of {all} cells", map.wrong) {
        true => String::new(),
        false => format!(": {}", printable(&map.pattern)),
    };
    let text = format!(
        "{}: {} of {} cells are wrong{pattern} ({})",
        printable(tensor),
        count(map.wrong),
        count(all),
        printable(&map.workload)
    );
    let rows = wrap(&text, columns.saturating_sub(2));
    hanging(Span::styled("✗ ", BAD), rows, BAD)
}

/// The sign of a share of wrong cells, in tenths: from none over a few to all or nearly all.
fn level(tenths: u8) -> usize {
    match tenths {
        0 => 0,
        1..=2 => 1,
        3..=5 => 2,
        6..=8 => 3,
        _ => 4,
    }
}

/// The map: the numbers of the rows, and a sign for each block. Rows of blocks that are alike are drawn
/// once. Where the columns do not fit, a sign stands for several blocks, of which the worst counts.
fn heat(tensor: &str, map: &WrongMap, columns: usize, symbols: SymbolSet) -> Lines {
    let ([high, wide], [rows, all]) = (map.block, map.shape);
    let digits = rows.to_string().len();
    let room = columns.saturating_sub(2 * digits + 5).max(1);
    let blocks = map.shares.first().map_or(1, Vec::len);
    let stretch = blocks.div_ceil(room).max(1);
    let sign = |level: usize| match level {
        0 => Span::styled(symbols.pick("·", "."), QUIET),
        1 => Span::styled(symbols.pick("░", "+"), WARN),
        2 => Span::styled(symbols.pick("▒", "x"), BAD),
        3 => Span::styled(symbols.pick("▓", "X"), BAD),
        _ => Span::styled(symbols.pick("█", "#"), BAD),
    };
    let levels = |shares: &Vec<u8>| -> Vec<usize> {
        let worst = shares.chunks(stretch).filter_map(|part| part.iter().max());
        worst.map(|share| level(*share)).collect()
    };
    let signs: Vec<Vec<usize>> = map.shares.iter().map(levels).collect();
    let size = format!("{high} × {} cells", wide * stretch);
    let is_merged = signs.windows(2).any(|two| two[0] == two[1]);
    let merged = if is_merged {
        "; equal rows are one line"
    } else {
        ""
    };
    let name = printable(tensor);
    let title = format!("  {name}, {rows} × {all}; a sign is {size}{merged}");
    let title = wrap(title.trim_start(), columns.saturating_sub(2));
    let mut out = hanging(Span::raw("  "), title, QUIET);
    let mut at = 0;
    for alike in signs.chunk_by(|a, b| a == b) {
        let (first, end) = (at * high, ((at + alike.len()) * high).min(rows));
        at += alike.len();
        let numbers = match end - first {
            1 => first.to_string(),
            _ => format!("{first}…{}", end.max(1) - 1),
        };
        let label = pad_left(&numbers, 2 * digits + 1);
        let mut line = Line::from(format!("  {label}  ").quiet());
        line.extend(alike[0].iter().map(|level| sign(*level)));
        out.push(line);
    }
    out
}

/// Lines of a row.
const ROW: usize = 3;

/// The rows and columns of a tile that fit into so many lines and columns.
pub fn fits(tile: &WrongTile, [lines, columns]: [usize; 2]) -> [usize; 2] {
    [
        (lines.saturating_sub(2) / ROW)
            .min(tile.cells.len())
            .min(PAGE_SIZE[0] / 2),
        room(tile, columns)
            .min(tile.columns())
            .min(PAGE_SIZE[1] / 2),
    ]
}

/// The values around a cell of a tensor of this shape, from row and column `top` on, in the rows and
/// columns of the tile that fit, and their place in the tensor.
pub fn around(
    name: &str,
    tile: &WrongTile,
    (shape, cell, top): ([usize; 2], [usize; 2], [usize; 2]),
    fits: [usize; 2],
) -> Lines {
    let marked = [0, 1].map(|axis| cell[axis].saturating_sub(tile.at[axis]));
    let shown = [tile.cells.len(), tile.columns()];
    let shown: [Range<usize>; 2] = std::array::from_fn(|axis| {
        let room = fits[axis].clamp(1, shown[axis].max(1)).min(shown[axis]);
        // The cell is among them: a tile may hold less than what was shown.
        let least = (marked[axis] + 1).saturating_sub(room);
        let first = top[axis].saturating_sub(tile.at[axis]);
        let first = first.clamp(least, marked[axis]);
        let first = first.min(shown[axis] - room);
        first..first + room
    });
    let place = |axis: usize, what: &str| {
        let (first, of) = (tile.at[axis] + shown[axis].start, shape[axis]);
        let last = first + shown[axis].len().max(1) - 1;
        match first == last {
            true => format!("{} {first} of {of}", what.trim_end_matches('s')),
            false => format!("{what} {first}…{last} of {of}"),
        }
    };
    let name = printable(name);
    let title = format!("  {name}, {}, {}", place(0, "rows"), place(1, "columns"));
    let mut out = vec![Line::styled(title, QUIET)];
    out.extend(grid(tile, shown, Some(marked)));
    out
}

/// The rows of the tile that hold a wrong cell, and the columns around the first one.
fn values(tile: &WrongTile, columns: usize) -> Lines {
    let first = tile
        .cells
        .iter()
        .find_map(|row| row.iter().position(|cell| cell.is_wrong));
    let shown = part(tile.columns(), first.unwrap_or(0), room(tile, columns));
    grid(tile, [0..tile.cells.len(), shown], None)
}

/// A part of so many places, of which the place `at` is one.
fn part(all: usize, at: usize, room: usize) -> Range<usize> {
    let room = room.clamp(1, all.max(1)).min(all);
    let first = at.saturating_sub(room / 2).min(all - room);
    first..first + room
}

/// The columns of values that fit.
fn room(tile: &WrongTile, columns: usize) -> usize {
    columns.saturating_sub(label(tile, "", "").len()) / cell_columns(tile)
}

/// Columns of a value in the tile, with a blank before the widest.
fn cell_columns(tile: &WrongTile) -> usize {
    let texts = |cell: &TileCell| {
        let expected = format::gate(cell.expected);
        [got(cell), expected, difference(cell)].map(|text| width(&text) + 1)
    };
    let all = tile.cells.iter().flatten().flat_map(texts);
    all.fold(CELL, usize::max)
}

/// What the kernel wrote, if it wrote the cell; a wrong value has a sign.
fn got(cell: &TileCell) -> String {
    let sign = if cell.is_wrong { "✗" } else { "" };
    let got = cell.got.map_or("unwritten".to_owned(), format::gate);
    format!("{sign}{got}")
}

/// How far a wrong value is from the expected one.
fn difference(cell: &TileCell) -> String {
    let got = cell.got.filter(|_| cell.is_wrong);
    got.map_or_else(String::new, |got| format::gate(got - cell.expected))
}

fn label(tile: &WrongTile, number: &str, name: &str) -> String {
    let digits = (tile.at[0] + tile.cells.len()).to_string().len();
    format!("  {}  {name:<10}", pad_left(number, digits))
}

/// For each of these rows and columns of a tile what the kernel wrote, what was expected, and the
/// difference. Without a `marked` cell a row without a wrong one is left out.
fn grid(tile: &WrongTile, [rows, columns]: [Range<usize>; 2], marked: Option<[usize; 2]>) -> Lines {
    let room = cell_columns(tile);
    let line = |number: &str, name: &str, text: &dyn Fn(usize) -> String| {
        let cells: String = columns
            .clone()
            .map(|at| pad_left(&text(at), room))
            .collect();
        Line::styled(label(tile, number, name) + &cells, QUIET)
    };
    let mut out = vec![line("", "column", &|at| (tile.at[1] + at).to_string())];
    for at in rows {
        let cells = &tile.cells[at];
        if marked.is_none() && !cells.iter().any(|cell| cell.is_wrong) {
            continue;
        }
        let number = (tile.at[0] + at).to_string();
        let mut got = Line::from(label(tile, &number, "got").quiet());
        got.extend(
            columns
                .clone()
                .map(|column| match value(&cells[column], room) {
                    shown if marked == Some([at, column]) => shown.reversed(),
                    shown => shown,
                }),
        );
        out.push(got);
        let expected = |at: usize| format::gate(cells[at].expected);
        out.push(line("", "expected", &expected));
        out.push(line("", "difference", &|at| difference(&cells[at])));
    }
    out
}

fn value(cell: &TileCell, columns: usize) -> Span<'static> {
    let style = if cell.is_wrong { BAD } else { TEXT };
    Span::styled(pad_left(&got(cell), columns), style)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_values_stand_apart() {
        let cell = |got: f64, expected: f64| TileCell {
            got: Some(got),
            expected,
            is_wrong: got != expected,
        };
        let tile = WrongTile {
            at: [40, 500],
            cells: vec![vec![
                cell(15_228.392_6, 997.068_4),
                cell(15_809.399_4, 15_809.399_4),
            ]],
        };
        let cells = ([64, 1024], [40, 500], [40, 500]);
        let lines = around("y", &tile, cells, fits(&tile, [20, 80]));
        let got = lines
            .iter()
            .map(Line::to_string)
            .find(|line| line.contains("got"));
        let got = got.unwrap_or_default();
        let words: Vec<&str> = got.split_whitespace().collect();
        assert_eq!(words, ["40", "got", "✗15,228.3926", "15,809.3994"], "{got}");
    }
}

//! Which cells of an output are wrong, as a picture: a map of the whole tensor, the pattern in words,
//! and the values around the first wrong cell.

use crate::chart::SymbolSet;
use crate::format;
use crate::text::{fit, pad_left, printable, wrap};
use crate::theme::style::{BAD, Meaning, QUIET, TEXT, WARN};
use crate::widgets::paragraph::{Lines, hanging};
use lab_protocol::report::Report;
use lab_protocol::report::wrong_cells::{TileCell, WrongMap, WrongTile};
use ratatui::text::{Line, Span};

/// Columns of a value in the tile.
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
    let text = format!(
        "{}: {} of {} cells are wrong: {} ({})",
        printable(tensor),
        count(map.wrong),
        count((rows * wide) as u64),
        printable(&map.pattern),
        printable(&map.workload)
    );
    let rows = wrap(&text, columns.saturating_sub(2));
    hanging(Span::styled("✗ ", BAD), rows, BAD)
}

/// The map: the numbers of the rows, and a sign for each block. Rows of blocks that are alike are drawn
/// once. Where the columns do not fit, a sign stands for several blocks, of which the worst counts.
fn heat(tensor: &str, map: &WrongMap, columns: usize, symbols: SymbolSet) -> Lines {
    let ([high, wide], [rows, all]) = (map.block, map.shape);
    let digits = rows.to_string().len();
    let room = columns.saturating_sub(2 * digits + 5).max(1);
    let blocks = map.shares.first().map_or(1, Vec::len);
    let stretch = blocks.div_ceil(room).max(1);
    let sign = |share: u8| match share {
        0 => Span::styled(symbols.pick("·", "."), QUIET),
        1..=2 => Span::styled(symbols.pick("░", "+"), WARN),
        3..=6 => Span::styled(symbols.pick("▒", "x"), BAD),
        _ => Span::styled(symbols.pick("█", "#"), BAD),
    };
    let size = format!("{high} × {} cells", wide * stretch);
    let is_merged = map.shares.windows(2).any(|two| two[0] == two[1]);
    let merged = if is_merged {
        "; equal rows are one line"
    } else {
        ""
    };
    let name = printable(tensor);
    let title = format!("  {name}, {rows} × {all}; a sign is {size}{merged}");
    let mut out = vec![Line::styled(fit(&title, columns), QUIET)];
    let mut at = 0;
    for alike in map.shares.chunk_by(|a, b| a == b) {
        let (first, end) = (at * high, ((at + alike.len()) * high).min(rows));
        at += alike.len();
        let numbers = match end - first {
            1 => first.to_string(),
            _ => format!("{first}…{}", end.max(1) - 1),
        };
        let label = pad_left(&numbers, 2 * digits + 1);
        let mut line = Line::from(format!("  {label}  ").quiet());
        let worst = alike[0]
            .chunks(stretch)
            .filter_map(|part| part.iter().max());
        line.extend(worst.map(|share| sign(*share)));
        out.push(line);
    }
    out
}

/// The rows of the tile that hold a wrong cell: got, expected, and their difference.
fn values(tile: &WrongTile, columns: usize) -> Lines {
    let [row, column] = tile.at;
    let digits = (row + tile.cells.len()).to_string().len();
    let label = |text: &str, name: &str| format!("  {}  {name:<10}", pad_left(text, digits));
    let room = columns.saturating_sub(label("", "").len()) / CELL;
    // The first wrong cell is among those that fit.
    let wide = tile.cells.first().map_or(0, Vec::len);
    let first = tile
        .cells
        .iter()
        .find_map(|row| row.iter().position(|cell| cell.is_wrong));
    let left = first
        .unwrap_or(0)
        .saturating_sub(room.max(2) / 2)
        .min(wide.saturating_sub(room));
    let shown = left..wide.min(left + room.max(1));
    let cells = |text: &dyn Fn(usize) -> String| -> String {
        shown.clone().map(|at| pad_left(&text(at), CELL)).collect()
    };
    let numbers = cells(&|at| (column + at).to_string());
    let mut out = vec![Line::styled(label("", "column") + &numbers, QUIET)];
    for (at, cells_of) in tile.cells.iter().enumerate() {
        if !cells_of.iter().any(|cell| cell.is_wrong) {
            continue;
        }
        let number = (row + at).to_string();
        let mut got = Line::from(label(&number, "got").quiet());
        got.extend(cells_of[shown.clone()].iter().map(value));
        let expected = cells(&|at| format::gate(cells_of[at].expected));
        let differs = |cell: &TileCell| match cell.got {
            Some(got) if cell.is_wrong => format::gate(got - cell.expected),
            _ => String::new(),
        };
        let difference = cells(&|at| differs(&cells_of[at]));
        out.push(got);
        out.push(Line::styled(label("", "expected") + &expected, QUIET));
        out.push(Line::styled(label("", "difference") + &difference, QUIET));
    }
    out
}

/// What the kernel wrote, if it wrote the cell; a wrong value has a sign.
fn value(cell: &TileCell) -> Span<'static> {
    let (sign, style) = if cell.is_wrong {
        ("✗", BAD)
    } else {
        ("", TEXT)
    };
    let got = cell.got.map_or("unwritten".to_owned(), format::gate);
    let text = format!("{sign}{got}");
    Span::styled(pad_left(&text, CELL), style)
}

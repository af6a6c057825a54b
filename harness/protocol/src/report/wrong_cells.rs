//! Which cells of an output are wrong: a map of the whole tensor, the pattern in words, and the values
//! around the first one. A tensor has the length of its last dimension as its columns, and all its
//! other dimensions as rows.

use super::{Report, attribute, first_word, number, parsed};
use itertools::Itertools;
use std::fmt;
use std::ops::Range;

const MAP: &str = "_wrong_map";
const TILE: &str = "_wrong_tile";

/// What stands for the value of a cell that the kernel never wrote.
const UNWRITTEN: &str = "-";

/// Where the wrong cells are.
#[derive(Clone, Debug, PartialEq)]
pub struct WrongMap {
    /// Rows and columns of the tensor.
    pub shape: [usize; 2],
    /// Rows and columns of a block. Those at the end may be smaller.
    pub block: [usize; 2],
    /// For each block, by rows: 0 if no cell is wrong, 9 if nine tenths or more are.
    pub shares: Vec<Vec<u8>>,
    /// How many cells are wrong.
    pub wrong: u64,
    /// As in `every 32nd column from 31, in every row`.
    pub pattern: String,
    pub workload: String,
}

/// The values around the first wrong cell.
#[derive(Clone, Debug, PartialEq)]
pub struct WrongTile {
    /// Row and column of its first cell.
    pub at: [usize; 2],
    /// By rows.
    pub cells: Vec<Vec<TileCell>>,
}

/// A cell of the tile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TileCell {
    pub expected: f64,
    /// `None` if the kernel never wrote the cell.
    pub got: Option<f64>,
    pub is_wrong: bool,
}

/// Most rows and columns of the map.
pub const MAP_SIZE: [usize; 2] = [32, 64];
/// Most rows and columns of the tile.
pub const TILE_SIZE: [usize; 2] = [8, 16];

impl WrongMap {
    /// The map of the cells that are wrong, by their flat index. `None` if there is none.
    pub fn of(
        [rows, columns]: [usize; 2],
        wrong: impl Iterator<Item = usize>,
        workload: &str,
    ) -> Option<WrongMap> {
        let block = [rows.div_ceil(MAP_SIZE[0]), columns.div_ceil(MAP_SIZE[1])];
        let (mut by_row, mut by_column) = (vec![0u64; rows], vec![0u64; columns]);
        let blocks = [0, 1].map(|axis| [rows, columns][axis].div_ceil(block[axis].max(1)));
        let mut counts = vec![vec![0u64; blocks[1]]; blocks[0]];
        let mut all = 0;
        for index in wrong {
            let (row, column) = (index / columns, index % columns);
            by_row[row] += 1;
            by_column[column] += 1;
            counts[row / block[0]][column / block[1]] += 1;
            all += 1;
        }
        let extent = |at: usize, axis: usize| {
            let of = [rows, columns][axis] - at * block[axis];
            of.min(block[axis]) as u64
        };
        let share = |count: u64, cells: u64| (count * 10).div_ceil(cells).min(9) as u8;
        let shares = counts.iter().enumerate().map(|(row, counts)| {
            let of =
                |(column, count): (usize, &u64)| share(*count, extent(row, 0) * extent(column, 1));
            counts.iter().enumerate().map(of).collect()
        });
        (all > 0).then(|| WrongMap {
            shape: [rows, columns],
            block,
            shares: shares.collect(),
            wrong: all,
            pattern: pattern(&by_row, &by_column, all),
            workload: workload.to_owned(),
        })
    }

    fn parse(value: &str) -> Option<WrongMap> {
        let digit = |c: char| Some(c.to_digit(10)? as u8);
        let rows = first_word(value).split('/').take(MAP_SIZE[0]);
        let rows = rows.map(|row| row.chars().take(MAP_SIZE[1]).map(digit).collect());
        Some(WrongMap {
            shape: pair(attribute(value, "shape")?, 'x')?,
            block: pair(attribute(value, "block")?, 'x')?,
            shares: rows.collect::<Option<_>>()?,
            wrong: parsed(value, "wrong")?,
            pattern: attribute(value, "pattern")?.replace('~', " "),
            workload: attribute(value, "workload")?.replace('~', " "),
        })
    }
}

impl fmt::Display for WrongMap {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let rows = self.shares.iter();
        let rows = rows.map(|row| row.iter().join("")).join("/");
        let ([rows_of, columns], [high, wide]) = (self.shape, self.block);
        let [pattern, workload] = [&self.pattern, &self.workload].map(|it| it.replace(' ', "~"));
        write!(
            f,
            "{rows} shape={rows_of}x{columns} block={high}x{wide} wrong={} pattern={pattern} \
             workload={workload}",
            self.wrong
        )
    }
}

impl WrongTile {
    /// The rows and columns of a tensor of this shape that a tile around this cell holds.
    pub fn around(shape: [usize; 2], index: usize) -> [Range<usize>; 2] {
        let place = [index / shape[1].max(1), index % shape[1].max(1)];
        std::array::from_fn(|axis| {
            let size = TILE_SIZE[axis].min(shape[axis]);
            let first = place[axis].saturating_sub(size / 4);
            let first = first.min(shape[axis] - size);
            first..first + size
        })
    }

    /// How many columns it has.
    pub fn columns(&self) -> usize {
        self.cells.first().map_or(0, Vec::len)
    }

    fn parse(value: &str) -> Option<WrongTile> {
        let [expected, got] = ["expected", "got"].map(|name| attribute(value, name));
        let rows = expected?.split('/').zip(got?.split('/'));
        let row = |(expected, got): (&str, &str)| -> Option<Vec<TileCell>> {
            let cells = expected.split(',').zip(got.split(',')).take(TILE_SIZE[1]);
            let cell = |(expected, got): (&str, &str)| {
                let right = got.strip_prefix('!');
                Some(TileCell {
                    expected: number(expected)?,
                    got: match right.unwrap_or(got) {
                        UNWRITTEN => None,
                        got => Some(number(got)?),
                    },
                    is_wrong: right.is_some(),
                })
            };
            cells.map(cell).collect()
        };
        Some(WrongTile {
            at: pair(first_word(value), ',')?,
            cells: rows.take(TILE_SIZE[0]).map(row).collect::<Option<_>>()?,
        })
    }
}

impl fmt::Display for WrongTile {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        // Six digits tell what is wrong, and a line has a limit.
        let short = |value: f64| {
            let short = format!("{value:.5e}");
            short.parse().unwrap_or(value)
        };
        let text = |of: &dyn Fn(&TileCell) -> String| {
            let rows = self.cells.iter();
            rows.map(|row| row.iter().map(of).join(",")).join("/")
        };
        let expected = text(&|cell| short(cell.expected).to_string());
        let got = text(&|cell| {
            let mark = if cell.is_wrong { "!" } else { "" };
            let got = cell.got.map(|got| short(got).to_string());
            format!("{mark}{}", got.as_deref().unwrap_or(UNWRITTEN))
        });
        let [row, column] = self.at;
        write!(f, "{row},{column} expected={expected} got={got}")
    }
}

impl Report {
    /// The tensors with wrong cells, in the order of their lines.
    pub fn wrong_tensors(&self) -> Vec<&str> {
        let names = self.entries().filter_map(|(key, _)| key.strip_suffix(MAP));
        names.collect()
    }

    /// The map of `NAME_wrong_map:`.
    pub fn wrong_map(&self, tensor: &str) -> Option<WrongMap> {
        WrongMap::parse(self.value(&format!("{tensor}{MAP}"))?)
    }

    /// The values of `NAME_wrong_tile:`.
    pub fn wrong_tile(&self, tensor: &str) -> Option<WrongTile> {
        WrongTile::parse(self.value(&format!("{tensor}{TILE}"))?)
    }
}

/// Whether a key is of a line that a picture is drawn from.
pub fn is_drawn(key: &str) -> bool {
    ["_series", "_histogram", MAP, TILE]
        .iter()
        .any(|suffix| key.ends_with(suffix))
}

fn pair(text: &str, between: char) -> Option<[usize; 2]> {
    let (a, b) = text.split_once(between)?;
    Some([a.parse().ok()?, b.parse().ok()?])
}

/// What the wrong cells have in common, as in `columns 224 to 255, the last, in every row`.
fn pattern(by_row: &[u64], by_column: &[u64], wrong: u64) -> String {
    let (rows, columns) = (Places::of(by_row), Places::of(by_column));
    let is_product = wrong == (rows.found.len() * columns.found.len()) as u64;
    if !is_product {
        let in_rows = beside_whole([by_row, by_column], ["row", "column"], wrong);
        let in_columns = || beside_whole([by_column, by_row], ["column", "row"], wrong);
        if let Some(both) = in_rows.or_else(in_columns) {
            return both;
        }
    }
    let some = if is_product { "" } else { "some cells of " };
    match (rows.words("row"), columns.words("column")) {
        _ if wrong == (rows.of * columns.of) as u64 => "every cell".to_owned(),
        _ if rows.of == 1 => columns.words("cell"),
        (rows, columns) if columns == "every column" => format!("{some}{rows}, in {columns}"),
        (rows, columns) => format!("{some}{columns}, in {rows}"),
    }
}

/// The pattern where some lines are wrong in every cell, and all other wrong cells are those of some
/// lines across: `every 32nd column from 31, in every row; and row 63, in every column`. A line is a
/// row or a column, as `what` and `across` say.
fn beside_whole(
    [by_line, by_across]: [&[u64]; 2],
    [what, across]: [&str; 2],
    wrong: u64,
) -> Option<String> {
    let length = by_across.len() as u64;
    let is_whole = |count: &u64| *count == length;
    let of = |take: &dyn Fn(&u64) -> u64| by_line.iter().map(take).collect::<Vec<u64>>();
    let whole = Places::of(&of(&|count| u64::from(is_whole(count))));
    let count = whole.found.len() as u64;
    if count == 0 {
        return None;
    }
    // What the whole lines leave.
    let others = Places::of(&of(&|count| if is_whole(count) { 0 } else { *count }));
    let rest: Vec<u64> = by_across
        .iter()
        .map(|all| all.saturating_sub(count))
        .collect();
    let rest = Places::of(&rest);
    let left = wrong.saturating_sub(count * length);
    if left == 0 || left != (others.found.len() * rest.found.len()) as u64 {
        return None;
    }
    let is_everywhere = others.found.len() + whole.found.len() == by_line.len();
    let lines = match is_everywhere {
        true => format!("every {what}"),
        false => others.words(what),
    };
    let (rest, whole) = (rest.words(across), whole.words(what));
    Some(format!(
        "{rest}, in {lines}; and {whole}, in every {across}"
    ))
}

/// The rows or columns that hold a wrong cell.
struct Places {
    found: Vec<usize>,
    of: usize,
}

impl Places {
    fn of(counts: &[u64]) -> Places {
        let places = counts.iter().enumerate();
        let found = places.filter(|(_, count)| **count > 0).map(|(at, _)| at);
        Places {
            found: found.collect(),
            of: counts.len(),
        }
    }

    fn words(&self, what: &str) -> String {
        let (Some(&first), Some(&last)) = (self.found.first(), self.found.last()) else {
            return format!("no {what}");
        };
        let (count, of) = (self.found.len(), self.of);
        let mut steps = self.found.windows(2).map(|two| two[1] - two[0]);
        let step = steps.next().filter(|step| steps.all(|next| next == *step));
        match step {
            _ if count == of => format!("every {what}"),
            _ if count == 1 => format!("{what} {first}"),
            Some(1) if last + 1 == of => format!("{what}s {first} to {last}, the last"),
            Some(1) => format!("{what}s {first} to {last}"),
            Some(step) if count > 2 => format!("every {} {what} from {first}", ordinal(step)),
            _ => format!("{count} of {of} {what}s"),
        }
    }
}

/// `32nd`.
fn ordinal(number: usize) -> String {
    let end = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{end}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// The pattern where these cells of 64 rows and 128 columns are wrong.
    fn pattern_of(is_wrong: impl Fn(usize, usize) -> bool) -> String {
        let wrong = (0..64 * 128).filter(|index| is_wrong(index / 128, index % 128));
        WrongMap::of([64, 128], wrong, "n=64").unwrap().pattern
    }

    #[test]
    fn the_pattern_of_the_wrong_cells_is_told_in_words() {
        assert_eq!(pattern_of(|_, _| true), "every cell");
        assert_eq!(
            pattern_of(|_, column| column >= 112),
            "columns 112 to 127, the last, in every row"
        );
        assert_eq!(
            pattern_of(|_, column| column % 32 == 31),
            "every 32nd column from 31, in every row"
        );
        assert_eq!(
            pattern_of(|row, column| (16..32).contains(&row) && column < 64),
            "columns 0 to 63, in rows 16 to 31"
        );
        assert_eq!(pattern_of(|row, _| row == 5), "row 5, in every column");
        assert_eq!(
            pattern_of(|row, column| row == column),
            "some cells of columns 0 to 63, in every row"
        );
        assert_eq!(
            pattern_of(|row, column| column % 32 == 31 || row == 63),
            "every 32nd column from 31, in every row; and row 63, in every column"
        );
        assert_eq!(
            pattern_of(|row, column| column == 127 || (row < 8 && column < 16)),
            "rows 0 to 7, in columns 0 to 15; and column 127, in every row"
        );
        assert_eq!(
            pattern_of(|row, column| (row, column) == (3, 7)),
            "column 7, in row 3"
        );
    }

    #[test]
    fn a_line_of_the_log_holds_the_map_and_the_tile() {
        let wrong = (0..3000).filter(|index| index % 300 >= 298);
        let map = WrongMap::of([10, 300], wrong, "rows=10 cols=300").unwrap();
        assert_eq!((map.block, map.wrong), ([1, 5], 20));
        assert_eq!(map.shares[4].iter().filter(|share| **share > 0).count(), 1);
        let cell = |column: usize| TileCell {
            expected: column as f64 / 3.0,
            got: match column {
                298 => Some(f64::NAN),
                299 => None,
                column => Some(column as f64 / 3.0),
            },
            is_wrong: column >= 298,
        };
        let [rows, columns] = WrongTile::around(map.shape, 298);
        assert_eq!((rows.clone(), columns.clone()), (0..8, 284..300));
        let tile = WrongTile {
            at: [rows.start, columns.start],
            cells: rows.map(|_| columns.clone().map(cell).collect()).collect(),
        };
        let report = Report::read(&format!("y_wrong_map: {map}\ny_wrong_tile: {tile}\n"));
        assert_eq!(report.wrong_tensors(), ["y"]);
        assert_eq!(report.wrong_map("y"), Some(map));
        let read = report.wrong_tile("y").unwrap();
        assert_eq!((read.at, read.cells.len()), ([0, 284], 8));
        assert_eq!(read.cells[0][0].expected, 94.6667);
        let [right, nan, unwritten] = [13, 14, 15].map(|column| read.cells[7][column]);
        assert!(nan.is_wrong && nan.got.is_some_and(f64::is_nan));
        assert!(unwritten.is_wrong && unwritten.got.is_none());
        assert!(!right.is_wrong);
    }

    #[test]
    fn text_that_is_no_map_is_none() {
        for text in [
            "y_wrong_map: 09a shape=1x3",
            "y_wrong_map: 9 shape=1 block=1x1 wrong=1 pattern=x",
        ] {
            assert_eq!(Report::read(text).wrong_map("y"), None);
        }
    }
}

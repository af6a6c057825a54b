//! The file with all cells of a wrong output, of which run.log shows a few: for each cell the expected
//! value and what the kernel wrote, as two f32 or two f64 (little-endian), and then a byte for each
//! cell that says whether the cell is wrong.

use super::wrong_cells::{TileCell, WrongTile};
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Most cells of an output that such a file and a picture are made of.
pub const MOST_CELLS: usize = 8 << 20;

/// Most rows and columns of a page. A screen shows at most half of them.
pub const PAGE_SIZE: [usize; 2] = [64, 40];

const RIGHT: u8 = 0;
const WRONG: u8 = 1;
const UNWRITTEN: u8 = 2;

/// Writes the file of these cells. Values that f32 cannot hold are `wide`.
pub fn write(
    out: &mut dyn Write,
    cells: impl Iterator<Item = TileCell>,
    wide: bool,
) -> io::Result<()> {
    let mut signs = Vec::new();
    for cell in cells {
        signs.push(match cell.got {
            None => UNWRITTEN,
            Some(_) if cell.is_wrong => WRONG,
            Some(_) => RIGHT,
        });
        let values = [cell.expected, cell.got.unwrap_or_default()];
        if wide {
            out.write_all(values.map(f64::to_le_bytes).as_flattened())?;
        } else {
            let values = values.map(|value| (value as f32).to_le_bytes());
            out.write_all(values.as_flattened())?;
        }
    }
    out.write_all(&signs)
}

/// Where the next wrong cell is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seek {
    Behind,
    Before,
}

/// A cell, and the cells around it.
pub type CellsRead = ([usize; 2], WrongTile);

/// All cells of a wrong output, in a file.
pub struct AllCells {
    file: File,
    shape: [usize; 2],
    /// Bytes of a value.
    width: usize,
}

impl AllCells {
    /// The cells of an output with this many rows and columns. Returns an error for a file of
    /// another size.
    pub fn of(file: File, shape: [usize; 2]) -> io::Result<AllCells> {
        let cells = shape[0].saturating_mul(shape[1]);
        let length = file.metadata()?.len();
        let fits = |width: &usize| length == (cells * (2 * width + 1)) as u64;
        let width = [4, 8]
            .into_iter()
            .find(|it| cells <= MOST_CELLS && fits(it));
        let [rows, columns] = shape;
        let wrong =
            || io::Error::other(format!("its size is not that of {rows} × {columns} cells"));
        let width = width.ok_or_else(wrong)?;
        Ok(AllCells { file, shape, width })
    }

    /// The cells around this one. Reads only them.
    pub fn around(&self, [row, column]: [usize; 2]) -> io::Result<WrongTile> {
        self.tile(WrongTile::around(self.shape, row * self.shape[1] + column))
    }

    /// As many cells on each side of this one as a large screen shows. Reads only them.
    pub fn page(&self, cell: [usize; 2]) -> io::Result<WrongTile> {
        self.tile(std::array::from_fn(|axis| {
            let size = PAGE_SIZE[axis].min(self.shape[axis]);
            let first = cell[axis].saturating_sub(size / 2);
            let first = first.min(self.shape[axis] - size);
            first..first + size
        }))
    }

    fn tile(&self, [rows, columns]: [Range<usize>; 2]) -> io::Result<WrongTile> {
        Ok(WrongTile {
            at: [rows.start, columns.start],
            cells: rows
                .map(|row| self.row(row * self.shape[1] + columns.start, columns.len()))
                .collect::<io::Result<_>>()?,
        })
    }

    fn row(&self, first: usize, cells: usize) -> io::Result<Vec<TileCell>> {
        let mut values = vec![0; cells * 2 * self.width];
        let at = first * 2 * self.width;
        self.file.read_exact_at(&mut values, at as u64)?;
        let value = |bytes: &[u8]| match (bytes.first_chunk(), bytes.first_chunk()) {
            (Some(wide), _) => f64::from_le_bytes(*wide),
            (None, Some(narrow)) => f32::from_le_bytes(*narrow).into(),
            (None, None) => f64::NAN,
        };
        let pairs = values
            .chunks_exact(2 * self.width)
            .zip(self.signs(first, cells)?);
        let cell = |(pair, sign): (&[u8], u8)| {
            let (expected, got) = pair.split_at(self.width);
            TileCell {
                expected: value(expected),
                got: (sign != UNWRITTEN).then(|| value(got)),
                is_wrong: sign != RIGHT,
            }
        };
        Ok(pairs.map(cell).collect())
    }

    fn signs(&self, first: usize, cells: usize) -> io::Result<Vec<u8>> {
        let mut signs = vec![0; cells];
        let before = self.shape[0] * self.shape[1] * 2 * self.width;
        self.file
            .read_exact_at(&mut signs, (before + first) as u64)?;
        Ok(signs)
    }

    /// The page around a cell, or around the next wrong one in this direction from there; with the
    /// cell. `None` where no further cell is wrong.
    pub fn read(&self, cell: [usize; 2], seek: Option<Seek>) -> io::Result<Option<CellsRead>> {
        let cell = match seek {
            None => Some(cell),
            Some(seek) => self.wrong_cell(cell, seek)?,
        };
        let read = cell.map(|cell| Ok((cell, self.page(cell)?)));
        read.transpose()
    }

    fn wrong_cell(&self, [row, column]: [usize; 2], seek: Seek) -> io::Result<Option<[usize; 2]>> {
        let all = self.shape[0] * self.shape[1];
        let from = row * self.shape[1] + column;
        let is_wrong = |sign: &u8| *sign != RIGHT;
        let found = match seek {
            Seek::Behind => {
                let first = all.min(from + 1);
                let signs = self.signs(first, all - first)?;
                signs.iter().position(is_wrong).map(|at| first + at)
            }
            Seek::Before => self.signs(0, from.min(all))?.iter().rposition(is_wrong),
        };
        Ok(found.map(|at| [at / self.shape[1], at % self.shape[1]]))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// 100 rows of 40 cells, of which the last of every tenth row is wrong, and one is unwritten.
    fn cell(index: usize) -> TileCell {
        let is_wrong = index % 400 == 39;
        TileCell {
            expected: index as f64 / 3.0,
            got: (index != 2039).then_some(if is_wrong {
                f64::NAN
            } else {
                index as f64 / 3.0
            }),
            is_wrong,
        }
    }

    fn written(wide: bool) -> AllCells {
        let mut file = tempfile::tempfile().unwrap();
        write(&mut file, (0..4000).map(cell), wide).unwrap();
        AllCells::of(file, [100, 40]).unwrap()
    }

    #[test]
    fn a_part_is_read_as_it_was_written() {
        let tile = written(true).around([51, 39]).unwrap();
        assert_eq!((tile.at, tile.cells.len()), ([49, 24], 8));
        for (row, cells) in (49..).zip(&tile.cells) {
            for (column, read) in (24..).zip(cells) {
                assert_eq!(*read, cell(row * 40 + column));
            }
        }
        let narrow = written(false).around([99, 0]).unwrap();
        assert_eq!(narrow.at, [92, 0]);
        assert_eq!(narrow.cells[7][0].expected, f64::from(1320f32));
        let [unwritten, wrong] = [[50, 39], [60, 39]].map(|at| {
            let tile = written(false).around(at).unwrap();
            tile.cells[at[0] - tile.at[0]][15]
        });
        assert!(unwritten.is_wrong && unwritten.got.is_none());
        assert!(wrong.is_wrong && wrong.got.is_some_and(f64::is_nan));
    }

    #[test]
    fn a_page_holds_half_of_its_size_on_each_side() {
        let cells = written(true);
        let tile = cells.page([50, 20]).unwrap();
        assert_eq!(
            (tile.at, tile.cells.len(), tile.columns()),
            ([18, 0], 64, 40)
        );
        assert_eq!(cells.page([99, 39]).unwrap().at, [36, 0]);
        assert_eq!(cells.page([0, 0]).unwrap().at, [0, 0]);
    }

    #[test]
    fn the_wrong_cells_are_found_in_both_directions() {
        let cells = written(false);
        let find = |at, seek| cells.read(at, Some(seek)).unwrap().map(|read| read.0);
        assert_eq!(find([0, 0], Seek::Behind), Some([0, 39]));
        assert_eq!(find([0, 39], Seek::Behind), Some([10, 39]));
        assert_eq!(find([90, 39], Seek::Behind), None);
        assert_eq!(find([99, 39], Seek::Behind), None);
        assert_eq!(find([100, 0], Seek::Before), Some([90, 39]));
        assert_eq!(find([0, 39], Seek::Before), None);
    }

    #[test]
    fn a_file_of_another_size_is_refused() {
        for shape in [[100, 41], [0, 0], [usize::MAX, 2]] {
            let file = written(true).file;
            assert!(AllCells::of(file, shape).is_err(), "{shape:?}");
        }
    }
}

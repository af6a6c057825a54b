//! Work with lines of cells: writing them, changing them where they lie, and finding their largest
//! and smallest numbers.

use super::super::cell_work::{CellLine, CellNumbers, LineChange, LineExtremes, Sign};
use super::{Kernels, NONE, bytes_of};
use crate::dtype::bits_of;
use crate::outcome::{Result, Stop};

impl Kernels<'_> {
    /// Writes lines, whose cells follow one another.
    pub fn put_lines(&mut self, lines: &[CellLine], cells: &[u8]) -> Result {
        if let [line] = lines
            && line.stride == 1
        {
            let to = self.address_of(line)?;
            let bytes = cells.len().min(line.cells * line.dtype.size());
            return Ok(self.device.driver.upload(to, &cells[..bytes])?);
        }
        let held = self.device.hold(cells.len(), cells)?;
        let mut from = self.device.read_address(held)?;
        let end = from + cells.len() as u64;
        for line in lines {
            let args = [&self.words_of(line)?[..], &[from]].map(bytes_of);
            from += line.sent_bytes() as u64;
            if from > end {
                return Err(Stop::Lab("a line has fewer cells than it says".into()));
            }
            self.add("lab_put_line", args.into(), line.cells as u64)?;
        }
        self.run()?;
        Ok(self.device.free(held)?)
    }

    /// Makes these changes of a line, one after the other.
    pub fn change_line(&mut self, line: &CellLine, changes: &[LineChange]) -> Result {
        for change in changes {
            self.add_change(line, *change)?;
        }
        self.run()
    }

    fn add_change(&mut self, line: &CellLine, change: LineChange) -> Result {
        let (name, words) = match change {
            LineChange::Draw { numbers, seed } => return self.add_drawing(line, numbers, seed),
            LineChange::Put { cell, bits } => {
                let cell = cell_of(line, cell)?;
                return self.add_drawing(&cell, CellNumbers::OneOf([bits; 4]), 0);
            }
            LineChange::Repeat { of, seed } => {
                // The changes before this one may write these cells.
                self.run()?;
                let mut cells = [0; 4];
                for (bits, at) in cells.iter_mut().zip(of) {
                    *bits = self.read(&cell_of(line, at)?)?;
                }
                return self.add_drawing(line, CellNumbers::OneOf(cells), seed);
            }
            LineChange::Map {
                factor,
                sign,
                low,
                high,
            } => {
                let (sign, seed) = match sign {
                    Sign::Own => (0, 0),
                    Sign::Positive => (1, 0),
                    Sign::Negative => (2, 0),
                    Sign::Random { seed } => (3, seed),
                };
                ("lab_map", vec![factor, low, high, seed, sign])
            }
            LineChange::Replace { edge, is_low, by } => {
                ("lab_replace", vec![edge, by, u64::from(is_low)])
            }
        };
        let args = [&self.words_of(line)?[..], &words].map(bytes_of);
        self.add(name, args.into(), line.cells as u64)
    }

    /// Finds the largest and the smallest number of a line.
    pub fn find_extremes(&mut self, line: &CellLine) -> Result<LineExtremes> {
        // `Extremes` in lines.cu before the search.
        let held = self.device.hold(32, &bytes_of(&[0, NONE, NONE, NONE]))?;
        let memory = self.device.read_address(held)?;
        let found = self.extremes_into(line, memory);
        self.device.free(held)?;
        found
    }

    fn extremes_into(&mut self, line: &CellLine, memory: u64) -> Result<LineExtremes> {
        let args = [&self.words_of(line)?[..], &[memory]].map(bytes_of);
        for name in ["lab_extremes", "lab_extreme_cells"] {
            self.add(name, args.to_vec(), line.cells as u64)?;
        }
        self.run()?;
        let mut found = [0; 32];
        self.device.driver.download(memory, &mut found)?;
        let [_, _, largest, smallest] = found.as_chunks::<8>().0 else {
            return Err(Stop::Lab("the extremes of a line are four words".into()));
        };
        let mut cell = |index: &[u8; 8]| {
            let index = u64::from_le_bytes(*index) as usize;
            Ok::<_, Stop>((index, self.read(&cell_of(line, index)?)?))
        };
        Ok(LineExtremes {
            largest: cell(largest)?,
            smallest: cell(smallest)?,
        })
    }

    /// The bytes of the first cell of a line.
    fn read(&mut self, line: &CellLine) -> Result<u64> {
        let mut cell = vec![0; line.dtype.size()];
        let from = self.address_of(line)?;
        self.device.driver.download(from, &mut cell)?;
        Ok(bits_of(&cell))
    }

    /// A `Line` of cells.cu, in words.
    pub fn words_of(&mut self, line: &CellLine) -> Result<[u64; 4]> {
        Ok([
            self.address_of(line)?,
            line.stride as u64,
            line.cells as u64,
            line.dtype.number().into(),
        ])
    }

    /// The address of the first cell of a line, all of which is in its buffer.
    fn address_of(&mut self, line: &CellLine) -> Result<u64> {
        let size = line.dtype.size();
        let last = line.first + line.cells.saturating_sub(1) * line.stride;
        let bytes = self.device.bytes_of(line.buffer)?;
        if (last + 1) * size > bytes {
            return Err(Stop::Lab(format!("a line ends behind its {bytes} bytes")));
        }
        Ok(self.device.read_address(line.buffer)? + (line.first * size) as u64)
    }
}

/// A line of one cell: the one with this index in `line`.
fn cell_of(line: &CellLine, index: usize) -> Result<CellLine> {
    if index >= line.cells {
        let cells = line.cells;
        return Err(Stop::Lab(format!(
            "a line of {cells} cells has no cell {index}"
        )));
    }
    Ok(CellLine {
        first: line.first + index * line.stride,
        cells: 1,
        ..*line
    })
}

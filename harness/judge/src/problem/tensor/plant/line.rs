//! A line of a tensor's cells, which changes where it lies: in the judge's memory or on the card.

use super::super::cell_numbers::{fill, word};
use crate::dtype::{CellValue, Dtype, bits_of};
use crate::outcome::Result;
use crate::parallel::each_part;
use crate::worker::JudgeMemory;
use crate::worker::cell_work::{CellLine, CellNumbers, LineChange, LineExtremes, Sign};
use std::sync::Arc;

/// A line that a pattern is planted into. Both kinds of lines hold the same cells after the same
/// changes, bit for bit.
pub trait Line {
    /// The number of cells.
    fn cells(&self) -> usize;

    /// Makes these changes, one after the other.
    fn change(&mut self, changes: Vec<LineChange>) -> Result;

    /// The largest and the smallest number.
    fn extremes(&mut self) -> Result<LineExtremes>;
}

/// A line of a held buffer. The judge's own worker changes it.
pub struct HeldLine<'a> {
    pub memory: &'a Arc<JudgeMemory>,
    pub line: CellLine,
}

impl Line for HeldLine<'_> {
    fn cells(&self) -> usize {
        self.line.cells
    }

    fn change(&mut self, changes: Vec<LineChange>) -> Result {
        self.memory.change_line(self.line, changes)
    }

    fn extremes(&mut self) -> Result<LineExtremes> {
        self.memory.extremes_of(self.line)
    }
}

/// Cells of a tensor's bytes at equal distances.
pub struct HostLine<'a> {
    /// From the first cell on, to the end of the last one or further.
    bytes: &'a mut [u8],
    dtype: Dtype,
    /// From each cell to the next, in cells.
    stride: usize,
    cells: usize,
}

impl<'a> HostLine<'a> {
    /// The `cells` cells of `bytes` from the cell `start` on, each `stride` cells behind the one
    /// before it.
    pub fn new(
        bytes: &'a mut [u8],
        dtype: Dtype,
        start: usize,
        stride: usize,
        cells: usize,
    ) -> Self {
        HostLine {
            bytes: &mut bytes[start * dtype.size()..],
            dtype,
            stride,
            cells,
        }
    }

    fn cell(&mut self, index: usize) -> &mut [u8] {
        let size = self.dtype.size();
        &mut self.bytes[index * self.stride * size..][..size]
    }

    /// Calls `act` for parts of the line, on all cores if there are many cells: with the index of
    /// the first cell, and with the cells.
    fn each_part<R: Send>(
        &mut self,
        act: impl Fn(usize, &mut dyn Iterator<Item = &mut [u8]>) -> R + Sync,
    ) -> Vec<R> {
        /// Cells that take a thread about a millisecond.
        const PART: usize = 1 << 17;
        let (size, step) = (self.dtype.size(), self.stride * self.dtype.size());
        let end = self.bytes.len().min(self.cells * step);
        each_part(&mut self.bytes[..end], PART * step, |number, bytes| {
            let mut each = bytes.chunks_mut(step).map(|step| &mut step[..size]);
            act(number * PART, &mut each)
        })
    }

    /// Calls `act` for each cell: with its index and its bytes.
    fn each(&mut self, act: impl Fn(u64, &mut [u8]) + Sync) {
        self.each_part(|first, cells| {
            (first as u64..)
                .zip(cells)
                .for_each(|(index, cell)| act(index, cell));
        });
    }

    fn change_once(&mut self, change: LineChange) {
        let dtype = self.dtype;
        match change {
            LineChange::Map {
                factor,
                sign,
                low,
                high,
            } => {
                let [factor, low, high] = [factor, low, high].map(f64::from_bits);
                self.each(|index, cell| {
                    let number = signed(dtype.decode(cell) * factor, sign, index);
                    dtype.encode_each(cell, || number.clamp(low, high));
                });
            }
            LineChange::Replace { edge, is_low, by } => {
                let edge = rank_of(dtype.value_of_bits(edge));
                self.each(|_, cell| {
                    let rank = rank_of(dtype.value(cell));
                    let is_beyond = if is_low { rank <= edge } else { rank >= edge };
                    if is_beyond {
                        dtype.put_bits(cell, by);
                    }
                });
            }
            LineChange::Draw { numbers, seed } => {
                self.each(|index, cell| fill(numbers, dtype, cell, seed, index..));
            }
            LineChange::Repeat { of, seed } => {
                let numbers = CellNumbers::OneOf(of.map(|index| bits_of(self.cell(index))));
                self.change_once(LineChange::Draw { numbers, seed });
            }
            LineChange::Put { cell, bits } => dtype.put_bits(self.cell(cell), bits),
        }
    }
}

impl Line for HostLine<'_> {
    fn cells(&self) -> usize {
        self.cells
    }

    fn change(&mut self, changes: Vec<LineChange>) -> Result {
        changes
            .into_iter()
            .for_each(|change| self.change_once(change));
        Ok(())
    }

    fn extremes(&mut self) -> Result<LineExtremes> {
        let dtype = self.dtype;
        let found = self.each_part(|first, cells| {
            // The complement of a rank is smaller the larger the rank is. So the smallest pair of a
            // complement and an index is that of the first largest number.
            let mut found = [(i128::MAX, usize::MAX); 2];
            for (index, cell) in (first..).zip(cells) {
                let rank = rank_of(dtype.value(cell));
                found = [found[0].min((!rank, index)), found[1].min((rank, index))];
            }
            found
        });
        let [largest, smallest] = [0, 1].map(|which| {
            let index = found.iter().map(|of_part| of_part[which]).min();
            index.map_or(0, |(_, index)| index)
        });
        Ok(LineExtremes {
            largest: (largest, bits_of(self.cell(largest))),
            smallest: (smallest, bits_of(self.cell(smallest))),
        })
    }
}

/// A number with this sign, in the cell with this index.
fn signed(number: f64, sign: Sign, index: u64) -> f64 {
    match sign {
        Sign::Own => number,
        Sign::Positive => number.abs(),
        Sign::Negative => -number.abs(),
        Sign::Random { seed } if word(seed, index) >> 63 == 1 => -number,
        Sign::Random { .. } => number,
    }
}

/// Returns a rank that is larger the larger a cell's number is; −0 is as large as 0.
fn rank_of(value: CellValue) -> i128 {
    match value {
        CellValue::Integer(number) => number,
        CellValue::Float(0.0) => 0,
        CellValue::Float(number) => {
            let bits = number.to_bits() as i64;
            let rank = if bits < 0 { bits ^ i64::MAX } else { bits };
            rank.into()
        }
    }
}

#[cfg(test)]
mod tests;

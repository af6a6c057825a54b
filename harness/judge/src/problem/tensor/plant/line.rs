//! A line of a tensor's cells.

use crate::dtype::Dtype;

/// Cells of a tensor's bytes at equal distances.
pub struct Line<'a> {
    bytes: &'a mut [u8],
    dtype: Dtype,
    /// The first cell, and from each cell to the next, in cells.
    start: usize,
    stride: usize,
    pub cells: usize,
}

impl<'a> Line<'a> {
    /// The `cells` cells of `bytes` from the cell `start` on, each `stride` cells behind the one
    /// before it.
    pub fn new(
        bytes: &'a mut [u8],
        dtype: Dtype,
        start: usize,
        stride: usize,
        cells: usize,
    ) -> Self {
        Line {
            bytes,
            dtype,
            start,
            stride,
            cells,
        }
    }

    fn at(&self, cell: usize) -> std::ops::Range<usize> {
        let size = self.dtype.size();
        let start = (self.start + cell * self.stride) * size;
        start..start + size
    }

    pub fn bytes_of(&self, cell: usize) -> Vec<u8> {
        self.bytes[self.at(cell)].to_vec()
    }

    pub fn put(&mut self, cell: usize, bytes: &[u8]) {
        let place = self.at(cell);
        self.bytes[place].copy_from_slice(bytes);
    }

    pub fn get(&self, cell: usize) -> f64 {
        self.dtype.decode(&self.bytes[self.at(cell)])
    }

    pub fn set(&mut self, cell: usize, number: f64) {
        let place = self.at(cell);
        self.dtype.encode_each(&mut self.bytes[place], || number);
    }

    /// Sets each cell to what `change` makes of its place and its number.
    pub fn each(&mut self, mut change: impl FnMut(usize, f64) -> f64) {
        for at in 0..self.cells {
            let number = change(at, self.get(at));
            self.set(at, number);
        }
    }

    pub fn copy(&mut self, from: usize, to: usize) {
        let from = self.at(from);
        let to = self.at(to).start;
        self.bytes.copy_within(from, to);
    }
}

//! A line of a tensor's cells.

use crate::dtype::Dtype;
use crate::parallel::each_on_a_thread;
use crate::sync::lock;
use std::sync::Mutex;

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

    /// [`Line::each`] where the place does not matter: on all cores if there are many cells.
    pub fn map(&mut self, change: impl Fn(f64) -> f64 + Sync) {
        let dtype = self.dtype;
        if self.stride != 1 {
            return self.each(|_, number| change(number));
        }
        each_part(self.whole(), dtype.size(), |part| {
            for cell in part.chunks_exact_mut(dtype.size()) {
                let number = change(dtype.decode(cell));
                dtype.encode_each(cell, || number);
            }
        });
    }

    /// Writes the same bytes into each cell.
    pub fn repeat(&mut self, bytes: &[u8]) {
        if self.stride != 1 {
            return (0..self.cells).for_each(|at| self.put(at, bytes));
        }
        let size = self.dtype.size();
        each_part(self.whole(), size, |part| {
            let cells = part.chunks_exact_mut(size);
            cells.for_each(|cell| cell.copy_from_slice(bytes));
        });
    }

    /// The largest size of a number.
    pub fn reach(&mut self) -> f64 {
        let dtype = self.dtype;
        let larger = |largest: f64, number: f64| largest.max(number.abs());
        if self.stride != 1 {
            return (0..self.cells).map(|at| self.get(at)).fold(0.0, larger);
        }
        let found = Mutex::new(0.0);
        each_part(self.whole(), dtype.size(), |part| {
            let cells = part.chunks_exact(dtype.size());
            let largest = cells.map(|cell| dtype.decode(cell)).fold(0.0, larger);
            let mut found = lock(&found);
            *found = larger(*found, largest);
        });
        *lock(&found)
    }

    /// The bytes of a line whose cells are neighbours.
    fn whole(&mut self) -> &mut [u8] {
        let size = self.dtype.size();
        &mut self.bytes[self.start * size..(self.start + self.cells) * size]
    }

    pub fn copy(&mut self, from: usize, to: usize) {
        let from = self.at(from);
        let to = self.at(to).start;
        self.bytes.copy_within(from, to);
    }
}

/// Calls `act` for parts of whole cells, on all cores if there are many.
fn each_part(bytes: &mut [u8], size: usize, act: impl Fn(&mut [u8]) + Sync) {
    /// Cells that take a thread about a millisecond.
    const PART: usize = 1 << 17;
    let parts = bytes.chunks_mut(PART * size).map(Mutex::new);
    let parts: Vec<Mutex<&mut [u8]>> = parts.collect();
    each_on_a_thread(&parts, |part| act(&mut lock(part)));
}

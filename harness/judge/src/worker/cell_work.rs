//! What the judge asks of its own worker about cells, and what it answers.

use super::BufferId;
use crate::dtype::Dtype;
use serde::{Deserialize, Serialize};

/// What is to be done.
#[derive(Debug, Serialize, Deserialize)]
pub enum CellWork {
    /// Holds random numbers. The reply is a [`BufferId`] for each.
    Draw(Vec<DrawCells>),
    /// Writes lines into held buffers. Their cells follow one another in the body, where each line
    /// has [`CellLine::sent_bytes`].
    PutLines(Vec<CellLine>),
    /// Makes changes of a line, one after the other.
    ChangeLine(CellLine, Vec<LineChange>),
    /// Looks for the largest and the smallest number of a line. The reply is a [`LineExtremes`].
    FindExtremes(CellLine),
    /// Compares buffers. The reply is a [`FoundCells`] for each.
    Compare(Vec<CompareCells>),
}

/// A line of a held buffer.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct CellLine {
    pub buffer: BufferId,
    pub dtype: Dtype,
    /// The index of the first cell, and how far each is from the next one.
    pub first: usize,
    pub stride: usize,
    /// The number of cells.
    pub cells: usize,
}

impl CellLine {
    /// Bytes of its cells in a message of lines of all types. On the card each line begins at a
    /// multiple of its cells' size.
    pub fn sent_bytes(&self) -> usize {
        (self.cells * self.dtype.size()).next_multiple_of(8)
    }
}

/// A change of the cells of a line. Numbers of f64 are written as their bits. A cell's bytes are
/// written as a number in little endian, which ends in zeros.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum LineChange {
    /// Multiplies each number, gives it a sign and brings it between `low` and `high`.
    Map {
        factor: u64,
        sign: Sign,
        low: u64,
        high: u64,
    },
    /// Writes the cell `by` over each number that is not below the cell `edge`; with `is_low`, over
    /// each that is not above it.
    Replace { edge: u64, is_low: bool, by: u64 },
    /// Draws each cell by its index in the line.
    Draw { numbers: CellNumbers, seed: u64 },
    /// Writes one of these four cells, as they were before, into each cell: by its index in the line.
    Repeat { of: [usize; 4], seed: u64 },
    /// Writes one cell.
    Put { cell: usize, bits: u64 },
}

/// The sign that a number gets.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Sign {
    /// The one that it has.
    Own,
    Positive,
    Negative,
    /// The other one in half of the cells: by the index in the line.
    Random {
        seed: u64,
    },
}

/// The largest and the smallest number of a line, each the first of its size: its index in the line
/// and its cell's bytes. No number is NaN, and −0 is as large as 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineExtremes {
    pub largest: (usize, u64),
    pub smallest: (usize, u64),
}

/// The numbers that a buffer is filled with.
#[derive(Debug, Serialize, Deserialize)]
pub struct DrawCells {
    pub dtype: Dtype,
    pub cells: usize,
    pub seed: u64,
    pub numbers: CellNumbers,
}

/// A distribution. Numbers of f64 are written as their bits: JSON has neither infinity nor −0.
/// A cell's bytes are written as in [`LineChange`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum CellNumbers {
    Normal {
        mean: u64,
        std: u64,
    },
    Uniform {
        low: u64,
        high: u64,
    },
    /// Whole numbers, both ends included. A u64 from 2⁶³ on is the i64 of the same bits.
    Integers {
        low: i64,
        high: i64,
    },
    /// One of these cells.
    OneOf([u64; 4]),
}

impl CellNumbers {
    /// Whole numbers from `low` to `high`, both of one integer type.
    pub fn integers(low: i128, high: i128) -> Self {
        let [low, high] = [low, high].map(|end| end as i64);
        CellNumbers::Integers { low, high }
    }
}

/// Two buffers of one type and length.
#[derive(Debug, Serialize, Deserialize)]
pub struct CompareCells {
    pub got: BufferId,
    pub want: BufferId,
    pub dtype: Dtype,
    /// The bits of the tolerances.
    pub atol: u64,
    pub rtol: u64,
    /// What an unwritten cell holds.
    pub patterns: Option<[u32; 2]>,
    /// Another buffer, and what an unwritten cell holds there too.
    pub other: Option<(BufferId, u32)>,
    /// Looks for unwritten cells only, in all of `got`.
    pub only_unwritten: bool,
}

/// What was found in a comparison.
#[derive(Debug, Serialize, Deserialize)]
pub struct FoundCells {
    pub mismatched: u64,
    pub not_finite: u64,
    pub unwritten: u64,
    /// The first cell that is unwritten, that is not finite, and that is beyond the tolerance.
    pub firsts: [Option<FoundCell>; 3],
    /// The first cell with the largest error.
    pub worst: Option<u64>,
    /// The bits of the largest error.
    pub error: u64,
    /// How many errors are zero and how many infinite, among the cells that differ.
    pub exact: u64,
    pub infinite: u64,
    /// How many other errors are in each octave.
    pub octaves: Vec<u64>,
}

/// A cell, and the bytes of both values.
#[derive(Debug, Serialize, Deserialize)]
pub struct FoundCell {
    pub index: u64,
    pub got: Vec<u8>,
    pub want: Vec<u8>,
}

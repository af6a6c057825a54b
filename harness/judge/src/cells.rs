//! How tensors are compared, in the judge's memory or where they are held on the device.

use crate::dtype::Dtype;
pub use crate::gates::Unwritten;
use crate::gates::{self, CellMismatch, TensorComparison, Tolerance};
use crate::outcome::{Result, Stop};
use crate::worker::cell_work::{CompareCells, FoundCell, FoundCells};
use crate::worker::{Cells, JudgeMemory};
use lab_protocol::report::Histogram;
use lab_protocol::report::wrong_cells::{TileCell, WrongMap, WrongTile};
use std::borrow::Cow;
use std::sync::Arc;

impl<'a> Unwritten<&'a Cells> {
    /// For an output of which there is one launch only, before which it was filled with `pattern`:
    /// one that marks a cell. A cell with another is only compared.
    pub fn by_marks(dtype: Dtype, pattern: Option<u32>) -> Self {
        let patterns = match pattern {
            Some(pattern) => dtype.is_mark(pattern).then_some([pattern; 2]),
            None => dtype.marks(),
        };
        Unwritten::new(patterns, None)
    }

    /// For an output that was filled with `pattern`, and before another launch, which left `other`,
    /// with `other_pattern`.
    pub fn by_two_launches(pattern: u32, other: &'a Cells, other_pattern: u32) -> Self {
        Unwritten::new(Some([pattern; 2]), Some((other, other_pattern)))
    }
}

/// Two tensors of the same type and length.
pub struct Pair<'a> {
    pub dtype: Dtype,
    pub got: &'a Cells,
    pub want: &'a Cells,
    /// `None` looks for unwritten cells only, in all of `got`.
    pub tolerance: Option<&'a Tolerance>,
    pub unwritten: Unwritten<&'a Cells>,
}

/// Compares pairs: on the device if each `got` is held there.
pub fn compare(pairs: &[&Pair]) -> Result<Vec<TensorComparison>> {
    let memory = |pair: &&Pair| match pair.got {
        Cells::Held(held) if pair.got.bytes() == pair.want.bytes() => Some(held.memory.clone()),
        _ => None,
    };
    let memories: Option<Vec<Arc<JudgeMemory>>> = pairs.iter().map(memory).collect();
    match memories.as_deref() {
        Some([memory, ..]) => on_device(pairs, memory),
        _ => pairs.iter().map(|pair| on_host(pair)).collect(),
    }
}

/// What is wrong in a pair of tensors, for a picture.
pub struct Picture<'a> {
    dtype: Dtype,
    host: OnHost<'a>,
    unwritten: Unwritten<&'a Cells>,
    /// Rows and columns.
    shape: [usize; 2],
    /// For each cell whether it is wrong.
    wrong: Vec<bool>,
}

impl<'a> Picture<'a> {
    pub fn of(pair: &'a Pair, shape: [usize; 2]) -> Result<Self> {
        let (dtype, host) = (pair.dtype, OnHost::of(pair)?);
        let tolerance = pair.tolerance.unwrap_or(&Tolerance::EXACT);
        let (both, unwritten) = ([&*host.got, &*host.want], host.unwritten(&pair.unwritten));
        let is_wrong = |index| gates::is_wrong(dtype, both, index, tolerance, unwritten);
        Ok(Picture {
            wrong: (0..shape[0] * shape[1]).map(is_wrong).collect(),
            dtype,
            unwritten: pair.unwritten,
            shape,
            host,
        })
    }

    /// `None` if no cell is wrong.
    pub fn map(&self, workload: &str) -> Option<WrongMap> {
        let wrong = (0..self.wrong.len()).filter(|index| self.wrong[*index]);
        WrongMap::of(self.shape, wrong, workload)
    }

    /// The cell with this flat index.
    pub fn cell(&self, index: usize) -> TileCell {
        let (dtype, host) = (self.dtype, &self.host);
        let at = index * dtype.size()..(index + 1) * dtype.size();
        let both = [&host.got, &host.want].map(|cells| &cells[at.clone()]);
        let [got, expected] = both.map(|cell| dtype.value(cell).as_f64());
        let is_wrong = self.wrong[index];
        let unwritten = host.unwritten(&self.unwritten);
        let is_unwritten = is_wrong && unwritten.is_unwritten(dtype, both[0], at.start);
        TileCell {
            expected,
            got: (!is_unwritten).then_some(got),
            is_wrong,
        }
    }

    /// The cells around the first wrong one.
    pub fn tile(&self) -> WrongTile {
        let first = self.wrong.iter().position(|is_wrong| *is_wrong);
        let [rows, columns] = WrongTile::around(self.shape, first.unwrap_or(0));
        let of = |row: usize| {
            let cells = columns.clone();
            cells.map(move |column| self.cell(row * self.shape[1] + column))
        };
        WrongTile {
            at: [rows.start, columns.start],
            cells: rows.map(|row| of(row).collect()).collect(),
        }
    }
}

/// A pair in the judge's memory.
struct OnHost<'a> {
    got: Cow<'a, [u8]>,
    want: Cow<'a, [u8]>,
    /// What another launch left, and its pattern.
    other: Option<(Cow<'a, [u8]>, u32)>,
}

impl<'a> OnHost<'a> {
    fn of(pair: &'a Pair) -> Result<Self> {
        let other = pair.unwritten.other;
        let other = other.map(|(cells, pattern)| Ok::<_, Stop>((cells.to_host()?, pattern)));
        Ok(OnHost {
            got: pair.got.to_host()?,
            want: pair.want.to_host()?,
            other: other.transpose()?,
        })
    }

    fn unwritten(&self, of: &Unwritten<&Cells>) -> Unwritten<&[u8]> {
        let other = self.other.as_ref();
        let other = other.map(|(cells, pattern)| (&**cells, *pattern));
        Unwritten::new(of.patterns, other)
    }
}

fn on_host(pair: &Pair) -> Result<TensorComparison> {
    let (dtype, host) = (pair.dtype, OnHost::of(pair)?);
    let (got, want, unwritten) = (&host.got, &host.want, host.unwritten(&pair.unwritten));
    if let Some(tolerance) = pair.tolerance {
        return Ok(gates::compare(dtype, got, want, tolerance, unwritten));
    }
    let first = gates::first_unwritten(dtype, got, unwritten);
    let cell = |index: usize| {
        let at = index * dtype.size()..(index + 1) * dtype.size();
        CellMismatch {
            index,
            got: dtype.value(&got[at.clone()]),
            want: dtype.value(&want[at]),
        }
    };
    Ok(TensorComparison {
        first_unwritten: first.map(cell),
        ..TensorComparison::default()
    })
}

fn on_device(pairs: &[&Pair], memory: &Arc<JudgeMemory>) -> Result<Vec<TensorComparison>> {
    // Held until the comparison is over.
    let mut copies = Vec::new();
    let mut asked = Vec::with_capacity(pairs.len());
    for pair in pairs {
        let mut held = |cells: &Cells| {
            let cells = cells.held(memory)?;
            let id = cells.id();
            copies.push(cells);
            id.ok_or_else(|| Stop::Lab("cells are compared that are held nowhere".into()))
        };
        let tolerance = pair.tolerance.unwrap_or(&Tolerance::EXACT);
        asked.push(CompareCells {
            got: held(pair.got)?,
            want: held(pair.want)?,
            dtype: pair.dtype,
            atol: tolerance.atol.to_bits(),
            rtol: tolerance.rtol.to_bits(),
            patterns: pair.unwritten.patterns,
            other: match pair.unwritten.other {
                Some((other, pattern)) => Some((held(other)?, pattern)),
                None => None,
            },
            only_unwritten: pair.tolerance.is_none(),
        });
    }
    let found = memory.compare(asked)?.into_iter();
    let each = found.zip(pairs);
    Ok(each
        .map(|(found, pair)| comparison(pair.dtype, pair.got.bytes() / pair.dtype.size(), found))
        .collect())
}

fn comparison(dtype: Dtype, cells: usize, found: FoundCells) -> TensorComparison {
    let mut counts = Histogram::of_octaves(&found.octaves, found.exact, found.infinite);
    // Cells that are equal byte for byte were not counted.
    counts.exact += cells as u64 - counts.count();
    let cell = |cell: FoundCell| CellMismatch {
        index: cell.index as usize,
        got: dtype.value(&cell.got),
        want: dtype.value(&cell.want),
    };
    let [first_unwritten, first_not_finite, first_mismatch] =
        found.firsts.map(|first| first.map(cell));
    TensorComparison {
        cells,
        error: f64::from_bits(found.error),
        worst: found.worst.map(|index| index as usize),
        counts,
        mismatched: found.mismatched as usize,
        not_finite: found.not_finite as usize,
        unwritten: found.unwritten as usize,
        first_mismatch,
        first_not_finite,
        first_unwritten,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_tells_unwritten_cells_from_wrong_values() {
        let marks = Dtype::F32.marks().unwrap_or_default();
        let cells = |bits: [u32; 4]| Cells::Host(bits.map(u32::to_ne_bytes).concat());
        let [one, three, nan] = [1.0, 3.0, f32::NAN].map(f32::to_bits);
        let (got, want) = (cells([one, three, marks[0], nan]), cells([one; 4]));
        let pair = Pair {
            dtype: Dtype::F32,
            got: &got,
            want: &want,
            tolerance: Some(&Tolerance::EXACT),
            unwritten: Unwritten::by_marks(Dtype::F32, None),
        };
        let Ok(picture) = Picture::of(&pair, [1, 4]) else {
            panic!("both tensors are there");
        };
        let tile = picture.tile();
        let got: Vec<_> = tile.cells[0].iter().map(|cell| cell.got).collect();
        assert_eq!(
            format!("{got:?}"),
            "[Some(1.0), Some(3.0), None, Some(NaN)]"
        );
        assert_eq!(picture.map("n=4").map(|map| map.wrong), Some(3));
    }
}

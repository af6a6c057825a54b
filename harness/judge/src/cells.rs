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

/// What is wrong in a pair of tensors with this many rows and columns, for a picture. `None` if nothing
/// is.
pub fn picture(
    pair: &Pair,
    shape: [usize; 2],
    workload: &str,
) -> Result<Option<(WrongMap, WrongTile)>> {
    let (dtype, host) = (pair.dtype, OnHost::of(pair)?);
    let tolerance = pair.tolerance.unwrap_or(&Tolerance::EXACT);
    let (both, unwritten) = ([&*host.got, &*host.want], host.unwritten(pair));
    let is_wrong = |index: &usize| gates::is_wrong(dtype, both, *index, tolerance, unwritten);
    let mut wrong = (0..shape[0] * shape[1]).filter(is_wrong).peekable();
    let Some(&first) = wrong.peek() else {
        return Ok(None);
    };
    let cell = |row: usize, column: usize| {
        let index = row * shape[1] + column;
        let at = index * dtype.size()..(index + 1) * dtype.size();
        let [got, expected] = both.map(|cells| dtype.value(&cells[at.clone()]).as_f64());
        let is_unwritten = unwritten.is_unwritten(dtype, &host.got[at.clone()], at.start);
        TileCell {
            expected,
            got: (!is_unwritten).then_some(got),
            is_wrong: is_wrong(&index),
        }
    };
    let [rows, columns] = WrongTile::around(shape, first);
    let tile = WrongTile {
        at: [rows.start, columns.start],
        cells: rows
            .map(|row| columns.clone().map(|column| cell(row, column)).collect())
            .collect(),
    };
    Ok(WrongMap::of(shape, wrong, workload).map(|map| (map, tile)))
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

    fn unwritten(&self, pair: &Pair) -> Unwritten<&[u8]> {
        let other = self.other.as_ref();
        let other = other.map(|(cells, pattern)| (&**cells, *pattern));
        Unwritten::new(pair.unwritten.patterns, other)
    }
}

fn on_host(pair: &Pair) -> Result<TensorComparison> {
    let (dtype, host) = (pair.dtype, OnHost::of(pair)?);
    let (got, want, unwritten) = (&host.got, &host.want, host.unwritten(pair));
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
        let Ok(Some((map, tile))) = picture(&pair, [1, 4], "n=4") else {
            panic!("three cells are wrong");
        };
        let got: Vec<_> = tile.cells[0].iter().map(|cell| cell.got).collect();
        assert_eq!(
            format!("{got:?}"),
            "[Some(1.0), Some(3.0), None, Some(NaN)]"
        );
        assert_eq!(map.wrong, 3);
    }
}

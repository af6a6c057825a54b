//! The cells of a tensor, in the judge's memory or held on the device, and how both are compared.

use crate::dtype::Dtype;
use crate::gates::{self, CellMismatch, TensorComparison, Tolerance};
use crate::outcome::Stop;
use crate::worker::cells::{CompareCells, FoundCell, FoundCells};
use crate::worker::{BufferId, JudgeMemory};
use lab_protocol::report::Histogram;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The bytes of a tensor.
#[derive(Clone, Debug)]
pub enum Cells {
    /// In the judge's memory.
    Host(Vec<u8>),
    /// On the device, where only the judge's own worker reaches them.
    Held(Arc<HeldCells>),
}

/// A buffer of the judge's own worker. Dropping it frees the buffer.
pub struct HeldCells {
    pub memory: Arc<JudgeMemory>,
    pub id: BufferId,
    bytes: usize,
}

impl HeldCells {
    pub fn new(memory: Arc<JudgeMemory>, id: BufferId, bytes: usize) -> Self {
        HeldCells { memory, id, bytes }
    }
}

impl Drop for HeldCells {
    fn drop(&mut self) {
        // An error shows again where the memory is needed.
        let _ = self.memory.free(self.id);
    }
}

impl fmt::Debug for HeldCells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes in {:?}", self.bytes, self.id)
    }
}

/// Held cells are equal to themselves only: to compare others takes the device.
impl PartialEq for Cells {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Cells::Host(one), Cells::Host(other)) => one == other,
            (Cells::Held(one), Cells::Held(other)) => Arc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl Cells {
    /// Their number of bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Cells::Host(bytes) => bytes.len(),
            Cells::Held(held) => held.bytes,
        }
    }

    /// The bytes, read from the device if they are held there.
    pub fn to_host(&self) -> Result<Cow<'_, [u8]>, Stop> {
        match self {
            Cells::Host(bytes) => Ok(Cow::Borrowed(bytes)),
            Cells::Held(held) => held.memory.read(held.id, held.bytes).map(Cow::Owned),
        }
    }

    /// The same cells, held on the device.
    fn held(&self, memory: &Arc<JudgeMemory>) -> Result<Cells, Stop> {
        match self {
            Cells::Host(bytes) => memory.hold(bytes),
            Cells::Held(_) => Ok(self.clone()),
        }
    }

    fn id(&self) -> Option<BufferId> {
        match self {
            Cells::Host(_) => None,
            Cells::Held(held) => Some(held.id),
        }
    }
}

/// How a cell that the kernel never wrote is known: it still holds what it was filled with.
#[derive(Clone, Copy, Debug)]
pub struct Unwritten<'a> {
    /// An unwritten cell holds one of these patterns. `None` if only its value is compared.
    patterns: Option<[u32; 2]>,
    /// What another launch on the same inputs left, and the pattern that an unwritten cell holds
    /// there. For types in which a pattern may also be a value.
    other: Option<(&'a Cells, u32)>,
}

impl<'a> Unwritten<'a> {
    /// For an output of which there is one launch only: a pattern that is no value of its type.
    pub fn of(dtype: Dtype) -> Self {
        Unwritten {
            patterns: (!dtype.poison_is_a_value()).then_some(dtype.poisons()),
            other: None,
        }
    }

    /// For an output that was filled with `pattern`, and before another launch, which left `other`,
    /// with `other_pattern`.
    pub fn by_two_launches(pattern: u32, other: &'a Cells, other_pattern: u32) -> Self {
        Unwritten {
            patterns: Some([pattern; 2]),
            other: Some((other, other_pattern)),
        }
    }

    fn on_host<T>(self, act: impl FnOnce(gates::Unwritten) -> T) -> Result<T, Stop> {
        let other = match self.other {
            Some((cells, pattern)) => Some((cells.to_host()?, pattern)),
            None => None,
        };
        let other = other.as_ref().map(|(cells, pattern)| (&**cells, *pattern));
        Ok(act(gates::Unwritten::new(self.patterns, other)))
    }
}

/// Compares two tensors of the same type and length: on the device if `got` is held there.
pub fn compare(
    dtype: Dtype,
    got: &Cells,
    want: &Cells,
    tolerance: &Tolerance,
    unwritten: Unwritten,
) -> Result<TensorComparison, Stop> {
    if got.bytes() == want.bytes()
        && let Cells::Held(held) = got
    {
        let found = on_device(dtype, (got, &held.memory), want, Some(tolerance), unwritten)?;
        return Ok(comparison(dtype, got.bytes() / dtype.size(), found));
    }
    let (got, want) = (got.to_host()?, want.to_host()?);
    unwritten.on_host(|unwritten| gates::compare(dtype, &got, &want, tolerance, unwritten))
}

/// The index of the first cell that was never written.
pub fn first_unwritten(
    dtype: Dtype,
    cells: &Cells,
    unwritten: Unwritten,
) -> Result<Option<usize>, Stop> {
    if let Cells::Held(held) = cells {
        let found = on_device(dtype, (cells, &held.memory), cells, None, unwritten)?;
        let [first, ..] = found.firsts;
        return Ok(first.map(|cell| cell.index as usize));
    }
    let cells = cells.to_host()?;
    unwritten.on_host(|unwritten| gates::first_unwritten(dtype, &cells, unwritten))
}

/// Compares on the device. Without a tolerance only unwritten cells are looked for.
fn on_device(
    dtype: Dtype,
    (got, memory): (&Cells, &Arc<JudgeMemory>),
    want: &Cells,
    tolerance: Option<&Tolerance>,
    unwritten: Unwritten,
) -> Result<FoundCells, Stop> {
    let want = want.held(memory)?;
    let other = match unwritten.other {
        Some((other, pattern)) => Some((other.held(memory)?, pattern)),
        None => None,
    };
    let (Some(got), Some(want_id)) = (got.id(), want.id()) else {
        return Err(Stop::Lab(
            "cells that are held nowhere cannot be compared there".into(),
        ));
    };
    let exact = tolerance.unwrap_or(&Tolerance::EXACT);
    memory.compare(CompareCells {
        got,
        want: want_id,
        dtype,
        atol: exact.atol.to_bits(),
        rtol: exact.rtol.to_bits(),
        patterns: unwritten.patterns,
        other: other
            .as_ref()
            .and_then(|(other, pattern)| Some((other.id()?, *pattern))),
        only_unwritten: tolerance.is_none(),
    })
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

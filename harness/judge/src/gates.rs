//! Comparing what a kernel wrote with what was expected.

use crate::dtype::{CellValue, Dtype};
use crate::parallel::each_on_a_thread;
use lab_protocol::report::Histogram;
use lab_system::threads::cores;

/// How far a cell may be off: `|got − want| ≤ atol + rtol·|want|`, for at least the fraction
/// `matched` of all cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// The absolute tolerance, in the unit of the cells.
    pub atol: f64,
    /// The relative tolerance.
    pub rtol: f64,
    /// The fraction of cells that must be within the tolerance, above 0 and at most 1.
    pub matched: f64,
}

impl Default for Tolerance {
    fn default() -> Self {
        Tolerance::EXACT
    }
}

impl Tolerance {
    /// Only equal cells pass.
    pub const EXACT: Tolerance = Tolerance {
        atol: 0.0,
        rtol: 0.0,
        matched: 1.0,
    };

    /// The error in units of what is allowed: 1 is the limit. Infinite if a number is missing. An
    /// expected infinity or NaN has no error. The difference of integers is exact. A zero of the
    /// other sign is an equal number, and has an error only where no other error is allowed.
    fn error(&self, got: CellValue, want: CellValue) -> f64 {
        let difference = match (got, want) {
            (CellValue::Integer(got), CellValue::Integer(want)) => got.abs_diff(want) as f64,
            _ => {
                let (got, want) = (got.as_f64(), want.as_f64());
                if got == want || (got.is_nan() && want.is_nan()) {
                    let is_other_zero =
                        got == 0.0 && got.is_sign_negative() != want.is_sign_negative();
                    return if is_other_zero && self.is_exact() {
                        OTHER_ZERO
                    } else {
                        0.0
                    };
                }
                (got - want).abs()
            }
        };
        if difference == 0.0 {
            return 0.0;
        }
        let error = difference / (self.atol + self.rtol * want.as_f64().abs());
        if error.is_nan() { f64::INFINITY } else { error }
    }

    /// Whether no difference between numbers is allowed. Then any other error than that of a zero of
    /// the other sign is infinite.
    pub fn is_exact(&self) -> bool {
        self.atol == 0.0 && self.rtol == 0.0
    }
}

/// The error of −0 where +0 is expected, or the other way round, at a tolerance of zero.
pub const OTHER_ZERO: f64 = 0.5;

/// How a cell that the kernel never wrote is known: it still holds what it was filled with.
#[derive(Clone, Copy, Debug)]
pub struct Unwritten<C> {
    /// An unwritten cell holds one of these patterns. `None` if only its value is compared.
    pub patterns: Option<[u32; 2]>,
    /// What another launch on the same inputs left, and the pattern that an unwritten cell holds
    /// there. For types in which a pattern may also be a value.
    pub other: Option<(C, u32)>,
}

impl<C> Unwritten<C> {
    /// An unwritten cell holds one of these patterns, and in the other launch's output this one.
    pub fn new(patterns: Option<[u32; 2]>, other: Option<(C, u32)>) -> Self {
        Unwritten { patterns, other }
    }
}

impl<'a> Unwritten<&'a [u8]> {
    /// The same for the part of the output that `bytes` selects.
    fn part(self, bytes: std::ops::Range<usize>) -> Self {
        let part =
            |(other, pattern): (&'a [u8], u32)| (other.get(bytes).unwrap_or_default(), pattern);
        Unwritten {
            other: self.other.map(part),
            ..self
        }
    }

    /// Whether the kernel never wrote this cell, which begins at the byte `at`.
    #[inline]
    pub fn is_unwritten(self, dtype: Dtype, cell: &[u8], at: usize) -> bool {
        let holds = |pattern: &u32| dtype.holds(cell, *pattern);
        let held_there = |(other, pattern): (&[u8], u32)| {
            let other = other.get(at..at + cell.len());
            other.is_some_and(|other| dtype.holds(other, pattern))
        };
        self.patterns.is_some_and(|all| all.iter().any(holds)) && self.other.is_none_or(held_there)
    }

    /// The index of the first cell, of `SIZE` bytes each, that was never written.
    fn first<const SIZE: usize>(self, dtype: Dtype, cells: &[u8]) -> Option<usize> {
        let mut each = cells.as_chunks::<SIZE>().0.iter().enumerate();
        each.position(|(i, cell)| self.is_unwritten(dtype, cell, i * SIZE))
    }
}

/// The index of the first cell that was never written.
pub fn first_unwritten(dtype: Dtype, cells: &[u8], unwritten: Unwritten<&[u8]>) -> Option<usize> {
    // With the size of a cell known when this is compiled, a cell is compared as one number: this
    // looks at whole tensors.
    match dtype.size() {
        1 => unwritten.first::<1>(dtype, cells),
        2 => unwritten.first::<2>(dtype, cells),
        4 => unwritten.first::<4>(dtype, cells),
        _ => unwritten.first::<8>(dtype, cells),
    }
}

/// Whether this cell of two tensors is beyond the tolerance, or was never written. [`compare`] counts
/// those.
pub fn is_wrong(
    dtype: Dtype,
    [got, want]: [&[u8]; 2],
    index: usize,
    tolerance: &Tolerance,
    unwritten: Unwritten<&[u8]>,
) -> bool {
    let at = index * dtype.size();
    let [got, want] = [got, want].map(|cells| &cells[at..at + dtype.size()]);
    let error = || tolerance.error(dtype.value(got), dtype.value(want));
    got != want && (unwritten.is_unwritten(dtype, got, at) || error() > 1.0)
}

/// A wrong cell: its flat index, its value and the expected value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellMismatch {
    /// The flat index.
    pub index: usize,
    /// The value that the kernel wrote.
    pub got: CellValue,
    /// The expected value.
    pub want: CellValue,
}

/// The result of comparing one tensor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TensorComparison {
    /// The number of cells compared.
    pub cells: usize,
    /// The largest error, in units of the tolerance.
    pub error: f64,
    /// The flat index of the first cell with that error; `None` if all cells are equal.
    pub worst: Option<usize>,
    /// How many errors are how large.
    pub counts: Histogram,
    /// Cells beyond the tolerance, for any reason.
    pub mismatched: usize,
    /// Among these: cells that are NaN or infinite where a finite number was expected.
    pub not_finite: usize,
    /// Among these: cells that the kernel never wrote.
    pub unwritten: usize,
    /// The first cell beyond the tolerance.
    pub first_mismatch: Option<CellMismatch>,
    /// The first cell that is not finite.
    pub first_not_finite: Option<CellMismatch>,
    /// The first cell that was never written.
    pub first_unwritten: Option<CellMismatch>,
}

impl TensorComparison {
    /// The fraction of cells beyond the tolerance, from 0 to 1.
    pub fn mismatched_fraction(&self) -> f64 {
        if self.cells == 0 {
            0.0
        } else {
            self.mismatched as f64 / self.cells as f64
        }
    }

    /// Returns whether enough cells are within the tolerance, and none is not finite or unwritten.
    pub fn passes(&self, tolerance: &Tolerance) -> bool {
        self.not_finite == 0
            && self.unwritten == 0
            && self.mismatched_fraction() <= allowed_mismatch(tolerance)
    }

    /// The first wrong cell of the gravest kind.
    pub fn first_wrong(&self) -> Option<&CellMismatch> {
        self.first_unwritten
            .as_ref()
            .or(self.first_not_finite.as_ref())
            .or(self.first_mismatch.as_ref())
    }

    /// Joins the results of two neighbouring parts of one tensor.
    fn join(mut self, next: TensorComparison) -> TensorComparison {
        self.counts.join(&next.counts);
        TensorComparison {
            cells: self.cells + next.cells,
            error: self.error.max(next.error),
            worst: if next.error > self.error {
                next.worst
            } else {
                self.worst
            },
            counts: self.counts,
            mismatched: self.mismatched + next.mismatched,
            not_finite: self.not_finite + next.not_finite,
            unwritten: self.unwritten + next.unwritten,
            first_mismatch: self.first_mismatch.or(next.first_mismatch),
            first_not_finite: self.first_not_finite.or(next.first_not_finite),
            first_unwritten: self.first_unwritten.or(next.first_unwritten),
        }
    }
}

/// The largest fraction of mismatched cells that passes. In binary, `1 − 0.999` is not quite 0.001;
/// it is rounded, so that a tensor exactly at its limit passes.
pub fn allowed_mismatch(tolerance: &Tolerance) -> f64 {
    ((1.0 - tolerance.matched) * 1e12).round() / 1e12
}

/// Compares two tensors of the same type and length, on all cores if the tensor is large.
pub fn compare(
    dtype: Dtype,
    got: &[u8],
    want: &[u8],
    tolerance: &Tolerance,
    unwritten: Unwritten<&[u8]>,
) -> TensorComparison {
    /// A thread costs more time than comparing fewer cells than this.
    const WORTH_A_THREAD: usize = 1 << 18;
    let cells = got.len().max(want.len()) / dtype.size();
    if got.len() != want.len() {
        // The worker's client returns whole buffers only. Should a length differ all the same,
        // everything counts as unwritten.
        let error = f64::INFINITY;
        return TensorComparison {
            cells,
            mismatched: cells,
            unwritten: cells,
            error,
            ..Default::default()
        };
    }
    let threads = cores();
    let share = cells.div_ceil(threads).max(WORTH_A_THREAD);
    if cells <= share {
        return compare_stretch(dtype, got, want, tolerance, unwritten, 0);
    }
    let bytes = share * dtype.size();
    let parts: Vec<_> = got
        .chunks(bytes)
        .zip(want.chunks(bytes))
        .enumerate()
        .collect();
    let compared = each_on_a_thread(&parts, |(i, (got, want))| {
        let unwritten = unwritten.part(i * bytes..i * bytes + got.len());
        compare_stretch(dtype, got, want, tolerance, unwritten, i * share)
    });
    let joined = compared.into_iter();
    joined.fold(TensorComparison::default(), TensorComparison::join)
}

/// Cells that are compared as bytes first: most of what is right is equal.
const BLOCK: usize = 64;

fn compare_stretch(
    dtype: Dtype,
    got: &[u8],
    want: &[u8],
    tolerance: &Tolerance,
    unwritten: Unwritten<&[u8]>,
    start: usize,
) -> TensorComparison {
    let size = dtype.size();
    let mut sum = Comparing {
        tolerance,
        sum: TensorComparison::default(),
    };
    let blocks = got.chunks(BLOCK * size).zip(want.chunks(BLOCK * size));
    for (number, (got, want)) in blocks.enumerate().filter(|(_, (got, want))| got != want) {
        let at = number * BLOCK;
        let unwritten = unwritten.part(at * size..at * size + got.len());
        // With the size of a cell known when this is compiled, a cell is one number and not a list
        // of bytes.
        match size {
            1 => sum.add_block::<1>(dtype, got, want, unwritten, start + at),
            2 => sum.add_block::<2>(dtype, got, want, unwritten, start + at),
            4 => sum.add_block::<4>(dtype, got, want, unwritten, start + at),
            _ => sum.add_block::<8>(dtype, got, want, unwritten, start + at),
        }
    }
    let mut sum = sum.sum;
    sum.cells = got.len() / size;
    // Equal cells were skipped above. Some of the counted ones are equal too, as 0 and −0.
    sum.counts.exact += sum.cells as u64 - sum.counts.count();
    sum
}

/// A comparison that is not complete.
struct Comparing<'a> {
    tolerance: &'a Tolerance,
    sum: TensorComparison,
}

impl Comparing<'_> {
    /// Adds some cells of `SIZE` bytes, the first of which has this flat index.
    fn add_block<const SIZE: usize>(
        &mut self,
        dtype: Dtype,
        got: &[u8],
        want: &[u8],
        unwritten: Unwritten<&[u8]>,
        first: usize,
    ) {
        let (got, want) = (got.as_chunks::<SIZE>().0, want.as_chunks::<SIZE>().0);
        for (i, (g, w)) in got
            .iter()
            .zip(want)
            .enumerate()
            .filter(|(_, (g, w))| g != w)
        {
            let cell = CellMismatch {
                index: first + i,
                got: dtype.value(g),
                want: dtype.value(w),
            };
            self.add_cell(cell, unwritten.is_unwritten(dtype, g, i * SIZE));
        }
    }

    fn add_cell(&mut self, cell: CellMismatch, is_unwritten: bool) {
        let Comparing { tolerance, sum } = self;
        let error = if is_unwritten {
            f64::INFINITY
        } else {
            tolerance.error(cell.got, cell.want)
        };
        sum.counts.add(error);
        if error > sum.error {
            (sum.error, sum.worst) = (error, Some(cell.index));
        }
        if is_unwritten {
            sum.unwritten += 1;
            sum.first_unwritten.get_or_insert(cell);
        } else if error <= 1.0 {
            return;
        } else if !cell.got.as_f64().is_finite() && cell.want.as_f64().is_finite() {
            sum.not_finite += 1;
            sum.first_not_finite.get_or_insert(cell);
        }
        sum.mismatched += 1;
        sum.first_mismatch.get_or_insert(cell);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab_device::POISON;

    fn unwritten_in(dtype: Dtype) -> Unwritten<&'static [u8]> {
        Unwritten::new(dtype.marks(), None)
    }

    const LOOSE: Tolerance = Tolerance {
        atol: 0.1,
        rtol: 0.0,
        matched: 1.0,
    };

    fn f32s(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    fn check(got: &[f32], want: &[f32], tolerance: &Tolerance) -> TensorComparison {
        compare(
            Dtype::F32,
            &f32s(got),
            &f32s(want),
            tolerance,
            unwritten_in(Dtype::F32),
        )
    }

    #[test]
    fn the_error_is_in_units_of_what_is_allowed() {
        let tolerance = Tolerance {
            atol: 0.5,
            rtol: 0.25,
            matched: 1.0,
        };
        let sum = check(&[2.5, 1.0, 1.25], &[2.0, 1.0, 1.0], &tolerance);
        assert_eq!((sum.error, sum.mismatched, sum.worst), (0.5, 0, Some(0)));
        assert_eq!(sum.counts.to_string(), "1,1 from=-2 exact=1 not_finite=0");
        assert!(sum.passes(&tolerance));
    }

    #[test]
    fn the_first_wrong_cell_is_named() {
        let sum = check(&[1.0, 1.3, 9.0], &[1.0, 1.0, 1.0], &LOOSE);
        assert_eq!(sum.mismatched, 2);
        assert_eq!(
            sum.first_mismatch,
            Some(CellMismatch {
                index: 1,
                got: CellValue::Float(1.3f32.into()),
                want: CellValue::Float(1.0)
            })
        );
        assert!(!sum.passes(&LOOSE));
    }

    #[test]
    fn a_fraction_may_be_off_but_nothing_may_be_missing() {
        let half = Tolerance {
            matched: 0.5,
            ..LOOSE
        };
        assert!(check(&[5.0, 1.0], &[1.0, 1.0], &half).passes(&half));
        assert!(!check(&[5.0, 5.0, 1.0], &[1.0; 3], &half).passes(&half));
        let nan = check(&[f32::NAN, 1.0], &[1.0, 1.0], &half);
        assert!(!nan.passes(&half));
        assert_eq!((nan.not_finite, nan.error), (1, f64::INFINITY));
        let unwritten = check(&[f32::from_bits(POISON), 1.0], &[1.0, 1.0], &half);
        assert!(!unwritten.passes(&half));
        assert_eq!((unwritten.unwritten, unwritten.not_finite), (1, 0));
    }

    #[test]
    fn infinities_and_nan_are_right_where_they_are_expected() {
        let odd = [f32::NAN, f32::INFINITY];
        assert!(
            check(
                &[f32::from_bits(0x7fc0_0001), f32::INFINITY],
                &odd,
                &Tolerance::EXACT
            )
            .passes(&LOOSE)
        );
        let sum = check(&[0.0, f32::NEG_INFINITY], &odd, &LOOSE);
        assert_eq!((sum.mismatched, sum.not_finite), (2, 0));
    }

    #[test]
    fn without_tolerance_a_zero_of_the_other_sign_passes_and_is_known() {
        for (got, want) in [(-0.0, 0.0), (0.0, -0.0)] {
            let exact = check(&[1.0, got], &[1.0, want], &Tolerance::EXACT);
            assert!(exact.passes(&Tolerance::EXACT));
            assert_eq!((exact.error, exact.worst), (OTHER_ZERO, Some(1)));
            assert_eq!(check(&[1.0, got], &[1.0, want], &LOOSE).error, 0.0);
        }
        assert_eq!(check(&[-0.0], &[-0.0], &Tolerance::EXACT).error, 0.0);
    }

    #[test]
    fn without_tolerance_only_equality_passes() {
        let exact = |a: i32, b: i32| {
            compare(
                Dtype::I32,
                &a.to_le_bytes(),
                &b.to_le_bytes(),
                &Tolerance::EXACT,
                unwritten_in(Dtype::I32),
            )
            .passes(&Tolerance::EXACT)
        };
        assert!(exact(16_777_217, 16_777_217));
        assert!(!exact(16_777_217, 16_777_216));
    }

    #[test]
    fn integers_beyond_the_range_of_a_float_are_compared_exactly() {
        let check = |got: i64, want: i64, tolerance: &Tolerance| {
            let (got, want) = (got.to_le_bytes(), want.to_le_bytes());
            compare(Dtype::I64, &got, &want, tolerance, unwritten_in(Dtype::I64))
        };
        const BIG: i64 = 1 << 53;
        assert!(check(BIG + 1, BIG + 1, &Tolerance::EXACT).passes(&Tolerance::EXACT));
        let off = check(BIG + 1, BIG, &Tolerance::EXACT);
        assert!(!off.passes(&Tolerance::EXACT));
        assert_eq!(
            off.first_mismatch.map(|cell| cell.got.to_string()),
            Some("9007199254740993".into())
        );
        let one = Tolerance {
            atol: 1.0,
            rtol: 0.0,
            matched: 1.0,
        };
        assert!(check(BIG + 1, BIG, &one).passes(&one));
        assert!(!check(BIG + 2, BIG, &one).passes(&one));
        assert!(
            !check(i64::MIN, i64::MAX, &one).passes(&one),
            "the difference does not overflow"
        );
    }

    #[test]
    fn a_right_value_that_equals_a_pattern_is_not_called_unwritten() {
        let [one, other, ..] = Dtype::U8.poisons();
        let (filled, filled_again) = (one.to_le_bytes()[0], other.to_le_bytes()[0]);
        let near = Tolerance {
            atol: 1.0,
            rtol: 0.0,
            matched: 1.0,
        };
        let two = |first: [u8; 2], second: [u8; 2], want: [u8; 2]| {
            let unwritten = Unwritten::new(Some([one; 2]), Some((&second[..], other)));
            compare(Dtype::U8, &first, &want, &near, unwritten)
        };
        // Written both times, within the tolerance, and equal to the first launch's pattern.
        let written = two([filled, 7], [filled, 7], [filled + 1, 7]);
        assert!(written.passes(&near), "{written:?}");
        // The second cell was never written.
        let missing = two([filled, filled], [filled, filled_again], [filled, 7]);
        assert_eq!(
            (
                missing.unwritten,
                missing.first_unwritten.map(|cell| cell.index)
            ),
            (1, Some(1))
        );
        assert!(!missing.passes(&near));
        // An unwritten cell counts as unwritten even if its pattern is within the tolerance.
        let close = two([filled, 7], [filled_again, 7], [filled + 1, 7]);
        assert_eq!(close.unwritten, 1);
        let single = compare(
            Dtype::U8,
            &[filled],
            &[filled + 1],
            &near,
            unwritten_in(Dtype::U8),
        );
        assert!(single.passes(&near), "one launch cannot tell");
    }

    #[test]
    fn the_first_cell_that_still_holds_a_pattern_is_found() {
        for &dtype in Dtype::ALL {
            let (size, [pattern, other, ..]) = (dtype.size(), dtype.poisons());
            let of_launch = |pattern: u32| {
                let mut cells = vec![0; 6 * size];
                let filled = pattern.to_le_bytes().repeat(12);
                cells[4 * size..].copy_from_slice(&filled[4 * size..6 * size]);
                cells
            };
            let (cells, others) = (of_launch(pattern), of_launch(other));
            let first = |unwritten| first_unwritten(dtype, &cells, unwritten);
            let alone = dtype.marks().map(|_| 4);
            assert_eq!(first(unwritten_in(dtype)), alone, "{dtype}");
            let two = Unwritten::new(Some([pattern; 2]), Some((&others[..], other)));
            assert_eq!(first(two), Some(4), "{dtype}");
            let written = vec![0; 6 * size];
            let two = Unwritten::new(Some([pattern; 2]), Some((&written[..], other)));
            assert_eq!(first(two), None, "{dtype}");
        }
    }

    #[test]
    fn each_thread_looks_at_its_own_part_of_the_other_launch() {
        let [one, other, ..] = Dtype::U8.poisons().map(|pattern| pattern.to_le_bytes()[0]);
        let cells = 1_200_000;
        let (mut first, mut second) = (vec![3; cells], vec![3; cells]);
        (first[1_100_000], second[1_100_000]) = (one, other);
        let [pattern, other_pattern, ..] = Dtype::U8.poisons();
        let unwritten = Unwritten::new(Some([pattern; 2]), Some((&second[..], other_pattern)));
        let sum = compare(
            Dtype::U8,
            &first,
            &vec![3; cells],
            &Tolerance::EXACT,
            unwritten,
        );
        assert_eq!(
            (sum.unwritten, sum.first_unwritten.map(|cell| cell.index)),
            (1, Some(1_100_000))
        );
    }

    #[test]
    fn many_threads_see_what_one_sees() {
        let mut got = vec![1.0f32; 1_500_000];
        got[700_001] = 2.0;
        got[1_400_000] = f32::NAN;
        got[900_000] = 1.05;
        let sum = check(&got, &vec![1.0; 1_500_000], &LOOSE);
        assert_eq!((sum.cells, sum.mismatched), (1_500_000, 2));
        assert_eq!(
            (sum.worst, sum.counts.not_finite, sum.counts.exact),
            (Some(1_400_000), 1, 1_499_997)
        );
        assert_eq!(sum.counts.bins().map(|(_, _, n)| n).sum::<u64>(), 2);
        assert_eq!(sum.first_mismatch.map(|c| c.index), Some(700_001));
        assert_eq!(sum.first_not_finite.map(|c| c.index), Some(1_400_000));
    }

    #[test]
    fn a_limit_is_met_exactly() {
        let tolerance = Tolerance {
            matched: 0.999,
            ..LOOSE
        };
        let mut got = vec![1.0; 1000];
        got[0] = 5.0;
        assert!(check(&got, &vec![1.0; 1000], &tolerance).passes(&tolerance));
    }
}

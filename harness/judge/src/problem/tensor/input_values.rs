//! The values that inputs are filled with.

mod check;

use super::cell_numbers;
use super::npy::NpyArray;
use super::random::shuffle;
use crate::dtype::{CellValue, Dtype};
use crate::parallel::each_part;
use crate::worker::cell_work::CellNumbers;
use itertools::Itertools as _;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, Uniform};
use std::sync::Arc;
use strum::IntoStaticStr;

/// How a tensor's values are distributed in a case: every bound is a number.
/// The text of a variant is its key in problem.toml.
#[derive(Clone, Debug, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum InputValues {
    Normal {
        mean: f64,
        std: f64,
    },
    Uniform {
        low: f64,
        high: f64,
    },
    /// Whole numbers, both ends included.
    Integers {
        low: i128,
        high: i128,
    },
    /// Each row holds whole numbers in ascending order: `low` first, `high` last. A number may
    /// occur several times. A row of one cell holds `low`. A row holds the cells along the last
    /// extent.
    Ascending {
        low: i128,
        high: i128,
    },
    /// Each row holds every whole number from 0 to its number of cells − 1 once.
    Permutation,
    Constant(CellValue),
    /// The same values in every run.
    Npy(Arc<NpyArray>),
    /// What the reference writes to the output with this number. Where no reference is asked,
    /// numbers from a range, both ends included: whole ones for integers.
    Expected {
        of: usize,
        low: f64,
        high: f64,
    },
    /// Cells of other types, one after the other in the bytes of each row.
    Packed(Vec<PackedField>),
}

/// The cells of one type in the rows of a tensor of bytes.
#[derive(Clone, Debug)]
pub struct PackedField {
    /// Bytes of a row before the first cell.
    pub offset: usize,
    pub dtype: Dtype,
    /// The extents of the tensor, with the cells of a row in place of its bytes.
    pub shape: Vec<usize>,
    pub values: InputValues,
}

impl PackedField {
    /// Writes the cells into rows of so many bytes.
    fn fill(&self, bytes: &mut [u8], row: usize, seed: u64) {
        let cells = self.values.fill(self.dtype, &self.shape, seed);
        let width = self
            .shape
            .last()
            .map_or(1, |cells| cells * self.dtype.size());
        for (row, cells) in bytes.chunks_exact_mut(row).zip(cells.chunks_exact(width)) {
            row[self.offset..][..width].copy_from_slice(cells);
        }
    }
}

/// This many standard deviations from the mean are within the range of the type. One number in 16,000
/// is farther away; it becomes the largest one.
const DEVIATIONS: f64 = 4.0;

/// The smallest f64 that is not below a whole number. Beyond 2⁵³ an f64 does not hold every one.
fn not_below(number: i128) -> f64 {
    let near = number as f64;
    if (near as i128) < number {
        near.next_up()
    } else {
        near
    }
}

/// The largest f64 that is not above a whole number.
fn not_above(number: i128) -> f64 {
    let near = number as f64;
    if (near as i128) > number {
        near.next_down()
    } else {
        near
    }
}

impl InputValues {
    /// The range that the values never leave; `None` for a normal distribution and a file.
    pub fn range(&self) -> Option<(f64, f64)> {
        match self {
            InputValues::Normal { .. }
            | InputValues::Permutation
            | InputValues::Npy(_)
            | InputValues::Packed(_) => None,
            InputValues::Uniform { low, high } | InputValues::Expected { low, high, .. } => {
                Some((*low, *high))
            }
            InputValues::Integers { low, high } | InputValues::Ascending { low, high } => {
                Some((not_below(*low), not_above(*high)))
            }
            InputValues::Constant(value) => Some((value.as_f64(), value.as_f64())),
        }
    }

    /// What the size of a number hardly ever exceeds; 0 for values without a known size.
    pub fn reach(&self) -> f64 {
        match self {
            InputValues::Normal { mean, std } => mean.abs() + DEVIATIONS * std,
            _ => self
                .range()
                .map_or(0.0, |(low, high)| low.abs().max(high.abs())),
        }
    }

    /// Why no extremes may be planted into such values; `None` if they may.
    pub fn forbids_planting(&self) -> Option<&'static str> {
        match self {
            InputValues::Ascending { .. } => Some("ascending values stay in their order"),
            InputValues::Permutation => Some("a permutation holds each number once"),
            InputValues::Npy(_) => Some("the values of a file stay as they are"),
            InputValues::Expected { .. } => Some("expected results stay as they are"),
            InputValues::Packed(_) => Some("the fields of packed values stay as they are"),
            InputValues::Constant(value) if !value.as_f64().is_finite() => {
                Some("a constant that is no finite number stays as it is")
            }
            InputValues::Normal { .. }
            | InputValues::Uniform { .. }
            | InputValues::Integers { .. }
            | InputValues::Constant(_) => None,
        }
    }

    /// The number of the output whose expected values these are.
    pub fn expected_of(&self) -> Option<usize> {
        match self {
            InputValues::Expected { of, .. } => Some(*of),
            _ => None,
        }
    }

    /// The distribution, if the judge's own worker can draw from it on the device.
    pub fn numbers(&self) -> Option<CellNumbers> {
        match *self {
            InputValues::Normal { mean, std } => Some(CellNumbers::Normal {
                mean: mean.to_bits(),
                std: std.to_bits(),
            }),
            InputValues::Uniform { low, high } => Some(CellNumbers::Uniform {
                low: low.to_bits(),
                high: high.to_bits(),
            }),
            InputValues::Integers { low, high } => Some(CellNumbers::integers(low, high)),
            _ => None,
        }
    }

    /// Fills a tensor of this shape and returns its bytes. The same seed gives the same bytes on
    /// any number of cores.
    pub fn fill(&self, dtype: Dtype, shape: &[usize], seed: u64) -> Vec<u8> {
        if let InputValues::Npy(array) = self {
            return array.cells.clone();
        }
        let size = dtype.size();
        let mut bytes = vec![0; shape.iter().product::<usize>() * size];
        let row = shape.last().copied().unwrap_or(1).max(1);
        if let InputValues::Packed(fields) = self {
            for (field, number) in fields.iter().zip(0..) {
                field.fill(&mut bytes, row, seed.wrapping_add(number));
            }
            return bytes;
        }
        each_stretch(
            &mut bytes,
            size,
            self.row_of(row),
            |stream, first, stretch| {
                if self.is_by_cell() {
                    self.fill_cells(dtype, stretch, seed, first as u64..);
                } else {
                    let mut rng = ChaCha8Rng::seed_from_u64(seed);
                    rng.set_stream(stream as u64);
                    self.fill_row(dtype, stretch, &mut rng);
                }
            },
        );
        bytes
    }

    /// The cells of a line: `count` of them, the first of which has this index, each so far from the
    /// next one. Only for values with [`InputValues::is_by_cell`].
    pub fn line(
        &self,
        dtype: Dtype,
        seed: u64,
        first: usize,
        stride: usize,
        count: usize,
    ) -> Vec<u8> {
        let size = dtype.size();
        let mut bytes = vec![0; count * size];
        each_stretch(&mut bytes, size, STRETCH, |_, begin, stretch| {
            let cells = (first + begin * stride..)
                .step_by(stride)
                .map(|cell| cell as u64);
            self.fill_cells(dtype, stretch, seed, cells);
        });
        bytes
    }

    /// Whether a cell's value follows from the seed and the cell's index, whatever its row holds.
    pub fn is_by_cell(&self) -> bool {
        match self {
            InputValues::Normal { .. }
            | InputValues::Uniform { .. }
            | InputValues::Integers { .. }
            | InputValues::Expected { .. }
            | InputValues::Constant(_) => true,
            InputValues::Ascending { .. }
            | InputValues::Permutation
            | InputValues::Npy(_)
            | InputValues::Packed(_) => false,
        }
    }

    /// Cells that are filled together.
    fn row_of(&self, row: usize) -> usize {
        if self.is_by_cell() { STRETCH } else { row }
    }

    /// Fills cells with these indices.
    fn fill_cells(
        &self,
        dtype: Dtype,
        cells: &mut [u8],
        seed: u64,
        indices: impl Iterator<Item = u64>,
    ) {
        let numbers = match *self {
            InputValues::Constant(CellValue::Float(value)) => {
                return dtype.encode_each(cells, || value);
            }
            InputValues::Constant(CellValue::Integer(value)) => {
                return dtype.encode_each_integer(cells, || value as i64);
            }
            InputValues::Expected { low, high, .. } => match dtype.integers() {
                Some((least, most)) => {
                    let [low, high] = [low, high].map(|end| (end as i128).clamp(least, most));
                    Some(CellNumbers::integers(low, high))
                }
                None => InputValues::Uniform { low, high }.numbers(),
            },
            _ => self.numbers(),
        };
        if let Some(numbers) = numbers {
            cell_numbers::fill(numbers, dtype, cells, seed, indices);
        }
    }

    /// Fills a row of values that make sense in rows only.
    fn fill_row(&self, dtype: Dtype, row: &mut [u8], rng: &mut ChaCha8Rng) {
        let cells = row.len() / dtype.size();
        match self {
            InputValues::Ascending { low, high } => {
                fill_with(dtype, row, &ascending(*low, *high, cells, rng));
            }
            InputValues::Permutation => fill_with(dtype, row, &permutation(cells, rng)),
            _ => {}
        }
    }
}

/// Cells that a thread fills at a time.
const STRETCH: usize = 1 << 13;

/// Calls `fill` for each stretch of so many cells: with its number, its first cell and its bytes. On
/// all cores if there are many cells.
fn each_stretch(
    bytes: &mut [u8],
    size: usize,
    row: usize,
    fill: impl Fn(usize, usize, &mut [u8]) + Sync,
) {
    /// Cells that take a thread about a millisecond, which is many times as long as starting it.
    const WORTH_A_THREAD: usize = 1 << 17;
    let rows = (WORTH_A_THREAD / row).max(1);
    each_part(bytes, rows * row * size, |part, bytes| {
        for (number, stretch) in (part * rows..).zip(bytes.chunks_mut(row * size)) {
            fill(number, number * row, stretch);
        }
    });
}

/// Why every distribution has a sampler.
const CHECKED: &str = "`check` has refused ranges without a sampler";

fn fill_with(dtype: Dtype, cells: &mut [u8], numbers: &[i128]) {
    let mut numbers = numbers.iter();
    dtype.encode_each_integer(cells, || numbers.next().map_or(0, |number| *number as i64));
}

/// Whole numbers in ascending order, from `low` to `high`.
fn ascending(low: i128, high: i128, cells: usize, rng: &mut ChaCha8Rng) -> Vec<i128> {
    let uniform = Uniform::new_inclusive(low, high).expect(CHECKED);
    let mut numbers = (0..cells).map(|_| uniform.sample(rng)).collect_vec();
    numbers.sort_unstable();
    if let Some(last) = numbers.last_mut() {
        *last = high;
    }
    if let Some(first) = numbers.first_mut() {
        *first = low;
    }
    numbers
}

/// The whole numbers below `cells` in a random order.
fn permutation(cells: usize, rng: &mut ChaCha8Rng) -> Vec<i128> {
    let mut numbers = (0..cells as i128).collect_vec();
    shuffle(rng, &mut numbers);
    numbers
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_range_of_large_whole_numbers_is_not_left_by_rounding() {
        for (low, high) in [
            (i64::MIN.into(), i64::MAX.into()),
            (0, u64::MAX.into()),
            (1 << 53, (1 << 60) + 1),
            ((1 << 60) + 1, (1 << 61) - 1),
            (-7, 9),
        ] {
            let range = super::InputValues::Integers { low, high }.range();
            let (a, b) = range.unwrap_or_default();
            assert!(
                a as i128 >= low && b as i128 <= high,
                "{low} {high}: {a} {b}"
            );
            assert!(a <= b && (a - low as f64).abs() <= 256.0);
            assert!((b - high as f64).abs() <= high as f64 / 2f64.powi(53));
        }
    }

    use super::*;

    fn numbers(values: &InputValues, dtype: Dtype, shape: &[usize], seed: u64) -> Vec<f64> {
        values
            .fill(dtype, shape, seed)
            .chunks(dtype.size())
            .map(|c| dtype.decode(c))
            .collect()
    }

    fn why(values: &InputValues, dtype: Dtype, shape: &[usize]) -> String {
        values
            .check(dtype, shape)
            .err()
            .map_or(String::new(), |error| format!("{error:?}"))
    }

    #[test]
    fn a_seed_fixes_every_value_and_another_changes_them() {
        let normal = InputValues::Normal {
            mean: 0.0,
            std: 1.0,
        };
        let first = normal.fill(Dtype::F16, &[2, 100_000], 7);
        assert_eq!(first, normal.fill(Dtype::F16, &[200_000], 7));
        assert_ne!(first, normal.fill(Dtype::F16, &[200_000], 8));
        assert_ne!(
            first[..1000],
            first[2 * 65536..][..1000],
            "stretches differ"
        );
        assert_eq!(
            first[..1000],
            normal.fill(Dtype::F16, &[500], 7),
            "a shorter tensor is a beginning"
        );
        for rows in [
            InputValues::Permutation,
            InputValues::Ascending { low: 0, high: 1000 },
        ] {
            assert_eq!(
                rows.fill(Dtype::I32, &[9, 50], 7),
                rows.fill(Dtype::I32, &[9, 50], 7)
            );
            assert_ne!(
                rows.fill(Dtype::I32, &[9, 50], 7),
                rows.fill(Dtype::I32, &[9, 50], 8)
            );
        }
    }

    #[test]
    fn a_range_that_overflows_is_refused() {
        let wide = InputValues::Uniform {
            low: -1.5e308,
            high: 1.5e308,
        };
        assert!(why(&wide, Dtype::F32, &[1]).contains("finite"));
    }

    #[test]
    fn moments_are_those_asked_for() {
        let drawn = numbers(
            &InputValues::Normal {
                mean: 3.0,
                std: 0.5,
            },
            Dtype::F32,
            &[100_000],
            1,
        );
        let mean = drawn.iter().sum::<f64>() / 1e5;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e5;
        assert!(
            (mean - 3.0).abs() < 0.01 && (variance - 0.25).abs() < 0.01,
            "{mean} {variance}"
        );
    }

    #[test]
    fn ranges_are_kept_and_reached() {
        let drawn = numbers(
            &InputValues::Integers { low: -2, high: 2 },
            Dtype::I32,
            &[1000],
            1,
        );
        for value in -2..=2 {
            assert!(drawn.contains(&f64::from(value)));
        }
        assert!(drawn.iter().all(|v| (-2.0..=2.0).contains(v)));
        let uniform = numbers(
            &InputValues::Uniform {
                low: 1.0,
                high: 2.0,
            },
            Dtype::F32,
            &[1000],
            1,
        );
        assert!(uniform.iter().all(|v| (1.0..=2.0).contains(v)));
        assert_eq!(
            numbers(
                &InputValues::Constant(CellValue::Float(0.5)),
                Dtype::Bf16,
                &[3],
                1
            ),
            [0.5; 3]
        );
        let all = InputValues::Integers {
            low: i64::MIN.into(),
            high: i64::MAX.into(),
        };
        let drawn = numbers(&all, Dtype::I64, &[1000], 1);
        assert!(drawn.iter().any(|v| *v > 1e18) && drawn.iter().any(|v| *v < -1e18));
    }

    #[test]
    fn a_permutation_holds_each_number_of_a_row_once() {
        let drawn = numbers(&InputValues::Permutation, Dtype::I32, &[3, 100], 5);
        let rows: Vec<&[f64]> = drawn.chunks(100).collect();
        for row in &rows {
            let mut sorted = row.to_vec();
            sorted.sort_by(f64::total_cmp);
            assert!(
                sorted
                    .iter()
                    .enumerate()
                    .all(|(i, value)| *value == i as f64)
            );
        }
        assert!(rows[0] != rows[1] && rows[1] != rows[2]);
    }

    #[test]
    fn ascending_numbers_begin_and_end_at_the_ends_of_their_range() {
        let offsets = InputValues::Ascending { low: 3, high: 20 };
        let drawn = numbers(&offsets, Dtype::I64, &[50, 30], 5);
        for row in drawn.chunks(30) {
            assert!(
                row.is_sorted() && row[0] == 3.0 && row[29] == 20.0,
                "{row:?}"
            );
        }
        assert!(
            drawn
                .chunks(30)
                .any(|row| row.windows(2).any(|pair| pair[0] == pair[1])),
            "empty segments"
        );
        assert_eq!(numbers(&offsets, Dtype::I32, &[2, 1], 5), [3.0, 3.0]);
        assert_eq!(numbers(&offsets, Dtype::I32, &[2], 5), [3.0, 20.0]);
    }

    #[test]
    fn numbers_that_do_not_fit_a_type_are_refused() {
        let integers = InputValues::Integers { low: -1, high: 9 };
        assert_eq!(
            why(&integers, Dtype::U8, &[1]),
            "KeyError { path: [Key(\"low\"), Key(\"integers\")], \
             what: \"-1 does not fit u8, which goes from 0 to 255\" }"
        );
        assert_eq!(why(&integers, Dtype::I8, &[1]), "");
        let large = InputValues::Ascending { low: 0, high: 500 };
        assert!(
            why(&large, Dtype::F8e4m3, &[1])
                .contains("500 does not fit f8e4m3, which goes from -448 to 448")
        );
        assert_eq!(why(&large, Dtype::F8e5m2, &[1]), "");
        let empty = InputValues::Integers { low: 9, high: 3 };
        assert!(
            why(&empty, Dtype::I32, &[1]).contains("integers needs low ≤ high, and 9 is above 3")
        );
        assert!(
            why(&InputValues::Permutation, Dtype::U8, &[2, 257])
                .contains("from 0 to 256 does not fit u8")
        );
        assert_eq!(why(&InputValues::Permutation, Dtype::U8, &[2, 256]), "");
        assert!(why(&InputValues::Permutation, Dtype::Bf16, &[1000]).contains("counts to 256"));
        let far = InputValues::Integers {
            low: 0,
            high: 65_505,
        };
        assert!(
            why(&far, Dtype::F16, &[1])
                .contains("65505 does not fit f16, which goes from -65504 to 65504")
        );
        assert_eq!(why(&far, Dtype::Bf16, &[1]), "");
        let half = InputValues::Constant(CellValue::Float(0.5));
        assert!(
            why(&half, Dtype::I8, &[1]).contains("0.5 is not a whole number, which an i8 needs")
        );
        let two = InputValues::Constant(CellValue::Integer(2));
        assert!(
            why(&two, Dtype::Bool, &[1]).contains("2 does not fit bool, which goes from 0 to 1")
        );
        let normal = InputValues::Normal {
            mean: 0.0,
            std: 1.0,
        };
        assert!(why(&normal, Dtype::Bool, &[1]).contains("a bool tensor takes integers"));
    }

    #[test]
    fn floats_beyond_the_range_of_a_type_are_refused() {
        let constant = |value| InputValues::Constant(CellValue::Float(value));
        assert_eq!(
            why(&constant(-1e5), Dtype::F16, &[1]),
            "KeyError { path: [Key(\"constant\")], \
             what: \"-1e5 does not fit f16, which goes from -65504 to 65504\" }"
        );
        assert!(why(&constant(1e39), Dtype::F32, &[1]).contains("1e39 does not fit f32"));
        assert!(why(&constant(449.0), Dtype::F8e4m3, &[1]).contains("from -448 to 448"));
        assert_eq!(why(&constant(57_344.0), Dtype::F8e5m2, &[1]), "");
        assert_eq!(why(&constant(f32::MIN.into()), Dtype::F32, &[1]), "");
        let range = InputValues::Uniform {
            low: -1000.0,
            high: 7.0,
        };
        assert!(
            why(&range, Dtype::F8e4m3, &[1])
                .contains("[Key(\"low\"), Key(\"uniform\")], what: \"-1e3 does not fit")
        );
        assert_eq!(why(&range, Dtype::F8e5m2, &[1]), "");
        let normal = |mean, std| InputValues::Normal { mean, std };
        assert!(
            why(&normal(1e39, 1.0), Dtype::Bf16, &[1])
                .contains("[Key(\"mean\"), Key(\"normal\")], what: \"1e39")
        );
        let wide = why(&normal(8.0, 111.0), Dtype::F8e4m3, &[1]);
        assert!(
            wide.contains("[Key(\"std\"), Key(\"normal\")], what: \"its numbers do not fit f8e4m3"),
            "{wide}"
        );
        assert_eq!(why(&normal(8.0, 110.0), Dtype::F8e4m3, &[1]), "");
        // What is farther away all the same stays finite.
        let drawn = numbers(&normal(0.0, 1e5), Dtype::F16, &[1000], 3);
        assert!(drawn.iter().all(|value| value.is_finite()) && drawn.contains(&65_504.0));
    }
}

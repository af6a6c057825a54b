//! Extremes that are planted into drawn inputs: values that random numbers hardly ever show, and that a wrong kernel may
//! depend on, such as a row without a positive number, or a largest value in the last column.

use super::input_values::InputValues;
use crate::dtype::Dtype;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Deserialize;

/// What a planted row looks like. A row holds the cells along the last extent of a tensor. Where `values` has a range, no
/// planted value leaves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extreme {
    /// Every cell times 1000; with a range, its high end.
    Large,
    /// Every cell divided by 1000; with a range, its low end.
    Small,
    /// Zeros.
    Zero,
    /// Every cell as the first one.
    Constant,
    /// No positive number.
    Negative,
    /// No negative number.
    Positive,
    /// The first cell is 20 times as large as any other one; with a range, its high end.
    LargeFirst,
    /// The same with the last cell.
    LargeLast,
}

impl Extreme {
    const ALL: [Extreme; 8] = [
        Extreme::Large,
        Extreme::Small,
        Extreme::Zero,
        Extreme::Constant,
        Extreme::Negative,
        Extreme::Positive,
        Extreme::LargeFirst,
        Extreme::LargeLast,
    ];

    /// Changes a row of drawn numbers. `range` is that of the values, if they have one, and `largest` the largest number
    /// that may be planted.
    fn plant(self, row: &mut [f64], range: Option<(f64, f64)>, largest: f64) {
        let peak = row.iter().fold(0.0, |peak: f64, x| peak.max(x.abs()));
        let peak = range.map_or(20.0 * peak, |(_, high)| high);
        let first = row.first().copied().unwrap_or(0.0);
        let last = row.len().saturating_sub(1);
        for (column, x) in row.iter_mut().enumerate() {
            let planted = match self {
                Extreme::Large => range.map_or(*x * 1000.0, |(_, high)| high),
                Extreme::Small => range.map_or(*x / 1000.0, |(low, _)| low),
                Extreme::Zero => 0.0,
                Extreme::Constant => first,
                Extreme::Negative => -x.abs(),
                Extreme::Positive => x.abs(),
                Extreme::LargeFirst if column == 0 => peak,
                Extreme::LargeLast if column == last => peak,
                Extreme::LargeFirst | Extreme::LargeLast => *x,
            };
            let (low, high) = range.unwrap_or((-largest, largest));
            *x = planted.clamp(low, high);
        }
    }
}

/// The key `planted` of a tensor: `true` for every kind, or a list of kinds.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "planted is true, false, or a list of: large, small, zero, constant, negative, \
                               positive, large_first, large_last"
)]
pub enum PlantedText {
    All(bool),
    Kinds(Vec<Extreme>),
}

impl PlantedText {
    pub fn kinds(&self) -> Vec<Extreme> {
        match self {
            PlantedText::All(true) => Extreme::ALL.to_vec(),
            PlantedText::All(false) => Vec::new(),
            PlantedText::Kinds(kinds) => kinds.clone(),
        }
    }
}

/// The largest number that is planted: the range of f16 with a margin, so that a kernel may square it in f32, and may
/// round it to f16.
const LARGEST: f64 = 16_000.0;

/// Plants extremes into the bytes of a drawn tensor whose rows have `cols` cells. Each kind gets a row of its own; at least
/// half of the rows stay as drawn. A tensor with one row gets one kind, or none. The seed selects the rows and the kinds.
pub fn plant(
    bytes: &mut [u8],
    dtype: Dtype,
    cols: usize,
    values: &InputValues,
    kinds: &[Extreme],
    seed: u64,
) {
    let row_bytes = cols * dtype.size();
    if kinds.is_empty() || row_bytes == 0 {
        return;
    }
    let rows = bytes.len() / row_bytes;
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ PLANTED);
    let mut below = |end: usize| (rng.next_u64() % end.max(1) as u64) as usize;
    let planted = if rows == 1 { below(2) } else { (rows / 2).min(kinds.len()) };
    let (mut kinds, mut taken) = (kinds.to_vec(), Vec::new());
    for number in 0..planted {
        let other = number + below(kinds.len() - number);
        kinds.swap(number, other);
        let row = std::iter::repeat_with(|| below(rows)).find(|row| !taken.contains(row)).unwrap_or(0);
        taken.push(row);
        let cells = &mut bytes[row * row_bytes..][..row_bytes];
        let mut numbers: Vec<f64> = cells.chunks_exact(dtype.size()).map(|cell| dtype.decode(cell)).collect();
        kinds[number].plant(&mut numbers, values.range(), LARGEST);
        let mut encoded = Vec::with_capacity(row_bytes);
        numbers.iter().for_each(|number| dtype.encode(*number, &mut encoded));
        cells.copy_from_slice(&encoded);
    }
}

/// Makes the random numbers others than those of the drawn values.
const PLANTED: u64 = 0x706c_616e_7465_6421;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn drawn(values: &str, rows: usize, cols: usize, seed: u64) -> (Vec<f64>, Vec<f64>) {
        #[derive(Deserialize)]
        struct Text {
            values: InputValues,
        }
        let Text { values } = toml::from_str(&format!("values = {values}")).unwrap();
        let before = values.fill(Dtype::F32, &[rows, cols], seed);
        let mut after = before.clone();
        plant(&mut after, Dtype::F32, cols, &values, &Extreme::ALL, seed);
        let numbers = |bytes: &[u8]| bytes.chunks(4).map(|cell| Dtype::F32.decode(cell)).collect();
        (numbers(&before), numbers(&after))
    }

    #[test]
    fn each_kind_is_in_a_row_of_its_own_and_half_of_the_rows_stay() {
        let (before, after) = drawn("{ normal = { std = 0.01 } }", 100, 50, 3);
        let changed: Vec<&[f64]> =
            after.chunks(50).zip(before.chunks(50)).filter(|(a, b)| a != b).map(|(a, _)| a).collect();
        assert_eq!(changed.len(), 8);
        let largest = |row: &&&[f64]| row.iter().fold(0.0, |l: f64, x| l.max(x.abs()));
        let count = |is: &dyn Fn(&&[f64]) -> bool| changed.iter().filter(|row| is(row)).count();
        assert_eq!(count(&|row| row.iter().all(|x| *x == 0.0)), 1);
        assert_eq!(count(&|row| row.iter().all(|x| *x < 0.0) && row[0] != row[1]), 1);
        assert_eq!(count(&|row| row[49] > 10.0 * row[48].abs() && row[49] > 0.2), 1, "the last column");
        assert_eq!(count(&|row| row[0] > 10.0 * row[1].abs() && row[0] > 0.2), 1, "the first column");
        assert_eq!(changed.iter().filter(|row| largest(row) > 10.0).count(), 1);
        assert_eq!(changed.iter().filter(|row| (1e-9..1e-4).contains(&largest(row))).count(), 1);
        let (before, after) = drawn("{ normal = {} }", 5, 4, 3);
        let same = after.chunks(4).zip(before.chunks(4)).filter(|(a, b)| a == b).count();
        assert!(same >= 3, "{after:?}");
    }

    #[test]
    fn one_row_is_sometimes_as_drawn() {
        let changed = (0..20).filter(|seed| {
            let (before, after) = drawn("{ normal = {} }", 1, 9, *seed);
            before != after
        });
        assert!((3..18).contains(&changed.count()));
    }

    #[test]
    fn no_planted_value_leaves_a_range() {
        for seed in 0..20 {
            let (_, after) = drawn("{ uniform = { low = 0.5, high = 1.5 } }", 40, 7, seed);
            assert!(after.iter().all(|x| (0.5..=1.5).contains(x)), "{after:?}");
            let (_, after) = drawn("{ integers = { low = 3, high = 9 } }", 40, 7, seed);
            assert!(after.iter().all(|x| (3.0..=9.0).contains(x) && x.fract() == 0.0), "{after:?}");
            assert!(after.chunks(7).any(|row| row.iter().all(|x| *x == 9.0)));
        }
    }

    #[test]
    fn a_seed_fixes_what_is_planted() {
        assert_eq!(drawn("{ normal = {} }", 30, 5, 8), drawn("{ normal = {} }", 30, 5, 8));
    }
}

//! What each change makes of the cells of a line in the judge's memory.
#![allow(clippy::unwrap_used)]

use super::*;

/// More cells than one thread gets.
const CELLS: usize = (1 << 17) + 5;

/// A tensor of these numbers, and the numbers of the line that begins at the cell `start`.
struct Tensor {
    dtype: Dtype,
    bytes: Vec<u8>,
    start: usize,
    stride: usize,
}

/// Tensors of each type that hold these numbers again and again, in a line whose cells are
/// neighbours, and in one whose cells are not.
fn tensors(types: &[Dtype], numbers: &[f64]) -> Vec<Tensor> {
    let each = types.iter().flat_map(|dtype| [(*dtype, 1), (*dtype, 3)]);
    let tensor = |(dtype, stride): (Dtype, usize)| {
        let cell = |at: usize| dtype.cell(numbers[at / stride % numbers.len()]);
        let bytes = (0..CELLS * stride + 4).flat_map(cell).collect();
        Tensor {
            dtype,
            bytes,
            start: stride,
            stride,
        }
    };
    each.map(tensor).collect()
}

impl Tensor {
    fn line(&mut self) -> HostLine<'_> {
        HostLine::new(&mut self.bytes, self.dtype, self.start, self.stride, CELLS)
    }

    fn numbers(&self) -> Vec<f64> {
        let cells = self.bytes.chunks(self.dtype.size());
        let line = cells.skip(self.start).step_by(self.stride).take(CELLS);
        line.map(|cell| self.dtype.decode(cell)).collect()
    }

    /// Makes a change, compares the numbers of the line with those expected of each index and
    /// number, and all cells between with what they were.
    fn expect(&mut self, change: LineChange, expected: impl Fn(usize, f64) -> f64) {
        let before = (self.bytes.clone(), self.numbers());
        self.line().change(vec![change]).unwrap();
        for (index, (was, is)) in before.1.iter().zip(self.numbers()).enumerate() {
            let wanted = self.dtype.bits(expected(index, *was));
            let wanted = self.dtype.value_of_bits(wanted).as_f64();
            assert_eq!(
                is.to_bits(),
                wanted.to_bits(),
                "{} {change:?}: cell {index}, which was {was}",
                self.dtype
            );
        }
        let size = self.dtype.size();
        let cells = before.0.chunks(size).zip(self.bytes.chunks(size));
        for (cell, (was, is)) in cells.enumerate() {
            let from_start = cell.checked_sub(self.start);
            let is_in_line = from_start
                .is_some_and(|cell| cell % self.stride == 0 && cell / self.stride < CELLS);
            assert!(is_in_line || was == is, "{} cell {cell}", self.dtype);
        }
    }
}

fn map(factor: f64, sign: Sign, low: f64, high: f64) -> LineChange {
    let [factor, low, high] = [factor, low, high].map(f64::to_bits);
    LineChange::Map {
        factor,
        sign,
        low,
        high,
    }
}

const SIGNED: [Dtype; 10] = [
    Dtype::F64,
    Dtype::F32,
    Dtype::F16,
    Dtype::Bf16,
    Dtype::F8e4m3,
    Dtype::F8e5m2,
    Dtype::I8,
    Dtype::I16,
    Dtype::I32,
    Dtype::I64,
];

#[test]
fn numbers_are_multiplied_get_a_sign_and_stay_between_two_ends() {
    let seed = 5;
    for tensor in &mut tensors(&SIGNED, &[-7.0, 3.0, 0.0, 12.0, 2.0, -20.0]) {
        tensor.expect(map(2.0, Sign::Own, -30.0, 20.0), |_, x| {
            (2.0 * x).clamp(-30.0, 20.0)
        });
        tensor.expect(map(0.5, Sign::Random { seed }, -14.0, 15.0), |index, x| {
            let sign = if word(seed, index as u64) >> 63 == 1 {
                -1.0
            } else {
                1.0
            };
            (sign * (0.5 * x)).clamp(-14.0, 15.0)
        });
        let numbers = tensor.numbers();
        let negative = numbers.iter().filter(|x| **x < 0.0).count();
        assert!((CELLS / 3..CELLS / 2).contains(&negative), "{negative}");
        tensor.expect(map(1.0, Sign::Negative, -9.0, 0.0), |_, x| {
            (-x.abs()).max(-9.0)
        });
        tensor.expect(map(1.0, Sign::Positive, 0.0, 8.0), |_, x| x.abs().min(8.0));
    }
}

#[test]
fn numbers_at_an_end_and_beyond_it_are_replaced() {
    for tensor in &mut tensors(&SIGNED, &[-7.0, 3.0, -0.0, 12.0, 2.0, -20.0]) {
        let dtype = tensor.dtype;
        let replace = |edge, is_low, by| LineChange::Replace {
            edge: dtype.bits(edge),
            is_low,
            by: dtype.bits(by),
        };
        tensor.expect(
            replace(3.0, false, -1.0),
            |_, x| {
                if x >= 3.0 { -1.0 } else { x }
            },
        );
        tensor.expect(
            replace(-7.0, true, 5.0),
            |_, x| {
                if x <= -7.0 { 5.0 } else { x }
            },
        );
        // The sign of a zero does not count.
        tensor.expect(
            replace(0.0, false, -2.0),
            |_, x| {
                if x >= 0.0 { -2.0 } else { x }
            },
        );
    }
    // A whole number that no f64 holds.
    let (below, edge) = (i64::MAX - 2, i64::MAX - 1);
    let mut bytes = [below, edge, i64::MAX].map(i64::to_le_bytes).concat();
    let replace = LineChange::Replace {
        edge: edge as u64,
        is_low: false,
        by: 7,
    };
    let mut line = HostLine::new(&mut bytes, Dtype::I64, 0, 1, 3);
    line.change(vec![replace]).unwrap();
    assert_eq!(bytes, [below, 7, 7].map(i64::to_le_bytes).concat());
    // As a u64, the lowest i64 lies above the largest one.
    let mut bytes = [i64::MIN, below, edge].map(i64::to_le_bytes).concat();
    let mut line = HostLine::new(&mut bytes, Dtype::U64, 0, 1, 3);
    line.change(vec![replace]).unwrap();
    assert_eq!(bytes, [7, below, 7].map(i64::to_le_bytes).concat());
}

#[test]
fn cells_are_drawn_by_their_index_in_the_line() {
    for tensor in &mut tensors(Dtype::ALL, &[0.0, 1.0]) {
        let (low, high) = (0, 1);
        let numbers = CellNumbers::Integers { low, high };
        tensor.expect(LineChange::Draw { numbers, seed: 3 }, |index, _| {
            (word(3, index as u64) >> 63) as f64
        });
        let [one, other] = [0.0, 1.0].map(|number| tensor.dtype.bits(number));
        let numbers = CellNumbers::OneOf([one, other, other, other]);
        tensor.expect(LineChange::Draw { numbers, seed: 4 }, |index, _| {
            f64::from(word(4, index as u64) >> 62 > 0)
        });
    }
    for tensor in &mut tensors(&[Dtype::F32, Dtype::F16], &[0.0]) {
        let [low, high] = [-2.5, 1.25].map(f64::to_bits);
        let numbers = CellNumbers::Uniform { low, high };
        let (dtype, mut one) = (tensor.dtype, tensor.bytes[..tensor.dtype.size()].to_vec());
        fill(numbers, dtype, &mut one, 9, 70_000..);
        let expected = dtype.decode(&one);
        tensor
            .line()
            .change(vec![LineChange::Draw { numbers, seed: 9 }])
            .unwrap();
        let numbers = tensor.numbers();
        assert_eq!(numbers[70_000], expected);
        assert!(numbers.iter().all(|x| (-2.5..=1.25).contains(x)));
    }
}

#[test]
fn cells_are_repeated_and_single_ones_are_written() {
    let numbers = [-7.0, 3.0, 0.0, 12.0, 2.0, -20.0];
    for tensor in &mut tensors(&SIGNED, &numbers) {
        let before = tensor.numbers();
        let of = [0, 70_001, 4, CELLS - 1];
        tensor.expect(LineChange::Repeat { of, seed: 8 }, |index, _| {
            before[of[(word(8, index as u64) >> 62) as usize]]
        });
        let cell = CELLS - 1;
        let bits = tensor.dtype.bits(5.0);
        tensor.expect(LineChange::Put { cell, bits }, |index, x| {
            if index == cell { 5.0 } else { x }
        });
    }
}

#[test]
fn the_first_largest_and_the_first_smallest_number_are_found() {
    for tensor in &mut tensors(&SIGNED, &[0.0, -0.0, 3.0, 2.0]) {
        let put = |cell, number| LineChange::Put {
            cell,
            bits: tensor.dtype.bits(number),
        };
        let puts = [90, 131_074]
            .map(|cell| put(cell, 9.0))
            .into_iter()
            .chain([80, 131_075].map(|cell| put(cell, -9.0)));
        let puts: Vec<LineChange> = puts.collect();
        let found = |line: &mut HostLine| {
            let LineExtremes { largest, smallest } = line.extremes().unwrap();
            [largest, smallest]
        };
        let (dtype, mut line) = (tensor.dtype, tensor.line());
        let first = |at: usize, number: f64| (at, dtype.bits(number));
        assert_eq!(found(&mut line)[0].1, dtype.bits(3.0));
        // -0 is as large as 0, so that the first zero counts.
        let zeros = found(&mut line)[1];
        assert!(zeros.0 < 2 && [0.0, -0.0].map(|zero| dtype.bits(zero)).contains(&zeros.1));
        line.change(puts).unwrap();
        assert_eq!(found(&mut line), [first(90, 9.0), first(80, -9.0)]);
    }
    let far = [i64::MIN, i64::MAX - 1, i64::MAX].map(i64::to_le_bytes);
    let mut bytes = far.concat();
    let mut line = HostLine::new(&mut bytes, Dtype::I64, 0, 1, 3);
    let found = line.extremes().unwrap();
    assert_eq!(found.largest, (2, i64::MAX as u64));
    assert_eq!(found.smallest, (0, i64::MIN as u64));
}

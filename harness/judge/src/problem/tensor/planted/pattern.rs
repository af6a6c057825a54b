//! What one planted line of cells looks like.

use super::Extreme;
use crate::dtype::Dtype;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

/// An extreme at a place of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    pub kind: Extreme,
    place: Place,
}

/// Which cells of a line an extreme takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Those that the kind itself names.
    Own,
    First,
    Last,
    /// One or two of them, chosen at random.
    Some,
    All,
    /// All but one, which is not the first and holds the last finite number on that side.
    AllButOne,
    /// All of them, within a tenth of the type's lowest finite number.
    Low,
    /// The same with the highest one.
    High,
}

/// The numbers that a tensor may hold.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    pub dtype: Dtype,
    /// The range of its values, if they have one.
    pub range: Option<(f64, f64)>,
    /// What the size of a drawn number hardly ever exceeds.
    pub reach: f64,
}

/// The largest number that is planted without a range, unless drawn numbers are larger or the
/// problem asks for the type's largest: the range of f16 with a margin, so that a kernel may square
/// it in f32, and may round it to f16.
const LARGEST: f64 = 16_000.0;

impl Numbers {
    /// The lowest and the highest number that are planted.
    fn ends(&self) -> (f64, f64) {
        self.range.unwrap_or_else(|| {
            let largest = LARGEST.max(self.reach).min(self.dtype.largest());
            (-largest, largest)
        })
    }

    /// Brings a number between the ends.
    fn clamp(&self, number: f64) -> f64 {
        let (low, high) = self.ends();
        number.clamp(low, high)
    }

    /// By what drawn numbers without a range are multiplied to be large ones: less than 1000 where
    /// they would pass the end.
    fn enlarged(&self) -> f64 {
        (self.ends().1 / self.reach).min(1000.0)
    }

    /// A number of the outermost tenth before the end on one side of zero, which is whole in a type
    /// of integers.
    fn outermost(&self, end: f64, rng: &mut ChaCha8Rng) -> f64 {
        let number = share_of(end, rng);
        self.clamp(if self.dtype.integers().is_some() {
            number.round()
        } else {
            number
        })
    }

    fn holds(&self, number: f64) -> bool {
        self.range
            .is_none_or(|(low, high)| (low..=high).contains(&number))
    }

    fn may_be_negative(&self) -> bool {
        self.range.is_none_or(|(low, _)| low < 0.0) && encodes(self.dtype, -1.0)
    }
}

/// At least nine tenths of a number.
fn share_of(end: f64, rng: &mut ChaCha8Rng) -> f64 {
    let share = below(rng, 1 << 20) as f64 / f64::from(1 << 20);
    end * (1.0 - 0.1 * share)
}

/// Whether a type has exactly this number.
fn encodes(dtype: Dtype, number: f64) -> bool {
    let mut cell = Vec::new();
    dtype.encode(number, &mut cell);
    let back = dtype.decode(&cell);
    (back.is_nan() && number.is_nan())
        || (back == number && back.is_sign_negative() == number.is_sign_negative())
}

impl Pattern {
    /// The patterns of a kind that fit into a line of `cells` cells, so that it differs from a
    /// drawn one.
    pub fn of(kind: Extreme, cells: usize, numbers: &Numbers) -> Vec<Pattern> {
        let own = |fits: bool| {
            if fits {
                vec![Pattern {
                    kind,
                    place: Place::Own,
                }]
            } else {
                Vec::new()
            }
        };
        let is_one_number = numbers.range.is_some_and(|(low, high)| low >= high);
        let several = cells > 1 && !is_one_number;
        match kind {
            Extreme::Inf | Extreme::NegativeInf | Extreme::Nan => {
                let fits = kind.is_in(numbers.dtype);
                let places: &[Place] = match cells {
                    _ if !fits => &[],
                    1 => &[Place::All],
                    2 => &[Place::First, Place::Last, Place::All, Place::AllButOne],
                    _ => &[
                        Place::First,
                        Place::Last,
                        Place::Some,
                        Place::All,
                        Place::AllButOne,
                    ],
                };
                // NaN has no neighbour among the numbers.
                let is_there = |place: &&Place| **place != Place::AllButOne || kind != Extreme::Nan;
                places
                    .iter()
                    .filter(is_there)
                    .map(|place| Pattern {
                        kind,
                        place: *place,
                    })
                    .collect()
            }
            Extreme::Ties if several && cells > 2 => {
                vec![
                    Pattern {
                        kind,
                        place: Place::Some,
                    },
                    Pattern {
                        kind,
                        place: Place::Last,
                    },
                ]
            }
            Extreme::Ties => own(several),
            Extreme::Large => {
                own(!is_one_number && (numbers.range.is_some() || numbers.enlarged() > 1.0))
            }
            Extreme::Small => own(!is_one_number),
            Extreme::LargeNegative => own(!is_one_number && numbers.ends().0 < 0.0),
            Extreme::LargePositive => own(!is_one_number && numbers.ends().1 > 0.0),
            Extreme::Zero => own(!is_one_number && numbers.holds(0.0)),
            Extreme::Negative => own(!is_one_number && numbers.may_be_negative()),
            Extreme::Positive => {
                own(!is_one_number && numbers.may_be_negative() && numbers.holds(0.0))
            }
            Extreme::Constant
            | Extreme::LargeFirst
            | Extreme::LargeLast
            | Extreme::LowestFirst
            | Extreme::LowestLast
            | Extreme::Repeated => own(several),
            Extreme::SignedZero => {
                own(!is_one_number && numbers.holds(0.0) && kind.is_in(numbers.dtype))
            }
            Extreme::Denormal => own(!is_one_number
                && numbers.dtype.subnormals().is_some_and(|(step, count)| {
                    numbers.holds(step) && numbers.holds(step * f64::from(count))
                })),
            // With a range, `large_negative` and `large_positive` lie at its ends already.
            Extreme::Saturated if numbers.range.is_none() => [Place::Own, Place::Low, Place::High]
                .map(|place| Pattern { kind, place })
                .to_vec(),
            Extreme::Saturated => own(!is_one_number),
        }
    }

    /// The pattern's name in messages, as in `large_last` and `nan_first`.
    pub fn word(self) -> String {
        let place = match self.place {
            Place::Own => return self.kind.word().to_owned(),
            Place::First => "first",
            Place::Last => "last",
            Place::Some => "some",
            Place::All => "all",
            Place::AllButOne => "all_but_one",
            Place::Low => "low",
            Place::High => "high",
        };
        format!("{}_{place}", self.kind.word())
    }

    /// Plants it into a line of drawn numbers.
    pub fn write(self, line: &mut Line, numbers: &Numbers, rng: &mut ChaCha8Rng) {
        let last = line.cells - 1;
        let map = |line: &mut Line, change: &dyn Fn(f64) -> f64| {
            (0..line.cells).for_each(|at| line.set(at, numbers.clamp(change(line.get(at)))));
        };
        match self.kind {
            Extreme::Large => map(line, &|x| {
                numbers
                    .range
                    .map_or(x * numbers.enlarged(), |(_, high)| high)
            }),
            Extreme::Small => map(line, &|x| numbers.range.map_or(x / 1000.0, |(low, _)| low)),
            Extreme::Zero => map(line, &|_| 0.0),
            Extreme::Negative => map(line, &|x| -x.abs()),
            Extreme::Positive => map(line, &f64::abs),
            Extreme::LargeNegative | Extreme::LargePositive => {
                let (low, high) = numbers.ends();
                let end = if self.kind == Extreme::LargeNegative {
                    low
                } else {
                    high
                };
                (0..line.cells).for_each(|at| line.set(at, numbers.outermost(end, rng)));
            }
            Extreme::Constant => (1..line.cells).for_each(|at| line.copy(0, at)),
            Extreme::LargeFirst => peak(line, 0, 1.0, numbers),
            Extreme::LargeLast => peak(line, last, 1.0, numbers),
            Extreme::LowestFirst => peak(line, 0, -1.0, numbers),
            Extreme::LowestLast => peak(line, last, -1.0, numbers),
            Extreme::Ties => self.tie(line, rng),
            Extreme::Repeated => {
                let chosen = [0; 4].map(|_| below(rng, line.cells));
                let palette = chosen.map(|at| line.bytes_of(at));
                (0..line.cells).for_each(|at| line.put(at, &palette[below(rng, palette.len())]));
            }
            Extreme::SignedZero => {
                let positive = if last > 0 {
                    1 + below(rng, last)
                } else {
                    usize::MAX
                };
                for at in 0..line.cells {
                    let is_positive = at == positive || (at > 0 && below(rng, 2) == 0);
                    line.set(at, if is_positive { 0.0 } else { -0.0 });
                }
            }
            Extreme::Denormal => {
                let Some((step, count)) = numbers.dtype.subnormals() else {
                    return;
                };
                for at in 0..line.cells {
                    let size = step * (1 + below(rng, count as usize)) as f64;
                    let is_negative = numbers.may_be_negative() && below(rng, 2) == 0;
                    line.set(
                        at,
                        if is_negative {
                            numbers.clamp(-size)
                        } else {
                            size
                        },
                    );
                }
            }
            Extreme::Saturated if matches!(self.place, Place::Low | Place::High) => {
                let sign = if self.place == Place::Low { -1.0 } else { 1.0 };
                let end = sign * numbers.dtype.largest();
                (0..line.cells).for_each(|at| line.set(at, share_of(end, rng)));
            }
            Extreme::Saturated => {
                let largest = numbers.dtype.largest();
                let (low, high) = numbers.range.unwrap_or((-largest, largest));
                let first = below(rng, 2);
                for at in 0..line.cells {
                    let is_high = if at < 2 {
                        (at + first).is_multiple_of(2)
                    } else {
                        below(rng, 2) == 0
                    };
                    line.set(at, if is_high { high } else { low });
                }
            }
            Extreme::Inf | Extreme::NegativeInf | Extreme::Nan => {
                let places = match self.place {
                    Place::First => vec![0],
                    Place::Last => vec![last],
                    Place::All | Place::AllButOne => (0..line.cells).collect(),
                    _ => (0..=below(rng, 2))
                        .map(|_| below(rng, line.cells))
                        .collect(),
                };
                places
                    .into_iter()
                    .for_each(|at| line.set(at, self.kind.special()));
                if self.place == Place::AllButOne {
                    let largest = numbers.dtype.largest();
                    let (low, high) = numbers.range.unwrap_or((-largest, largest));
                    line.set(
                        1 + below(rng, last),
                        if self.kind == Extreme::Inf { high } else { low },
                    );
                }
            }
        }
    }

    /// Copies the largest number to a second place, and the smallest one where there is room.
    fn tie(self, line: &mut Line, rng: &mut ChaCha8Rng) {
        let by_size = |a: &usize, b: &usize| line.get(*a).total_cmp(&line.get(*b));
        let (Some(largest), Some(smallest)) = (
            (0..line.cells).max_by(by_size),
            (0..line.cells).min_by(by_size),
        ) else {
            return;
        };
        let other = |taken: &[usize], rng: &mut ChaCha8Rng| {
            std::iter::repeat_with(|| below(rng, line.cells)).find(|at| !taken.contains(at))
        };
        let twin = match self.place {
            // If the largest number is there already, it gets its twin elsewhere.
            Place::Last if largest != line.cells - 1 => Some(line.cells - 1),
            _ => other(&[largest], rng),
        };
        let low_twin = twin.filter(|_| line.cells > 3 && largest != smallest);
        let low_twin = low_twin.and_then(|twin| other(&[largest, smallest, twin], rng));
        // The twin may have taken the place of the smallest number.
        let low_twin = low_twin.filter(|_| twin != Some(smallest));
        if let Some(twin) = twin {
            line.copy(largest, twin);
        }
        if let Some(twin) = low_twin {
            line.copy(smallest, twin);
        }
    }
}

impl Extreme {
    /// Whether a type has the numbers that the kind is about.
    pub fn is_in(self, dtype: Dtype) -> bool {
        match self {
            Extreme::Denormal => dtype.subnormals().is_some(),
            Extreme::SignedZero => encodes(dtype, -0.0),
            Extreme::Inf | Extreme::NegativeInf | Extreme::Nan => encodes(dtype, self.special()),
            _ => true,
        }
    }

    /// The number that is planted, if it is none that a range holds; 0 for any other kind.
    fn special(self) -> f64 {
        match self {
            Extreme::Inf => f64::INFINITY,
            Extreme::NegativeInf => f64::NEG_INFINITY,
            Extreme::Nan => f64::NAN,
            _ => 0.0,
        }
    }
}

/// Makes one cell of a line its largest number, or with the sign −1 its smallest one, and the only
/// one of its size.
fn peak(line: &mut Line, place: usize, sign: f64, numbers: &Numbers) {
    if let Some((low, high)) = numbers.range {
        let (end, other) = if sign > 0.0 { (high, low) } else { (low, high) };
        line.set(place, end);
        let end = line.get(place);
        for at in (0..line.cells).filter(|at| *at != place) {
            if sign * line.get(at) >= sign * end {
                line.set(at, other);
            }
        }
        return;
    }
    let peak = 20.0
        * (0..line.cells)
            .map(|at| line.get(at).abs())
            .fold(0.0, f64::max);
    let (_, largest) = numbers.ends();
    if peak > largest {
        (0..line.cells).for_each(|at| line.set(at, line.get(at) * (largest / peak)));
    }
    line.set(place, sign * peak.min(largest));
}

/// A number from 0 to `end` − 1; 0 if `end` is 0.
pub fn below(rng: &mut ChaCha8Rng, end: usize) -> usize {
    (rng.next_u64() % end.max(1) as u64) as usize
}

/// Cells of a tensor's bytes at equal distances.
pub struct Line<'a> {
    bytes: &'a mut [u8],
    dtype: Dtype,
    /// The first cell, and from each cell to the next, in cells.
    start: usize,
    stride: usize,
    cells: usize,
    /// One encoded cell.
    encoded: Vec<u8>,
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
            encoded: Vec::with_capacity(dtype.size()),
        }
    }

    fn at(&self, cell: usize) -> std::ops::Range<usize> {
        let size = self.dtype.size();
        let start = (self.start + cell * self.stride) * size;
        start..start + size
    }

    fn bytes_of(&self, cell: usize) -> Vec<u8> {
        self.bytes[self.at(cell)].to_vec()
    }

    fn put(&mut self, cell: usize, bytes: &[u8]) {
        let place = self.at(cell);
        self.bytes[place].copy_from_slice(bytes);
    }

    fn get(&self, cell: usize) -> f64 {
        self.dtype.decode(&self.bytes[self.at(cell)])
    }

    fn set(&mut self, cell: usize, number: f64) {
        let place = self.at(cell);
        self.encoded.clear();
        self.dtype.encode(number, &mut self.encoded);
        self.bytes[place].copy_from_slice(&self.encoded);
    }

    fn copy(&mut self, from: usize, to: usize) {
        let from = self.at(from);
        let to = self.at(to).start;
        self.bytes.copy_within(from, to);
    }
}

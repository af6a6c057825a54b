//! What one planted line of cells looks like.

use super::super::input_values::InputValues;
use super::super::planted::Extreme;
use super::super::random::below;
use super::super::spec::CaseTensor;
use super::line::Line;
use crate::outcome::Result;
use crate::worker::cell_work::{CellNumbers, LineChange, LineExtremes, Sign};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;
use strum::IntoStaticStr;

/// An extreme at a place of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    pub kind: Extreme,
    place: Place,
}

/// Which cells of a line an extreme takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
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

/// The largest number that is planted without a range, unless drawn numbers are larger or the
/// problem asks for the type's largest: the range of f16 with a margin, so that a kernel may square
/// it in f32, and may round it to f16.
const LARGEST: f64 = 16_000.0;

impl CaseTensor {
    /// The range of its values, if they have one.
    pub fn range(&self) -> Option<(f64, f64)> {
        self.values.as_ref().and_then(InputValues::range)
    }

    /// What the size of a drawn number hardly ever exceeds.
    fn reach(&self) -> f64 {
        self.values.as_ref().map_or(0.0, InputValues::reach)
    }

    /// The lowest and the highest number that are planted.
    fn ends(&self) -> (f64, f64) {
        self.range().unwrap_or_else(|| {
            let largest = match self.planted.by_default {
                true => self.reach().min(self.dtype.largest()),
                false => self.most_planted(),
            };
            (-largest, largest)
        })
    }

    /// The largest number that is planted without a range if problem.toml asks for large ones.
    fn most_planted(&self) -> f64 {
        LARGEST.max(self.reach()).min(self.dtype.largest())
    }

    /// Whether numbers are planted of which none is larger than drawn ones, though larger ones could
    /// be: an input of floats without a range, about which problem.toml says nothing.
    pub fn has_only_drawn_sizes(&self) -> bool {
        self.planted.by_default && self.range().is_none() && self.ends().1 < self.most_planted()
    }

    /// Brings a number between the ends.
    fn clamp(&self, number: f64) -> f64 {
        let (low, high) = self.ends();
        number.clamp(low, high)
    }

    /// By what drawn numbers without a range are multiplied to be large ones: less than 1000 where
    /// they would pass the end.
    fn enlarged(&self) -> f64 {
        (self.ends().1 / self.reach()).min(1000.0)
    }

    /// Draws numbers of the outermost tenth before the end on one side of zero. They are whole in a
    /// type of integers, and none lies outside `within`. By default, numbers are no larger than
    /// drawn ones, and so a hundredth makes them as close to one another as a one-pass variance
    /// does not bear.
    fn outermost(&self, end: f64, within: (f64, f64), rng: &mut ChaCha8Rng) -> LineChange {
        let inner = end * if self.planted.by_default { 0.99 } else { 0.9 };
        let [low, high] = [end.min(inner), end.max(inner)];
        let bring = |number: f64| number.clamp(within.0, within.1);
        let numbers = if self.dtype.integers().is_some() {
            let [low, high] = [low, high].map(|number| bring(number.round()) as i128);
            CellNumbers::integers(low, high)
        } else {
            let [low, high] = [low, high].map(|number| bring(number).to_bits());
            CellNumbers::Uniform { low, high }
        };
        let seed = rng.next_u64();
        LineChange::Draw { numbers, seed }
    }

    /// Multiplies each number, and brings it between the ends.
    fn map(&self, factor: f64, sign: Sign) -> LineChange {
        let (low, high) = self.ends();
        let [factor, low, high] = [factor, low, high].map(f64::to_bits);
        LineChange::Map {
            factor,
            sign,
            low,
            high,
        }
    }

    /// Writes one of two numbers into each cell.
    fn either(&self, numbers: [f64; 2], rng: &mut ChaCha8Rng) -> LineChange {
        let [one, other] = numbers.map(|number| self.dtype.bits(number));
        LineChange::Draw {
            numbers: CellNumbers::OneOf([one, other, one, other]),
            seed: rng.next_u64(),
        }
    }

    /// Writes the same number into each cell.
    fn every(&self, number: f64) -> LineChange {
        LineChange::Draw {
            numbers: CellNumbers::OneOf([self.dtype.bits(number); 4]),
            seed: 0,
        }
    }

    /// Writes a number into one cell.
    fn put(&self, cell: usize, number: f64) -> LineChange {
        let bits = self.dtype.bits(number);
        LineChange::Put { cell, bits }
    }

    fn holds(&self, number: f64) -> bool {
        self.range()
            .is_none_or(|(low, high)| (low..=high).contains(&number))
    }

    /// Whether a line of `cells` cells can hold a kind, and differs then from a drawn one.
    fn fit(&self, kind: Extreme, cells: usize) -> bool {
        if kind.special().is_some() {
            return kind.is_in(self.dtype);
        }
        let is_one_number = self.range().is_some_and(|(low, high)| low >= high);
        let fits = match kind {
            Extreme::Large => self.range().is_some() || self.enlarged() > 1.0,
            Extreme::LargeNegative => self.ends().0 < 0.0,
            Extreme::LargePositive => self.ends().1 > 0.0,
            Extreme::Zero => self.holds(0.0),
            Extreme::Negative => self.may_be_negative(),
            Extreme::Positive => self.may_be_negative() && self.holds(0.0),
            Extreme::Halves => self.halves().is_some(),
            Extreme::SignedZero => self.holds(0.0) && kind.is_in(self.dtype),
            Extreme::Denormal => self
                .dtype
                .subnormals()
                .is_some_and(|(step, count)| self.holds(step) && self.holds(step * count as f64)),
            Extreme::Small | Extreme::Saturated => true,
            _ => cells > 1,
        };
        fits && !is_one_number
    }

    /// The smallest and the largest number of halves that drawn numbers reach, if these are floats
    /// and reach more than one. Counts stay small enough for f32.
    fn halves(&self) -> Option<(i64, i64)> {
        let reach = self.reach();
        let (low, high) = self.range().unwrap_or((-reach, reach));
        let most = f64::from(1 << 20);
        let low = (2.0 * low).clamp(-most, most).ceil() as i64;
        let high = (2.0 * high).clamp(-most, most).floor() as i64;
        (self.dtype.integers().is_none() && low < high).then_some((low, high))
    }

    fn may_be_negative(&self) -> bool {
        self.range().is_none_or(|(low, _)| low < 0.0) && self.dtype.encodes(-1.0)
    }
}

impl Pattern {
    /// The patterns of a kind that fit into a line of `cells` cells, so that it differs from a
    /// drawn one.
    pub fn of(kind: Extreme, cells: usize, tensor: &CaseTensor) -> Vec<Pattern> {
        use Place::{All, AllButOne, First, High, Last, Low, Own};
        let places: &[Place] = match kind {
            _ if !tensor.fit(kind, cells) => &[],
            _ if kind.special().is_some() => match cells {
                1 => &[All],
                2 => &[First, Last, All, AllButOne],
                _ => &[First, Last, Place::Some, All, AllButOne],
            },
            Extreme::Ties if cells > 2 => &[Place::Some, Last],
            // With a range, `large_negative` and `large_positive` lie at its ends already.
            Extreme::Saturated if tensor.range().is_none() => &[Own, Low, High],
            _ => &[Own],
        };
        // NaN has no neighbour among the numbers.
        let is_there = |place: &&Place| **place != AllButOne || kind != Extreme::Nan;
        let places = places.iter().filter(is_there);
        places
            .map(|place| Pattern {
                kind,
                place: *place,
            })
            .collect()
    }

    /// The pattern's name in messages, as in `large_last` and `nan_first`.
    pub fn word(self) -> String {
        let (kind, place): (_, &str) = (self.kind.word(), self.place.into());
        match self.place {
            Place::Own => kind.to_owned(),
            _ => format!("{kind}_{place}"),
        }
    }

    /// Plants it into a line of a drawn tensor.
    pub fn write(self, line: &mut dyn Line, tensor: &CaseTensor, rng: &mut ChaCha8Rng) -> Result {
        let last = line.cells() - 1;
        let (range, largest, ends) = (tensor.range(), tensor.dtype.largest(), tensor.ends());
        let (lowest, highest) = range.unwrap_or((-largest, largest));
        let changes = match self.kind {
            Extreme::Large => vec![match range {
                Some((_, high)) => tensor.every(high),
                None => tensor.map(tensor.enlarged(), Sign::Own),
            }],
            Extreme::Small => vec![match range {
                Some((low, _)) => tensor.every(low),
                None => tensor.map(1.0 / 1000.0, Sign::Own),
            }],
            Extreme::Zero => vec![tensor.every(tensor.clamp(0.0))],
            Extreme::Negative => vec![tensor.map(1.0, Sign::Negative)],
            Extreme::Positive => vec![tensor.map(1.0, Sign::Positive)],
            Extreme::LargeNegative => vec![tensor.outermost(ends.0, ends, rng)],
            Extreme::LargePositive => vec![tensor.outermost(ends.1, ends, rng)],
            Extreme::Constant => vec![LineChange::Repeat {
                of: [0; 4],
                seed: 0,
            }],
            Extreme::LargeFirst => peak(line, 0, 1.0, tensor)?,
            Extreme::LargeLast => peak(line, last, 1.0, tensor)?,
            Extreme::LowestFirst => peak(line, 0, -1.0, tensor)?,
            Extreme::LowestLast => peak(line, last, -1.0, tensor)?,
            Extreme::Ties => self.tie(line, rng)?,
            Extreme::Repeated => vec![LineChange::Repeat {
                of: [0; 4].map(|_| below(rng, line.cells())),
                seed: rng.next_u64(),
            }],
            Extreme::Halves => {
                let Some((low, high)) = tensor.halves() else {
                    return Ok(());
                };
                let numbers = CellNumbers::Integers { low, high };
                let seed = rng.next_u64();
                vec![
                    LineChange::Draw { numbers, seed },
                    tensor.map(0.5, Sign::Own),
                ]
            }
            Extreme::SignedZero => {
                let mut changes = vec![tensor.either([0.0, -0.0], rng), tensor.put(0, -0.0)];
                if last > 0 {
                    changes.push(tensor.put(1 + below(rng, last), 0.0));
                }
                changes
            }
            Extreme::Denormal => {
                let Some((step, count)) = tensor.dtype.subnormals() else {
                    return Ok(());
                };
                // Draws whole numbers, and multiplies them by the smallest number of the type.
                let numbers = CellNumbers::Integers {
                    low: 1,
                    high: count,
                };
                let [seed, signs] = [0; 2].map(|_| rng.next_u64());
                let sign = if tensor.may_be_negative() {
                    Sign::Random { seed: signs }
                } else {
                    Sign::Own
                };
                vec![LineChange::Draw { numbers, seed }, tensor.map(step, sign)]
            }
            Extreme::Saturated => self.saturate(line, tensor, (lowest, highest), rng),
            Extreme::Inf => self.special(f64::INFINITY, line, highest, tensor, rng),
            Extreme::NegativeInf => self.special(f64::NEG_INFINITY, line, lowest, tensor, rng),
            Extreme::Nan => self.special(f64::NAN, line, lowest, tensor, rng),
        };
        line.change(changes)
    }

    /// Writes both ends in turn or at random, or numbers beside one of them.
    fn saturate(
        self,
        line: &dyn Line,
        tensor: &CaseTensor,
        ends: (f64, f64),
        rng: &mut ChaCha8Rng,
    ) -> Vec<LineChange> {
        match self.place {
            Place::Low => vec![tensor.outermost(ends.0, ends, rng)],
            Place::High => vec![tensor.outermost(ends.1, ends, rng)],
            _ => {
                let both = [ends.0, ends.1];
                let first = below(rng, 2);
                let mut changes = vec![tensor.either(both, rng)];
                let in_turn = 0..line.cells().min(2);
                changes.extend(in_turn.map(|at| tensor.put(at, both[(at + first) % 2])));
                changes
            }
        }
    }

    /// Writes a number that no range holds. `neighbour` is the last finite number before it.
    fn special(
        self,
        special: f64,
        line: &dyn Line,
        neighbour: f64,
        tensor: &CaseTensor,
        rng: &mut ChaCha8Rng,
    ) -> Vec<LineChange> {
        let last = line.cells() - 1;
        match self.place {
            Place::First => vec![tensor.put(0, special)],
            Place::Last => vec![tensor.put(last, special)],
            Place::All => vec![tensor.every(special)],
            Place::AllButOne => {
                let but_one = tensor.put(1 + below(rng, last), neighbour);
                vec![tensor.every(special), but_one]
            }
            _ => (0..=below(rng, 2))
                .map(|_| tensor.put(below(rng, line.cells()), special))
                .collect(),
        }
    }

    /// Copies the largest number to a second place, and the smallest one where there is room.
    fn tie(self, line: &mut dyn Line, rng: &mut ChaCha8Rng) -> Result<Vec<LineChange>> {
        let LineExtremes { largest, smallest } = line.extremes()?;
        let last = line.cells() - 1;
        let other = |taken: &[usize], rng: &mut ChaCha8Rng| {
            std::iter::repeat_with(|| below(rng, line.cells())).find(|at| !taken.contains(at))
        };
        let twin = match self.place {
            // If the largest number is there already, it gets its twin elsewhere.
            Place::Last if largest.0 != last => Some(last),
            _ => other(&[largest.0], rng),
        };
        // There is room in four cells, unless the twin has taken the place of the smallest number.
        let has_room = last > 2 && largest.0 != smallest.0 && twin != Some(smallest.0);
        let low_twin = twin.filter(|_| has_room);
        let low_twin = low_twin.and_then(|twin| other(&[largest.0, smallest.0, twin], rng));
        let copy = |cell: Option<usize>, bits| cell.map(|cell| LineChange::Put { cell, bits });
        let copies = [copy(twin, largest.1), copy(low_twin, smallest.1)];
        Ok(copies.into_iter().flatten().collect())
    }
}

/// Makes one cell of a line its largest number, or with the sign −1 its smallest one, and the only
/// one of its size.
fn peak(
    line: &mut dyn Line,
    place: usize,
    sign: f64,
    tensor: &CaseTensor,
) -> Result<Vec<LineChange>> {
    if let Some((low, high)) = tensor.range() {
        let is_low = sign < 0.0;
        let (end, other) = if is_low { (low, high) } else { (high, low) };
        let [edge, by] = [end, other].map(|number| tensor.dtype.bits(number));
        let replace = LineChange::Replace { edge, is_low, by };
        return Ok(vec![replace, tensor.put(place, end)]);
    }
    let LineExtremes { largest, smallest } = line.extremes()?;
    let sizes = [largest.1, smallest.1].map(|bits| tensor.dtype.value_of_bits(bits).as_f64().abs());
    let peak = 20.0 * sizes[0].max(sizes[1]);
    let (_, end) = tensor.ends();
    let smaller = (peak > end).then(|| tensor.map(end / peak, Sign::Own));
    let put = tensor.put(place, sign * peak.min(end));
    Ok(smaller.into_iter().chain([put]).collect())
}

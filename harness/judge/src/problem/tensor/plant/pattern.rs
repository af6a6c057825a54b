//! What one planted line of cells looks like.

use super::super::input_values::InputValues;
use super::super::planted::Extreme;
use super::super::random::below;
use super::super::spec::CaseTensor;
use super::line::Line;
use rand_chacha::ChaCha8Rng;
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
            let largest = LARGEST.max(self.reach()).min(self.dtype.largest());
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
        (self.ends().1 / self.reach()).min(1000.0)
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
            Extreme::SignedZero => self.holds(0.0) && kind.is_in(self.dtype),
            Extreme::Denormal => self.dtype.subnormals().is_some_and(|(step, count)| {
                self.holds(step) && self.holds(step * f64::from(count))
            }),
            Extreme::Small | Extreme::Saturated => true,
            _ => cells > 1,
        };
        fits && !is_one_number
    }

    fn may_be_negative(&self) -> bool {
        self.range().is_none_or(|(low, _)| low < 0.0) && self.dtype.encodes(-1.0)
    }
}

/// At least nine tenths of a number.
fn share_of(end: f64, rng: &mut ChaCha8Rng) -> f64 {
    let share = below(rng, 1 << 20) as f64 / f64::from(1 << 20);
    end * (1.0 - 0.1 * share)
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
    pub fn write(self, line: &mut Line, tensor: &CaseTensor, rng: &mut ChaCha8Rng) {
        let last = line.cells - 1;
        let (range, largest) = (tensor.range(), tensor.dtype.largest());
        let (lowest, highest) = range.unwrap_or((-largest, largest));
        match self.kind {
            Extreme::Large => line.map(|x| match range {
                Some((_, high)) => high,
                None => tensor.clamp(x * tensor.enlarged()),
            }),
            Extreme::Small => line.map(|x| match range {
                Some((low, _)) => low,
                None => tensor.clamp(x / 1000.0),
            }),
            Extreme::Zero => line.map(|_| tensor.clamp(0.0)),
            Extreme::Negative => line.map(|x| tensor.clamp(-x.abs())),
            Extreme::Positive => line.map(|x| tensor.clamp(x.abs())),
            Extreme::LargeNegative => line.each(|_, _| tensor.outermost(tensor.ends().0, rng)),
            Extreme::LargePositive => line.each(|_, _| tensor.outermost(tensor.ends().1, rng)),
            Extreme::Constant => {
                let first = line.bytes_of(0);
                line.repeat(&first);
            }
            Extreme::LargeFirst => peak(line, 0, 1.0, tensor),
            Extreme::LargeLast => peak(line, last, 1.0, tensor),
            Extreme::LowestFirst => peak(line, 0, -1.0, tensor),
            Extreme::LowestLast => peak(line, last, -1.0, tensor),
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
                line.each(|at, _| {
                    let is_positive = at == positive || (at > 0 && below(rng, 2) == 0);
                    if is_positive { 0.0 } else { -0.0 }
                });
            }
            Extreme::Denormal => {
                let Some((step, count)) = tensor.dtype.subnormals() else {
                    return;
                };
                line.each(|_, _| {
                    let size = step * (1 + below(rng, count as usize)) as f64;
                    let is_negative = tensor.may_be_negative() && below(rng, 2) == 0;
                    if is_negative {
                        tensor.clamp(-size)
                    } else {
                        size
                    }
                });
            }
            Extreme::Saturated => self.saturate(line, [lowest, highest], rng),
            Extreme::Inf => self.write_special(f64::INFINITY, line, highest, rng),
            Extreme::NegativeInf => self.write_special(f64::NEG_INFINITY, line, lowest, rng),
            Extreme::Nan => self.write_special(f64::NAN, line, lowest, rng),
        }
    }

    /// Writes both ends in turn or at random, or numbers beside one of them.
    fn saturate(self, line: &mut Line, ends: [f64; 2], rng: &mut ChaCha8Rng) {
        match self.place {
            Place::Low => line.each(|_, _| share_of(ends[0], rng)),
            Place::High => line.each(|_, _| share_of(ends[1], rng)),
            _ => {
                let first = below(rng, 2);
                line.each(|at, _| match at {
                    0 | 1 => ends[(at + first + 1) % 2],
                    _ => ends[usize::from(below(rng, 2) == 0)],
                });
            }
        }
    }

    /// Writes a number that no range holds. `neighbour` is the last finite number before it.
    fn write_special(self, special: f64, line: &mut Line, neighbour: f64, rng: &mut ChaCha8Rng) {
        let last = line.cells - 1;
        let places = match self.place {
            Place::First => vec![0],
            Place::Last => vec![last],
            Place::All | Place::AllButOne => (0..line.cells).collect(),
            _ => (0..=below(rng, 2))
                .map(|_| below(rng, line.cells))
                .collect(),
        };
        places.into_iter().for_each(|at| line.set(at, special));
        if self.place == Place::AllButOne {
            line.set(1 + below(rng, last), neighbour);
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

/// Makes one cell of a line its largest number, or with the sign −1 its smallest one, and the only
/// one of its size.
fn peak(line: &mut Line, place: usize, sign: f64, tensor: &CaseTensor) {
    if let Some((low, high)) = tensor.range() {
        let (end, other) = if sign > 0.0 { (high, low) } else { (low, high) };
        line.set(place, end);
        let end = line.get(place);
        line.map(|x| if sign * x >= sign * end { other } else { x });
        line.set(place, end);
        return;
    }
    let peak = 20.0 * line.reach();
    let (_, largest) = tensor.ends();
    if peak > largest {
        line.map(|x| x * (largest / peak));
    }
    line.set(place, sign * peak.min(largest));
}

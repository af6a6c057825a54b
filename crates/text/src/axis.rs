//! An axis: a range of values, a scale, and ticks at round numbers.

use crate::figures::thousands;

/// The scale of an axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    #[default]
    Linear,
    /// Logarithmic to the base 10. Values of 0 and below are below the axis.
    Log,
}

impl Scale {
    /// The value, or its logarithm on a logarithmic scale.
    fn scaled(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value,
            Scale::Log if value <= 0.0 => f64::NEG_INFINITY,
            Scale::Log => value.log10(),
        }
    }
}

/// A range of values from `low` to `high`, where `high` is greater; on a logarithmic scale both are
/// above 0.
///
/// ```
/// use lab_text::axis::{Axis, Scale};
///
/// let axis = Axis::between(0.0, 60.0, Scale::Linear).unit("°C");
/// assert_eq!(axis.share(15.0), 0.25);
/// let labels: Vec<String> = axis.ticks(4).into_iter().map(|tick| tick.label).collect();
/// assert_eq!(labels, ["0 °C", "20 °C", "40 °C", "60 °C"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    low: f64,
    high: f64,
    /// The low end on the scale. Kept, because a chart maps very many values.
    from: f64,
    /// The distance from the low end to the high end, on the scale.
    span: f64,
    scale: Scale,
    /// The unit after each number: `80 °C`. Empty where the chart's title names the unit.
    unit: &'static str,
    /// What the axis counts; drawn at its end.
    name: &'static str,
    /// There were no values to choose a range for: the axis has no ticks.
    is_blank: bool,
    /// It counts things: only whole numbers are ticks.
    is_whole: bool,
}

/// A round number on an axis, with its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    pub value: f64,
    pub label: String,
}

/// The largest value of an axis. The sum of two such numbers is finite.
const LARGEST: f64 = 1e300;

impl Axis {
    /// The axis that spans `values`, with a margin at either end. Values that are not finite are
    /// ignored, on a logarithmic scale also those that are not above 0. A single value is in the
    /// middle. Without values the axis has no ticks.
    pub fn over(values: impl IntoIterator<Item = f64>, scale: Scale) -> Self {
        let counts = |v: &f64| v.is_finite() && (scale == Scale::Linear || *v > 0.0);
        let ends = values
            .into_iter()
            .filter(counts)
            .fold(None, |ends: Option<(f64, f64)>, v| {
                Some(ends.map_or((v, v), |(low, high)| (low.min(v), high.max(v))))
            });
        match (ends, scale) {
            (None, _) => Axis {
                is_blank: true,
                ..Axis::between(1.0, 10.0, scale)
            },
            (Some((low, high)), Scale::Linear) => {
                let margin = if high > low {
                    (high - low).min(LARGEST) * 0.06
                } else {
                    high.abs() * 0.1
                };
                // An axis of values that are not negative begins at 0 or above.
                let least = if low >= 0.0 { 0.0 } else { -LARGEST };
                Axis::between((low - margin).max(least), high + margin, scale)
            }
            (Some((low, high)), Scale::Log) => {
                let margin = if high > low {
                    (high / low).powf(0.06)
                } else {
                    2.0
                };
                Axis::between(low / margin, high * margin, scale)
            }
        }
    }

    /// The axis from `low` to `high`, widened where `high` is not greater than `low`.
    pub fn between(low: f64, high: f64, scale: Scale) -> Self {
        let least = if scale == Scale::Log {
            1.0 / LARGEST
        } else {
            -LARGEST
        };
        let low = if low.is_nan() { 0.0 } else { low }.clamp(least, LARGEST / 10.0);
        let high = if high.is_nan() { 1.0 } else { high }.min(LARGEST);
        // On a narrower axis two ticks would have the same text.
        let narrowest = if low == 0.0 && high <= 0.0 {
            1.0
        } else {
            low.abs().max(high.abs()) * 1e-6
        };
        let high = high.max(low + narrowest);
        let from = scale.scaled(low);
        Axis {
            low,
            high,
            from,
            span: scale.scaled(high) - from,
            scale,
            unit: "",
            name: "",
            is_blank: false,
            is_whole: false,
        }
    }

    /// The axis with ticks at whole numbers only.
    #[must_use]
    pub fn whole(self) -> Self {
        Axis {
            is_whole: true,
            ..self
        }
    }

    /// The axis with a unit after each number: `°C`, `MHz`, `µs`.
    #[must_use]
    pub fn unit(self, unit: &'static str) -> Self {
        Axis { unit, ..self }
    }

    /// The axis with the name of what it counts.
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        Axis { name, ..self }
    }

    /// The low end of the range.
    pub fn low(&self) -> f64 {
        self.low
    }

    /// The high end of the range.
    pub fn high(&self) -> f64 {
        self.high
    }

    /// What it counts; empty if it has no name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The position of `value`: 0 at the low end, 1 at the high end, below 0 or above 1 out of
    /// range.
    pub fn share(&self, value: f64) -> f64 {
        (self.scale.scaled(value) - self.from) / self.span
    }

    /// The value at a position from 0 (the low end) to 1 (the high end).
    pub fn at(&self, share: f64) -> f64 {
        match self.scale {
            Scale::Linear => self.low + share * (self.high - self.low),
            Scale::Log => self.low * (self.high / self.low).powf(share),
        }
    }

    /// At most `most` round numbers within the range, rising. On a linear scale their distance is
    /// 1, 2 or 5 times a power of ten (P. Heckbert, "Nice numbers for graph labels", Graphics Gems,
    /// 1990; the ends of the range stay where they are). On a logarithmic scale the numbers
    /// themselves are 1, 2 or 5 times a power of ten; where only one of them is in the range, the
    /// ticks are those of the linear scale.
    pub fn ticks(&self, most: usize) -> Vec<Tick> {
        match self.scale {
            _ if self.is_blank => Vec::new(),
            Scale::Linear => self.linear_ticks(most),
            Scale::Log => {
                let found = self.decades(most);
                if found.len() < 2 {
                    self.linear_ticks(most)
                } else {
                    found
                }
            }
        }
    }

    fn linear_ticks(&self, most: usize) -> Vec<Tick> {
        if most == 0 {
            return Vec::new();
        }
        let span = self.high - self.low;
        // Within a range there may be one round number more than there are distances. From here on each
        // step that is tried has a number in the range, if two are wanted.
        let least = if self.is_whole { 1.0 } else { 0.0 };
        let mut step = nice(span / (most + 1) as f64).max(least);
        let (first, count) = loop {
            // The ends of the range may be multiples of the step, except for rounding.
            let slack = 1e-6 * (span / step).min(1.0);
            let first = (self.low / step - slack).ceil();
            let count = ((self.high / step + slack).floor() - first + 1.0).max(0.0) as usize;
            if count <= most {
                break (first, count);
            }
            step = nice(step * 1.5);
        };
        let values: Vec<f64> = (0..count).map(|i| (first + i as f64) * step).collect();
        let largest = values.iter().fold(0.0f64, |a, b| a.max(b.abs()));
        values
            .iter()
            .map(|value| self.tick(*value, largest, step))
            .collect()
    }

    /// Ticks at 1, 2 and 5 of each decade; if those are too many, at each decade, at every second
    /// decade, every fifth, tenth …
    fn decades(&self, most: usize) -> Vec<Tick> {
        let (first, last) = (
            self.low.log10().floor() as i32,
            self.high.log10().ceil() as i32,
        );
        let powers = |stride: i32, factors: &'static [f64]| -> Vec<f64> {
            let multiples = (first..=last).filter(|power| power.rem_euclid(stride) == 0);
            let values =
                multiples.flat_map(|power| factors.iter().map(move |f| decimal(*f, power)));
            values
                .filter(|v| (self.low..=self.high).contains(v))
                .collect()
        };
        let sparser = [1, 2, 5, 10, 20, 50, 100, 200, 500]
            .into_iter()
            .map(|stride| powers(stride, &[1.0]));
        let mut all = std::iter::once(powers(1, &[1.0, 2.0, 5.0])).chain(sparser);
        let values = all.find(|values| values.len() <= most).unwrap_or_default();
        values
            .iter()
            .map(|value| self.tick(*value, *value, *value))
            .collect()
    }

    /// A tick with its text. `largest`, the largest tick, chooses the prefix; `step`, the distance
    /// of the ticks, the digits. So all ticks of an axis have the same form.
    fn tick(&self, value: f64, largest: f64, step: f64) -> Tick {
        let number = label(value, largest, step);
        let label = if self.unit.is_empty() {
            number
        } else {
            format!("{number} {}", self.unit)
        };
        Tick { value, label }
    }
}

/// The smallest number that is at least `raw` and 1, 2 or 5 times a power of ten.
fn nice(raw: f64) -> f64 {
    let power = raw.log10().floor() as i32;
    let candidates = [1.0, 2.0, 5.0, 10.0].map(|factor| decimal(factor, power));
    // A step that is such a number already stays the same, in spite of rounding.
    candidates
        .into_iter()
        .find(|c| *c >= raw * (1.0 - 1e-9))
        .unwrap_or(candidates[3])
}

/// `factor` times ten to the `power`, as the float nearest to the decimal number (a product would
/// round twice).
fn decimal(factor: f64, power: i32) -> f64 {
    format!("{factor}e{power}").parse().unwrap_or(f64::MAX)
}

/// The text of a tick without its unit.
fn label(value: f64, largest: f64, step: f64) -> String {
    if value.abs() < step * 1e-6 {
        return "0".to_owned();
    }
    if !(1e-3..1e13).contains(&largest) {
        let digits = (largest.log10().floor() - step.log10().floor()).clamp(0.0, 12.0) as usize;
        return format!("{value:.digits$e}");
    }
    // A prefix is used where it leaves at most one decimal.
    let prefixes = [(1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")];
    let fits = |(from, size, _): &(f64, f64, &str)| largest >= *from && step >= size * 0.099;
    let (_, size, prefix) = prefixes.into_iter().find(fits).unwrap_or((1.0, 1.0, ""));
    let digits = (-(step / size).log10().floor()).clamp(0.0, 15.0) as usize;
    let value = value / size;
    let number = if digits == 0 {
        thousands(value)
    } else {
        format!("{value:.digits$}")
    };
    format!("{number}{prefix}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(axis: Axis, most: usize) -> String {
        axis.ticks(most)
            .into_iter()
            .map(|t| t.label)
            .collect::<Vec<_>>()
            .join(" | ")
    }

    #[test]
    fn ticks_are_round_and_have_the_same_number_of_decimals() {
        let linear = |low, high| Axis::between(low, high, Scale::Linear);
        assert_eq!(labels(linear(42_000.0, 165_000.0), 5), "50k | 100k | 150k");
        assert_eq!(
            labels(linear(0.0, 60.0).unit("°C"), 4),
            "0 °C | 20 °C | 40 °C | 60 °C"
        );
        assert_eq!(
            labels(linear(1_200.0, 1_980.0).unit("MHz"), 5),
            "1,200 MHz | 1,400 MHz | 1,600 MHz | 1,800 MHz"
        );
        assert_eq!(
            labels(linear(260_100.0, 262_200.0), 6),
            "260.5k | 261.0k | 261.5k | 262.0k"
        );
        assert_eq!(
            labels(linear(-0.3, 0.3), 7),
            "-0.3 | -0.2 | -0.1 | 0 | 0.1 | 0.2 | 0.3"
        );
        assert_eq!(labels(linear(0.0, 3e-5), 4), "0 | 1e-5 | 2e-5 | 3e-5");
        assert_eq!(labels(linear(0.0, 2.4e7), 3), "0 | 10M | 20M");
        assert_eq!(labels(linear(0.497e6, 4.58e6), 2), "2M | 4M");
    }

    #[test]
    fn decades_are_split_or_thinned_to_the_number_of_ticks() {
        let log = |low, high| Axis::between(low, high, Scale::Log);
        assert_eq!(
            labels(log(1e-9, 1e-4), 6),
            "1e-9 | 1e-8 | 1e-7 | 1e-6 | 1e-5 | 1e-4"
        );
        assert_eq!(labels(log(1e-9, 1e-4), 4), "1e-8 | 1e-6 | 1e-4");
        assert_eq!(labels(log(50_000.0, 300_000.0), 6), "50k | 100k | 200k");
        assert_eq!(labels(log(210.0, 290.0), 5), "220 | 240 | 260 | 280");
        assert_eq!(labels(log(0.5, 20.0), 6), "0.5 | 1 | 2 | 5 | 10 | 20");
    }

    #[test]
    fn one_value_is_in_the_middle_and_without_values_there_are_no_ticks() {
        let axis = Axis::over([100.0], Scale::Linear);
        assert!((axis.share(100.0) - 0.5).abs() < 1e-9, "{axis:?}");
        assert!((Axis::over([100.0; 3], Scale::Log).share(100.0) - 0.5).abs() < 1e-9);
        let zero = Axis::over([0.0], Scale::Linear);
        assert_eq!((zero.low(), zero.high()), (0.0, 1.0));
        assert_eq!(labels(Axis::over([f64::NAN], Scale::Linear), 3), "");
        assert_eq!(labels(Axis::over([-5.0, 0.0], Scale::Log), 3), "");
    }

    proptest! {
        #[test]
        fn ticks_are_round_rising_within_and_no_more_than_wanted(
            low in prop::num::f64::NORMAL, width in prop::num::f64::POSITIVE, most in 0usize..40, log in any::<bool>(),
        ) {
            let scale = if log { Scale::Log } else { Scale::Linear };
            let axis = Axis::between(low, low + width, scale);
            let ticks = axis.ticks(most);
            prop_assert!(ticks.len() <= most, "{axis:?} {ticks:?}");
            let slack = (axis.high() - axis.low()) * 1e-6;
            for pair in ticks.windows(2) {
                prop_assert!(pair[0].value < pair[1].value && pair[0].label != pair[1].label, "{axis:?} {ticks:?}");
            }
            for tick in &ticks {
                prop_assert!(tick.value >= axis.low() - slack && tick.value <= axis.high() + slack);
            }
        }

        #[test]
        fn the_ends_of_the_range_are_no_further_from_a_tick_than_a_step(
            low in -1e9f64..1e9, width in 1e-3f64..1e9, most in 3usize..40,
        ) {
            let axis = Axis::between(low, low + width, Scale::Linear);
            let ticks = axis.ticks(most);
            // Three ticks may be too many, and two ticks of the next step too far apart; then there
            // is one.
            prop_assert!(!ticks.is_empty(), "{axis:?}");
            let step = if let [first, second, ..] = &ticks[..] { second.value - first.value } else { width };
            let slack = step * 1e-3;
            prop_assert!(ticks[0].value - axis.low() <= step + slack);
            prop_assert!(axis.high() - ticks[ticks.len() - 1].value <= step + slack);
            if ticks.len() < 2 {
                return Ok(());
            }
            // 1, 2 or 5 times a power of ten.
            let digits = format!("{step:.3e}");
            prop_assert!(["1.000e", "2.000e", "5.000e"].iter().any(|d| digits.starts_with(d)), "{step}");
            for tick in &ticks {
                let times = tick.value / step;
                prop_assert!((times - times.round()).abs() < 1e-6 * times.abs().max(1.0));
            }
        }

        #[test]
        fn values_between_the_ends_have_positions_from_0_to_1(low in 1e-6f64..1e6, times in 1.001f64..1e6, at in 0.0f64..1.0) {
            for scale in [Scale::Linear, Scale::Log] {
                let axis = Axis::between(low, low * times, scale);
                let share = axis.share(low + (low * times - low) * at);
                prop_assert!((-1e-6..=1.000_001).contains(&share));
            }
        }
    }
}

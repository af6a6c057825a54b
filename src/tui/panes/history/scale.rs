//! The y-axis: a range that shows what matters, and round numbers on it.

use ratatui::layout::Rect;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    low: f64,
    high: f64,
    top: u16,
    rows: u16,
}

impl Scale {
    /// Spans `values` with a little air; `None` without any.
    pub fn of(values: &[f64], plot: Rect) -> Option<Self> {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !(low.is_finite() && high.is_finite()) || plot.height == 0 {
            return None;
        }
        // One value alone, or all the same: some room around it, so that it is not on an edge.
        let air = if high > low { (high - low) * 0.06 } else { high.abs().max(1.0) * 0.1 };
        let floor = if low >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
        Some(Scale { low: (low - air).max(floor), high: high + air, top: plot.top(), rows: plot.height })
    }

    /// The row of a value; beyond the range it is the row at the edge.
    pub fn row(&self, value: f64) -> u16 {
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        let last = f64::from(self.rows - 1);
        self.top + ((1.0 - share) * last).round() as u16
    }

    /// Round numbers, about one every three rows, each with its row.
    pub fn ticks(&self) -> Vec<(f64, u16)> {
        let wanted = f64::from((self.rows / 3).clamp(1, 6));
        let step = round_step((self.high - self.low) / wanted);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        let mut out: Vec<(f64, u16)> = Vec::new();
        for at in first..=last.min(first.saturating_add(50)) {
            let value = at as f64 * step;
            let row = self.row(value);
            if out.iter().all(|(_, r)| *r != row) {
                out.push((value, row));
            }
        }
        out
    }
}

/// The next of 1, 2, 2.5, 5 times a power of ten.
fn round_step(raw: f64) -> f64 {
    let power = 10f64.powf(raw.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0].into_iter().find(|f| f * power >= raw).unwrap_or(10.0);
    factor * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_between_the_edges_and_ticks_are_round() {
        let plot = Rect { x: 0, y: 5, width: 10, height: 12 };
        let scale = Scale::of(&[42_000.0, 165_000.0], plot).expect("there are values");
        assert_eq!(scale.row(165_000.0), 6);
        assert_eq!(scale.row(42_000.0), 15);
        assert_eq!((scale.row(1e9), scale.row(-1e9)), (5, 16));
        let ticks: Vec<f64> = scale.ticks().into_iter().map(|(value, _)| value).collect();
        assert_eq!(ticks, [50_000.0, 100_000.0, 150_000.0]);
    }

    #[test]
    fn one_value_stands_in_the_middle_and_none_is_no_scale() {
        let plot = Rect { x: 0, y: 0, width: 10, height: 9 };
        let scale = Scale::of(&[100.0], plot).expect("there is one");
        assert_eq!(scale.row(100.0), 4);
        assert!(Scale::of(&[0.0], plot).is_some_and(|s| !s.ticks().is_empty()));
        assert_eq!(Scale::of(&[], plot), None);
        assert_eq!(Scale::of(&[f64::NAN], plot), None);
    }
}

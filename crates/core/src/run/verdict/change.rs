//! The ratio of a candidate's objective to the incumbent's, with its interval.

use crate::objective::Objective;
use crate::text::figures::{percent, percents};
use lab_protocol::report::{Measure, Report, Speed};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The change of the objective against the incumbent's, on the same device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Candidate over incumbent, minus one: 0.031 is +3.1 %.
    pub ratio: f64,
    /// Half width of the ratio's interval, if both figures have an interval.
    pub spread: Option<f64>,
    /// The ends of the ratio's interval, minus one, if the two were timed in turns.
    #[serde(default)]
    pub interval: Option<(f64, f64)>,
    /// The verdict on speed; `None` against the incumbent's recorded figure.
    #[serde(default)]
    pub speed: Option<Speed>,
}

impl Change {
    /// The change that the harness measured in turns, also of a run in progress. The harness gives a ratio of
    /// speeds: `None` if the objective is neither a speed nor a time.
    pub fn in_turns(report: &Report, objective: &Objective) -> Option<Change> {
        let comparison = report.comparison()?;
        let Measure { value, low, high } = comparison.ratio;
        let (value, ends) = match objective {
            Objective::Throughput | Objective::Tflops | Objective::Gbps => (value, low.zip(high)),
            Objective::KernelTime => (1.0 / value, high.zip(low).map(|(high, low)| (1.0 / high, 1.0 / low))),
            Objective::Other(_) => return None,
        };
        let (low, high) = ends?;
        let spread = Some((high - low) / 2.0);
        let interval = Some((low - 1.0, high - 1.0));
        Some(Change { ratio: value - 1.0, spread, interval, speed: comparison.speed })
    }

    /// The change between two recorded figures. Its interval is that of a quotient of two independent measures, each with
    /// its own relative half width.
    pub fn of_figures(candidate: &Measure, incumbent: &Measure) -> Option<Change> {
        let quotient = candidate.value / incumbent.value;
        let half = |m: &Measure| Some(((m.high? - m.low?) / 2.0 / m.value).abs()).filter(|h| h.is_finite());
        let spread = half(candidate).zip(half(incumbent)).map(|(a, b)| quotient.abs() * a.hypot(b));
        quotient.is_finite().then_some(Change { ratio: quotient - 1.0, spread, interval: None, speed: None })
    }

    /// What the candidate was compared with.
    pub fn against(&self) -> &'static str {
        if self.interval.is_some() { "incumbent" } else { "incumbent's record" }
    }
}

/// `faster +2.1 % (+1.9 … +2.4)`; against a recorded figure `+3.1 % ± 0.3`.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((low, high)) = self.interval else {
            // A spread has no sign.
            let spread = |s: f64| format!(" ± {}", percent(s).trim_start_matches('+'));
            return write!(f, "{} %{}", percent(self.ratio), self.spread.map_or_else(String::new, spread));
        };
        let [ratio, low, high] = percents([self.ratio, low, high]);
        let speed = self.speed.map_or_else(String::new, |speed| format!("{} ", speed.word()));
        write!(f, "{speed}{ratio} % ({low} … {high})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_carries_both_intervals() {
        let measure = |value, low, high| Measure { value, low: Some(low), high: Some(high) };
        let change = Change::of_figures(&measure(103.0, 101.97, 104.03), &measure(100.0, 99.0, 101.0))
            .expect("numbers");
        assert!((change.ratio - 0.03).abs() < 1e-12);
        assert!((change.spread.expect("both intervals") - 1.03 * 0.01 * 2f64.sqrt()).abs() < 1e-9);
        assert_eq!(Change::of_figures(&measure(1.0, 1.0, 1.0), &measure(0.0, 0.0, 0.0)), None);
    }

    #[test]
    fn a_time_shrinks_where_a_speed_grows() {
        let report = Report::read("speed_ratio: 1.0213 low=1.0190 high=1.0236 quads=3\nspeed: faster\n");
        let change = Change::in_turns(&report, &Objective::KernelTime).expect("a change");
        assert_eq!(change.to_string(), "faster -2.1 % (-2.3 … -1.9)");
        assert_eq!(Change::in_turns(&report, &"gbps".into()), None);
    }

    #[test]
    fn the_record_of_an_older_lab_is_read() {
        let old: Change = serde_json::from_str(r#"{"ratio": 0.031, "spread": 0.003}"#).expect("read");
        assert_eq!((old.to_string().as_str(), old.speed), ("+3.1 % ± 0.3", None));
    }

    #[test]
    fn an_undecided_change_says_so_with_its_interval() {
        let log = "speed_ratio: 1.0041 low=0.9872 high=1.0213 quads=3\nspeed: undecided\n";
        let change = Change::in_turns(&Report::read(log), &Objective::Throughput).expect("a change");
        assert_eq!(change.to_string(), "undecided +0.4 % (-1.3 … +2.1)");
        let written = serde_json::to_string(&change).expect("written");
        assert!(written.contains("\"speed\":\"undecided\""), "{written}");
        assert_eq!(serde_json::from_str::<Change>(&written).expect("read"), change);
    }

    #[test]
    fn close_ends_get_a_further_digit() {
        let change =
            Change { ratio: 2e-4, spread: None, interval: Some((-3e-4, 7e-4)), speed: Some(Speed::Same) };
        assert_eq!(change.to_string(), "same +0.02 % (-0.03 … +0.07)");
    }
}

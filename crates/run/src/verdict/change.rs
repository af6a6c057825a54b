//! The ratio of a candidate's objective to the incumbent's, with its interval.

use crate::kernel_blob::KernelBlob;
use lab_project::config::Goal;
use lab_project::objective::Objective;
use lab_protocol::report::{AggregateOf, Comparison, Measure, Report, Speed};
use lab_text::figures;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The change of the objective against the incumbent's, on the same device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Candidate over incumbent, minus one: 0.031 is +3.1 %.
    pub ratio: f64,
    /// Half width of the ratio's interval, if both figures have an interval.
    pub spread: Option<f64>,
    /// The ends of the ratio's interval, minus one, if the two were timed in turns.
    pub interval: Option<(f64, f64)>,
    /// The verdict on speed; `None` against the incumbent's recorded figure.
    pub speed: Option<Speed>,
    /// How the ratio came from those of several workloads, if the harness says so and its objective
    /// came in another way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<AggregateOf>,
    /// The incumbent of the turns, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub incumbent: Option<KernelBlob>,
}

impl Change {
    /// The change that the harness measured in turns, also of a run in progress. The harness gives
    /// a ratio of speeds: `None` if the objective is neither a speed nor a time.
    pub fn in_turns(report: &Report, objective: &Objective) -> Option<Change> {
        let Comparison {
            ratio: Measure { value, low, high },
            speed,
            aggregate,
        } = report.comparison()?;
        let (value, ends) = match objective {
            Objective::Throughput | Objective::Tflops | Objective::Gbps => (value, low.zip(high)),
            Objective::KernelTime => (
                1.0 / value,
                high.zip(low).map(|(high, low)| (1.0 / high, 1.0 / low)),
            ),
            Objective::Other(_) => return None,
        };
        let (low, high) = ends?;
        let aggregate = aggregate.filter(|of| report.aggregate_of(objective.name()) != Some(*of));
        let is_finite = [value, low, high, high - low]
            .into_iter()
            .all(f64::is_finite);
        is_finite.then_some(Change {
            ratio: value - 1.0,
            spread: Some((high - low) / 2.0),
            interval: Some((low - 1.0, high - 1.0)),
            speed,
            aggregate,
            incumbent: None,
        })
    }

    /// Whether the candidate was timed in turns with this kernel.
    pub fn is_in_turns_with(&self, kernel: Option<KernelBlob>) -> bool {
        self.interval.is_some() && kernel.is_some() && self.incumbent == kernel
    }

    /// Whether the candidate was timed in turns with a kernel that the record does not name, as runs
    /// of earlier versions of the lab were.
    pub fn names_no_incumbent(&self) -> bool {
        self.interval.is_some() && self.incumbent.is_none()
    }

    /// The change of the incumbent against the candidate.
    #[must_use]
    pub fn turned_round(self) -> Change {
        let speed = self.speed.map(|speed| match speed {
            Speed::Faster => Speed::Slower,
            Speed::Slower => Speed::Faster,
            other => other,
        });
        Change {
            speed,
            incumbent: None,
            ..self.inverse()
        }
    }

    /// The change between two recorded figures. Its interval is that of a quotient of two
    /// independent measures, each with its own relative half width.
    pub fn of_figures(candidate: &Measure, incumbent: &Measure) -> Option<Change> {
        let quotient = candidate.value / incumbent.value;
        let half = |m: &Measure| {
            Some(((m.high? - m.low?) / 2.0 / m.value).abs()).filter(|h| h.is_finite())
        };
        let spread = half(candidate)
            .zip(half(incumbent))
            .map(|(a, b)| quotient.abs() * a.hypot(b));
        Change::of_quotient(quotient, spread)
    }

    /// The change by a quotient of figures that were not timed in turns; `None` if it is not
    /// finite.
    pub fn of_quotient(quotient: f64, spread: Option<f64>) -> Option<Change> {
        let ratio = quotient - 1.0;
        ratio.is_finite().then_some(Change {
            ratio,
            spread: spread.filter(|spread| spread.is_finite()),
            ..Change::default()
        })
    }

    /// The change with growth as the better direction: of a measure that should shrink the change of
    /// its inverse. A time that is 3.5 % shorter is +3.6 %.
    #[must_use]
    pub fn improvement(self, goal: Goal) -> Change {
        match goal {
            Goal::Minimize => self.inverse(),
            Goal::Maximize => self,
        }
    }

    fn inverse(self) -> Change {
        let over = 1.0 + self.ratio;
        if over <= 0.0 {
            return self;
        }
        let inverse = |ratio: f64| 1.0 / (1.0 + ratio) - 1.0;
        Change {
            ratio: inverse(self.ratio),
            spread: self.spread.map(|spread| spread / (over * over)),
            interval: self
                .interval
                .map(|(low, high)| (inverse(high), inverse(low))),
            ..self
        }
    }

    /// The improvement in words: `faster +3.6 % (+3.3 … +3.9)`. Only kernels that were timed in turns
    /// are called faster or slower. Of a measure that should shrink and is no time, the words say
    /// which direction is meant: `better +3.6 % ± 0.3`.
    pub fn in_words(&self, objective: &Objective, goal: Goal) -> String {
        let better = self.improvement(goal);
        let is_time = *objective == Objective::KernelTime;
        if goal == Goal::Maximize || better.speed.is_some() || is_time {
            return better.to_string();
        }
        let word = if better.ratio < 0.0 {
            "worse"
        } else {
            "better"
        };
        format!("{word} {better}")
    }

    /// The change as a ratio that is above 1 where the candidate is better. Of a measure that should
    /// shrink, as a time, it is the incumbent's over the candidate's.
    pub fn as_ratio(&self, objective: &Objective, goal: Goal) -> Measure {
        let value = 1.0 + self.ratio;
        let around = |spread: f64| (value - spread, value + spread);
        let ends = self.interval.map(|(low, high)| (1.0 + low, 1.0 + high));
        let (low, high) = ends.or(self.spread.map(around)).unzip();
        match objective.goal() == Goal::Minimize || goal == Goal::Minimize {
            true => Measure {
                value: 1.0 / value,
                low: high.map(|high| 1.0 / high),
                high: low.map(|low| 1.0 / low),
            },
            false => Measure { value, low, high },
        }
    }

    /// What the candidate was compared with.
    pub fn against(&self) -> &'static str {
        if self.interval.is_some() {
            "incumbent"
        } else {
            "incumbent's record"
        }
    }
}

/// `faster +2.1 % (+1.9 … +2.4)`, `faster ×459.1 (×425.5 … ×495.4)`, of several workloads with `, geometric mean of 3`; against a
/// recorded figure `+3.1 % ± 0.3`.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((low, high)) = self.interval else {
            return f.write_str(&figures::change(self.ratio, self.spread));
        };
        let ([ratio, low, high], unit) = figures::changes([self.ratio, low, high]);
        let speed = self
            .speed
            .map_or_else(String::new, |speed| format!("{} ", speed.word()));
        write!(f, "{speed}{ratio}{unit} ({low} … {high})")?;
        self.aggregate
            .map_or(Ok(()), |aggregate| write!(f, ", {aggregate}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_carries_both_intervals() {
        let measure = |value, low, high| Measure {
            value,
            low: Some(low),
            high: Some(high),
        };
        let change = Change::of_figures(
            &measure(103.0, 101.97, 104.03),
            &measure(100.0, 99.0, 101.0),
        )
        .expect("numbers");
        assert!((change.ratio - 0.03).abs() < 1e-12);
        assert!((change.spread.expect("both intervals") - 1.03 * 0.01 * 2f64.sqrt()).abs() < 1e-9);
        assert_eq!(
            Change::of_figures(&measure(1.0, 1.0, 1.0), &measure(0.0, 0.0, 0.0)),
            None
        );
    }

    #[test]
    fn many_times_as_fast_is_a_factor() {
        let change = Change {
            ratio: 458.1025,
            interval: Some((424.464, 494.4005)),
            speed: Some(Speed::Faster),
            ..Change::default()
        };
        assert_eq!(change.to_string(), "faster ×459.1 (×425.5 … ×495.4)");
        let recorded = Change {
            interval: None,
            speed: None,
            spread: Some(35.0),
            ..change
        };
        assert_eq!(recorded.to_string(), "×459.1 ± 35");
    }

    #[test]
    fn a_shorter_time_is_an_improvement() {
        let change = Change {
            ratio: -0.035,
            spread: Some(0.003),
            interval: Some((-0.038, -0.032)),
            speed: Some(Speed::Faster),
            ..Change::default()
        };
        let time = Objective::KernelTime;
        assert_eq!(
            change.in_words(&time, Goal::Minimize),
            "faster +3.6 % (+3.3 … +4.0)"
        );
        let recorded = Change {
            interval: None,
            speed: None,
            ..change
        };
        let memory = Objective::from("peak_mib");
        assert_eq!(
            [&time, &memory].map(|of| recorded.in_words(of, Goal::Minimize)),
            ["+3.6 % ± 0.3", "better +3.6 % ± 0.3"]
        );
        assert_eq!(
            recorded.in_words(&memory, Goal::Maximize),
            recorded.to_string()
        );
    }

    #[test]
    fn a_shorter_time_is_a_ratio_above_one_and_its_ends_are_in_order() {
        let change = Change {
            ratio: -0.2,
            interval: Some((-0.25, -0.15)),
            ..Change::default()
        };
        let found = change.as_ratio(&Objective::KernelTime, Goal::Minimize);
        assert!((found.value - 1.25).abs() < 1e-9);
        assert!(
            found.low.is_some_and(|low| low < 1.25) && found.high.is_some_and(|high| high > 1.25)
        );
    }

    #[test]
    fn a_time_shrinks_where_a_speed_grows() {
        let report =
            Report::read("speed_ratio: 1.0213 low=1.0190 high=1.0236 quads=3\nspeed: faster\n");
        let change = Change::in_turns(&report, &Objective::KernelTime).expect("a change");
        assert_eq!(change.to_string(), "faster -2.1 % (-2.3 … -1.9)");
        assert_eq!(Change::in_turns(&report, &"gbps".into()), None);
    }

    #[test]
    fn a_ratio_says_of_how_many_workloads_it_is_the_mean_or_the_worst() {
        let log = "speed_ratio: 1.0213 low=1.0190 high=1.0236 aggregate=worst workloads=3\nspeed: faster\n";
        let change =
            Change::in_turns(&Report::read(log), &Objective::Throughput).expect("a change");
        assert_eq!(
            change.to_string(),
            "faster +2.1 % (+1.9 … +2.4), worst of 3"
        );
        let same = log.to_owned() + "throughput_sps: 1000 aggregate=worst workloads=3\n";
        let said =
            Change::in_turns(&Report::read(&same), &Objective::Throughput).expect("a change");
        assert_eq!(
            said.to_string(),
            "faster +2.1 % (+1.9 … +2.4)",
            "the figure beside it says so"
        );
        let written = serde_json::to_string(&change).expect("written");
        assert_eq!(
            serde_json::from_str::<Change>(&written).expect("read"),
            change
        );
    }

    #[test]
    fn the_record_of_an_older_lab_is_read() {
        let old: Change =
            serde_json::from_str(r#"{"ratio": 0.031, "spread": 0.003}"#).expect("read");
        assert_eq!(
            (old.to_string().as_str(), old.speed),
            ("+3.1 % ± 0.3", None)
        );
    }

    #[test]
    fn an_undecided_change_says_so_with_its_interval() {
        let log = "speed_ratio: 1.0041 low=0.9872 high=1.0213 quads=3\nspeed: undecided\n";
        let change =
            Change::in_turns(&Report::read(log), &Objective::Throughput).expect("a change");
        assert_eq!(change.to_string(), "undecided +0.4 % (-1.3 … +2.1)");
        let written = serde_json::to_string(&change).expect("written");
        assert!(written.contains("\"speed\":\"undecided\""), "{written}");
        assert_eq!(
            serde_json::from_str::<Change>(&written).expect("read"),
            change
        );
    }

    #[test]
    fn close_ends_get_a_further_digit() {
        let interval = Some((-3e-4, 7e-4));
        let change = Change {
            ratio: 2e-4,
            interval,
            speed: Some(Speed::Same),
            ..Change::default()
        };
        assert_eq!(change.to_string(), "same +0.02 % (-0.03 … +0.07)");
    }
}

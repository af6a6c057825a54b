//! What a tensor problem optimises: the figure of a workload, and how those of several workloads
//! become one.

use crate::measure::TimingSummary;
use lab_protocol::report::Measure;
use lab_stats::aggregate::{Aggregate, Better};
use serde::Deserialize;

/// The figure of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Figure {
    /// Samples per second.
    #[default]
    Samples,
    /// The time of a launch.
    Time,
    /// 10¹² operations per second.
    Tflops,
    /// 10⁹ bytes per second.
    Gbps,
}

/// What the line `kernel_us` is the time of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TimeOf {
    #[default]
    Launch,
    Sample,
}

/// The size of one launch of a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Amounts {
    /// Samples, for `throughput_sps`.
    pub samples: f64,
    /// Bytes that it must move.
    pub bytes: f64,
    /// Operations that it must compute.
    pub flops: Option<f64>,
    /// Steps that follow one another, and the exchanges in each.
    pub dependent_steps: f64,
    pub exchanges: f64,
}

impl Amounts {
    /// Figures of a workload besides its time, behind its line: rates, and the amounts of a launch
    /// that they are of.
    pub fn words(&self, seconds: &TimingSummary, latency: Option<f64>) -> String {
        let mut words = String::new();
        if let Some(latency) = latency {
            words += &format!(" latency_us={:.3}", latency * 1e6);
        }
        let rate = |amount: f64| in_decimals(amount / seconds.median / 1e9);
        words += &format!(" gbps={}", rate(self.bytes));
        if let Some(flops) = self.flops {
            words += &format!(" gflops={}", rate(flops));
        }
        words += &format!(" bytes={}", self.bytes);
        if let Some(flops) = self.flops {
            words += &format!(" flops={flops}");
        }
        words
    }
}

/// A rate with two decimals, and a small one with up to four.
fn in_decimals(rate: f64) -> String {
    let decimals = match rate > 0.0 {
        true => (3.0 - rate.log10().floor()).clamp(2.0, 4.0) as usize,
        false => 2,
    };
    format!("{rate:.decimals$}")
}

/// `[objective]` of a problem.toml, without the expression for the samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Objective {
    pub figure: Figure,
    pub aggregate: Aggregate,
    pub time_of: TimeOf,
}

impl Figure {
    /// The result line that is the measure.
    pub fn key(self) -> &'static str {
        match self {
            Figure::Samples => "throughput_sps",
            Figure::Time => "kernel_us",
            Figure::Tflops => "throughput_tflops",
            Figure::Gbps => "throughput_gbps",
        }
    }

    /// Digits behind the point in the result line. A small kernel has a small part of a TFLOP/s.
    pub fn digits(self) -> usize {
        match self {
            Figure::Samples | Figure::Time => 3,
            Figure::Tflops | Figure::Gbps => 6,
        }
    }

    fn better(self) -> Better {
        match self {
            Figure::Time => Better::Smaller,
            Figure::Samples | Figure::Tflops | Figure::Gbps => Better::Larger,
        }
    }

    /// The figure of a workload whose launch takes so many seconds, in the unit of [`Figure::key`].
    pub fn of(self, launch: &Amounts, seconds: f64) -> f64 {
        match self {
            Figure::Samples => launch.samples / seconds,
            Figure::Time => seconds * 1e6,
            Figure::Tflops => launch.flops.unwrap_or(0.0) / seconds / 1e12,
            Figure::Gbps => launch.bytes / seconds / 1e9,
        }
    }
}

impl Objective {
    /// The figures that are reported: those of results.tsv, and the problem's own.
    pub fn figures(self) -> Vec<Figure> {
        let mut figures = vec![Figure::Samples, Figure::Time];
        figures.extend(Some(self.figure).filter(|own| !figures.contains(own)));
        figures
    }

    /// A figure of several workloads, with the interval that follows from theirs; `None` without a
    /// workload. The interval is missing if that of a workload is.
    pub fn measure(
        self,
        figure: Figure,
        launches: &[Amounts],
        times: &[TimingSummary],
    ) -> Option<Measure> {
        let of = |seconds: &dyn Fn(&TimingSummary) -> Option<f64>| {
            let turn: Option<Vec<f64>> = times.iter().map(seconds).collect();
            self.figure_of_turn(figure, launches, &turn?)
        };
        let least = of(&|time| time.interval.map(|(low, _)| low));
        let most = of(&|time| time.interval.map(|(_, high)| high));
        let (low, high) = match figure.better() {
            Better::Smaller => (least, most),
            Better::Larger => (most, least),
        };
        Some(Measure {
            value: of(&|time| Some(time.median))?,
            low,
            high,
        })
    }

    /// A figure of several workloads whose launches take so many seconds.
    ///
    /// Samples per second are those of results.tsv, also if something else is the measure: so many
    /// samples as a launch has on the mean, in the seconds that stand for a turn. So they grow as
    /// the objective gets better.
    fn figure_of_turn(self, figure: Figure, launches: &[Amounts], turn: &[f64]) -> Option<f64> {
        if figure == Figure::Samples {
            let mean = match self.aggregate {
                Aggregate::Geometric => Aggregate::Geometric,
                _ => Aggregate::Arithmetic,
            };
            let samples = launches.iter().map(|launch| launch.samples);
            let samples = mean.of(samples, Better::Larger)?;
            return Some(samples / self.seconds_of_turn(launches, turn)?);
        }
        let each = launches.iter().zip(turn);
        let each = each.map(|(launch, seconds)| {
            let parts = match (figure, self.time_of) {
                (Figure::Time, TimeOf::Sample) => launch.samples,
                _ => 1.0,
            };
            figure.of(launch, *seconds) / parts
        });
        self.aggregate.of(each, figure.better())
    }

    /// The seconds that stand for a turn: if one kernel's are half of another's, its objective is
    /// twice as good. For a geometric mean, the result is the geometric mean of the times, whatever the
    /// figure.
    pub fn seconds_of_turn(self, launches: &[Amounts], turn: &[f64]) -> Option<f64> {
        if self.figure == Figure::Time || self.aggregate == Aggregate::Geometric {
            return self.aggregate.of(turn.iter().copied(), Better::Smaller);
        }
        // The time in which launches of a mean size would have this rate.
        let amounts = launches.iter().map(|launch| self.figure.of(launch, 1.0));
        let amount = Aggregate::Arithmetic.of(amounts, Better::Larger)?;
        let rates = launches
            .iter()
            .zip(turn)
            .map(|(launch, seconds)| self.figure.of(launch, *seconds));
        Some(amount / self.aggregate.of(rates, Better::Larger)?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn launch(samples: f64, bytes: f64, flops: f64) -> Amounts {
        Amounts {
            samples,
            bytes,
            flops: Some(flops),
            ..Amounts::default()
        }
    }

    fn time(seconds: f64) -> TimingSummary {
        let interval = Some((seconds * 0.5, seconds * 2.0));
        TimingSummary {
            n: 6,
            median: seconds,
            mad: 0.0,
            interval,
        }
    }

    #[test]
    fn a_workload_tells_the_amounts_of_a_launch_and_rates_in_digits_that_are_known() {
        let words = launch(1.0, 131_584.0, 245_760.0).words(&time(1.2e-3), None);
        assert_eq!(
            words,
            " gbps=0.1097 gflops=0.2048 bytes=131584 flops=245760"
        );
        let words = launch(1.0, 4e9, 0.0).words(&time(1e-3), None);
        assert_eq!(words, " gbps=4000.00 gflops=0.00 bytes=4000000000 flops=0");
    }

    #[test]
    fn each_figure_is_in_its_unit_and_its_interval_is_in_order() {
        let launches = [launch(10.0, 2e9, 4e12); 2];
        let times = [time(2.0), time(8.0)];
        let of = |figure, aggregate| {
            let time_of = TimeOf::Launch;
            let measure = Objective {
                figure,
                aggregate,
                time_of,
            }
            .measure(figure, &launches, &times)
            .unwrap();
            assert!(measure.low.unwrap() < measure.value && measure.value < measure.high.unwrap());
            measure.value
        };
        assert!((of(Figure::Samples, Aggregate::Geometric) - 2.5).abs() < 1e-12);
        assert!((of(Figure::Samples, Aggregate::Arithmetic) - 3.125).abs() < 1e-12);
        assert_eq!(of(Figure::Samples, Aggregate::Worst), 1.25);
        assert_eq!(of(Figure::Time, Aggregate::Arithmetic), 5e6);
        assert_eq!(of(Figure::Time, Aggregate::Worst), 8e6);
        assert_eq!(of(Figure::Tflops, Aggregate::Worst), 0.5);
        assert_eq!(
            of(Figure::Gbps, Aggregate::Arithmetic),
            f64::midpoint(1.0, 0.25)
        );
        let alone = TimingSummary {
            interval: None,
            ..time(1.0)
        };
        let measure = Objective::default()
            .measure(Figure::Time, &launches[..1], &[alone])
            .unwrap();
        assert!((measure.value - 1e6).abs() < 1e-3 && measure.low.or(measure.high).is_none());
        assert_eq!(Objective::default().measure(Figure::Time, &[], &[]), None);
        let of_sample = Objective {
            time_of: TimeOf::Sample,
            ..Objective::default()
        };
        let measure = of_sample
            .measure(Figure::Time, &launches[..1], &times[..1])
            .unwrap();
        assert!((measure.value - 2e5).abs() < 1e-6, "10 samples in 2 s");
    }

    proptest! {
        /// The ratio of two turns is the ratio of the objectives that they have.
        #[test]
        fn turns_compare_as_the_objective_does(
            launches in prop::collection::vec((1.0f64..1e6, 1e-6f64..1.0, 1e-6f64..1.0), 1..8), at in 0usize..12,
        ) {
            let figure = [Figure::Samples, Figure::Time, Figure::Tflops, Figure::Gbps][at % 4];
            let objective = Objective { figure, aggregate: [Aggregate::Geometric, Aggregate::Arithmetic, Aggregate::Worst][at / 4], time_of: TimeOf::Launch };
            let amounts: Vec<Amounts> =
                launches.iter().map(|(size, ..)| launch(*size, *size, *size)).collect();
            let of = |turn: Vec<f64>| {
                let times: Vec<TimingSummary> = turn.iter().map(|seconds| time(*seconds)).collect();
                let found = objective.measure(figure, &amounts, &times).unwrap().value;
                let rate = objective.measure(Figure::Samples, &amounts, &times).unwrap().value;
                (objective.seconds_of_turn(&amounts, &turn).unwrap(), found, rate)
            };
            let (a, b) = (of(launches.iter().map(|l| l.1).collect()), of(launches.iter().map(|l| l.2).collect()));
            let gain = if figure == Figure::Time { a.1 / b.1 } else { b.1 / a.1 };
            prop_assert!((a.0 / b.0 / gain - 1.0).abs() < 1e-9);
            prop_assert!((b.2 / a.2 / gain - 1.0).abs() < 1e-9, "results.tsv says the same");
            if figure == Figure::Samples {
                let rates = amounts.iter().zip(&launches).map(|(amounts, l)| figure.of(amounts, l.1));
                let rate = objective.aggregate.of(rates, Better::Larger).unwrap();
                prop_assert!((a.2 / rate - 1.0).abs() < 1e-9);
            }
        }
    }
}

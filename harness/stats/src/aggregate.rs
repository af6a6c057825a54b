//! The one figure of several workloads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the figures of several workloads become one.
///
/// ```
/// use lab_stats::aggregate::{Aggregate, Better};
///
/// let us = [1.0, 4.0, 16.0];
/// assert_eq!(Aggregate::Geometric.of(us, Better::Smaller), Some(4.0));
/// assert_eq!(Aggregate::Arithmetic.of(us, Better::Smaller), Some(7.0));
/// assert_eq!(Aggregate::Worst.of(us, Better::Smaller), Some(16.0));
/// assert_eq!(Aggregate::Worst.of(us, Better::Larger), Some(1.0));
/// ```
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    strum::EnumString,
    strum::IntoStaticStr,
    JsonSchema,
    Serialize,
    Deserialize,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Aggregate {
    /// The geometric mean: a change by so many percent counts the same in every workload.
    #[default]
    Geometric,
    /// The arithmetic mean: workloads with large figures decide.
    Arithmetic,
    /// The worst figure: the longest time, the lowest rate.
    Worst,
}

/// Which of two figures is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// The larger, as of a rate.
    Larger,
    /// The smaller, as of a time.
    Smaller,
}

impl Aggregate {
    /// Its word in problem.toml and in result lines.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// Its name beside a figure.
    pub fn name(self) -> &'static str {
        match self {
            Aggregate::Geometric => "geometric mean",
            Aggregate::Arithmetic => "arithmetic mean",
            Aggregate::Worst => "worst",
        }
    }

    /// The figure of these figures, which are positive; `None` without one.
    pub fn of(self, figures: impl IntoIterator<Item = f64>, better: Better) -> Option<f64> {
        let figures = figures.into_iter();
        match self {
            Aggregate::Geometric => mean(figures.map(f64::ln)).map(f64::exp),
            Aggregate::Arithmetic => mean(figures),
            Aggregate::Worst => figures.reduce(match better {
                Better::Larger => f64::min,
                Better::Smaller => f64::max,
            }),
        }
    }
}

fn mean(figures: impl Iterator<Item = f64>) -> Option<f64> {
    let (n, sum) = figures.fold((0u32, 0.0), |(n, sum), figure| (n + 1, sum + figure));
    (n > 0).then(|| sum / f64::from(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_geometric_mean_weighs_ratios() {
        let mean = Aggregate::Geometric.of([1.0, 100.0], Better::Smaller);
        assert!((mean.unwrap_or(0.0) - 10.0).abs() < 1e-9);
    }

    #[test]
    fn every_word_names_its_aggregate() {
        for aggregate in [
            Aggregate::Geometric,
            Aggregate::Arithmetic,
            Aggregate::Worst,
        ] {
            assert_eq!(aggregate.word().parse(), Ok(aggregate));
            assert_eq!(aggregate.of([], Better::Larger), None);
            assert!((aggregate.of([3.0], Better::Larger).unwrap_or(0.0) - 3.0).abs() < 1e-12);
        }
        assert!("median".parse::<Aggregate>().is_err());
    }
}

//! The figure that stands in place of lab.toml's objective, in the form in which lists hold it: one
//! that the problem chose, or samples per second where lab.toml names another objective by now.

use super::verdict::Figure;
use lab_project::config::Goal;
use lab_project::objective::Objective;
use lab_protocol::report::Measure;
use serde::{Deserialize, Serialize};

/// The measures that may stand in place of the objective, by the key of their result line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ChosenMeasure {
    /// Of a row that was written while they were the objective. No problem chooses them.
    #[serde(rename = "throughput_sps")]
    Samples,
    #[serde(rename = "kernel_us")]
    Time,
    #[serde(rename = "throughput_tflops")]
    Tflops,
    #[serde(rename = "throughput_gbps")]
    Gbps,
}

impl ChosenMeasure {
    /// The objective with the same result line.
    pub fn objective(self) -> Objective {
        match self {
            ChosenMeasure::Samples => Objective::Throughput,
            ChosenMeasure::Time => Objective::KernelTime,
            ChosenMeasure::Tflops => Objective::Tflops,
            ChosenMeasure::Gbps => Objective::Gbps,
        }
    }

    /// Which of two values is better.
    pub fn goal(self) -> Goal {
        self.objective().goal()
    }

    fn of(objective: &Objective) -> Option<Self> {
        match objective {
            Objective::KernelTime => Some(ChosenMeasure::Time),
            Objective::Tflops => Some(ChosenMeasure::Tflops),
            Objective::Gbps => Some(ChosenMeasure::Gbps),
            Objective::Throughput | Objective::Other(_) => None,
        }
    }
}

/// A figure of such a measure. The names of its fields are those of [`Figure`], so that a verdict's
/// figure reads as one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chosen {
    #[serde(rename = "objective")]
    pub of: ChosenMeasure,
    pub measure: Measure,
}

impl Chosen {
    /// The figure that problem.toml chose, from a verdict.
    pub fn from_figure(figure: &Figure) -> Option<Chosen> {
        Some(Chosen {
            of: ChosenMeasure::of(&figure.objective)?,
            measure: figure.measure,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figure_of_a_verdict_reads_as_a_chosen_one() {
        let measure = Measure {
            value: 6.05,
            low: Some(6.0),
            high: Some(6.1),
        };
        for of in [
            ChosenMeasure::Time,
            ChosenMeasure::Tflops,
            ChosenMeasure::Gbps,
        ] {
            let figure = Figure {
                objective: of.objective(),
                measure,
                aggregate: None,
            };
            let text = serde_json::to_string(&figure).expect("written");
            assert_eq!(
                serde_json::from_str::<Chosen>(&text).expect("read"),
                Chosen { of, measure }
            );
            assert_eq!(Chosen::from_figure(&figure), Some(Chosen { of, measure }));
        }
        let figure = Figure {
            objective: Objective::Throughput,
            measure,
            aggregate: None,
        };
        assert_eq!(Chosen::from_figure(&figure), None);
    }
}

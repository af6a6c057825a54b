//! The figure of a run: in which unit it is, and of how many workloads.

use lab_project::config::Goal;
use lab_project::objective::Objective;
use lab_protocol::report::{AggregateOf, Measure, Report, first_word};
use serde::{Deserialize, Serialize};

/// `1.021 (1.019 … 1.023)`, each number in this form; without its interval the value alone.
pub fn with_ends(measure: &Measure, form: impl Fn(f64) -> String) -> String {
    let value = form(measure.value);
    match (measure.low, measure.high) {
        (Some(low), Some(high)) => format!("{value} ({} … {})", form(low), form(high)),
        _ => value,
    }
}

/// A figure with the key of its result line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Which result line it is from.
    pub objective: Objective,
    pub measure: Measure,
    /// Which aggregate of how many workloads; `None` of a single one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<AggregateOf>,
}

impl Figure {
    /// The figure of this objective; `None` if the run has none, or no finite one.
    pub fn of(report: &Report, objective: Objective) -> Option<Figure> {
        let measure = report.measure(objective.name())?;
        let aggregate = report.aggregate_of(objective.name());
        Some(Figure {
            objective,
            measure,
            aggregate,
        })
    }

    /// The figure that problem.toml chose. `None` if it chose nothing, or lab.toml names another
    /// objective: `configured`.
    pub fn chosen(report: &Report, configured: &Objective) -> Option<Figure> {
        let key = first_word(report.value("objective")?);
        let is_open = *configured == Objective::Throughput;
        match Objective::from(key) {
            chosen @ (Objective::KernelTime | Objective::Tflops | Objective::Gbps) if is_open => {
                Figure::of(report, chosen)
            }
            _ => None,
        }
    }

    /// The figure of a run in progress: the one that problem.toml chose, else that of `configured`,
    /// as lab.toml has it.
    pub fn so_far(report: &Report, configured: &Objective) -> Option<Figure> {
        Figure::chosen(report, configured).or_else(|| Figure::of(report, configured.clone()))
    }

    /// Which of two values is better, if problem.toml chose the figure.
    pub fn goal(&self) -> Goal {
        self.objective.goal()
    }

    /// What the figure is, as in `sps`, or `µs, geometric mean of 54 workloads`.
    pub fn unit(&self) -> String {
        let unit = self.objective.heading();
        match self.aggregate {
            Some(of) => format!(
                "{unit}, {} of {} workloads",
                of.aggregate.name(),
                of.workloads
            ),
            None => unit.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "objective: throughput_gbps\nthroughput_sps: 10 low=9 high=11 aggregate=worst workloads=3\n\
                       throughput_gbps: 4.5 low=4.4 high=4.6 aggregate=worst workloads=3\nkernel_us: 4\n";

    #[test]
    fn a_figure_names_its_unit_and_its_aggregate() {
        let report = Report::read(LOG);
        let chosen =
            Figure::chosen(&report, &Objective::Throughput).expect("the problem chose one");
        assert_eq!(
            (chosen.measure.value, chosen.measure.high),
            (4.5, Some(4.6))
        );
        assert_eq!(chosen.unit(), "GB/s, worst of 3 workloads");
        let written = serde_json::to_string(&chosen).expect("written");
        assert_eq!(
            serde_json::from_str::<Figure>(&written).expect("read"),
            chosen
        );
        let time = Figure::of(&report, Objective::KernelTime).expect("a time");
        assert_eq!(time.unit(), "µs");
        assert_eq!(Figure::of(&report, "spread_pct".into()), None);
    }

    #[test]
    fn lab_toml_goes_before_the_problem_and_an_unknown_key_chooses_nothing() {
        let report = Report::read(LOG);
        assert_eq!(Figure::chosen(&report, &"kernel_us".into()), None);
        for line in [
            "objective: watts",
            "objective:",
            "objective: throughput_sps",
            "objective: throughput_tflops",
        ] {
            let report = Report::read(&format!("{LOG}{line}\n"));
            assert_eq!(
                Figure::chosen(&report, &Objective::Throughput),
                None,
                "{line}"
            );
        }
    }
}

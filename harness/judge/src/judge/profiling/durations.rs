//! `--workloads all`: how long a launch of each workload takes under ncu.

use super::Profiling;
use crate::outcome::{Result, Stop};
use crate::problem::Problem;
use crate::profile::ncu::{Counters, Ncu, Page};
use crate::profile::workload::ProfileCase;
use crate::profile::{file, metrics, raw};
use crate::worker::Launched;
use lab_protocol::profile::{VERSION, WorkloadDuration, WorkloadDurations};

impl Profiling<'_> {
    /// Launches every workload once under ncu and writes profile-workloads.json. Without counters
    /// there are no durations.
    pub(super) fn time_all(
        &mut self,
        problem: &mut Problem,
        cases: &[ProfileCase],
        tool: Result<Ncu, String>,
    ) -> Result {
        let ncu = tool.map_err(Stop::Lab)?;
        let first = cases
            .first()
            .ok_or_else(|| Stop::Lab("the problem has no timed workload".into()))?;
        let used = format_args!("ncu {} workloads={}", ncu.version, cases.len());
        self.session.out.line("profiler", used)?;
        let run = self.under_ncu(&ncu, &first.entry)?;
        let all: Vec<usize> = (0..cases.len()).collect();
        let launched = self
            .launch_under(&run, problem, Counters::Duration, &all)?
            .map_err(Stop::Lab)?;
        let kernels = run.read(Page::Raw, raw::read)?;
        let workloads =
            assigned(cases, &launched, &kernels, run.uses_fallback_filter()).map_err(Stop::Lab)?;
        let mean_us =
            workloads.iter().map(|workload| workload.us).sum::<f64>() / workloads.len() as f64;
        let durations = WorkloadDurations {
            version: VERSION,
            tool: format!("ncu {}", ncu.version),
            device: self.session.device.name.clone(),
            workloads,
            mean_us,
        };
        self.write(file::WORKLOADS, &durations)
    }
}

/// Gives the kernels of a report to the workloads: ncu lists them in the order of the launches.
fn assigned(
    cases: &[ProfileCase],
    launched: &[Launched],
    kernels: &[raw::Counted],
    used_fallback_filter: bool,
) -> Result<Vec<WorkloadDuration>, String> {
    let expected: usize = launched.iter().map(Launched::launches).sum();
    if expected != kernels.len() {
        return Err(format!(
            "ncu's report has {} launches, and the workloads made {expected}",
            kernels.len()
        ));
    }
    let mut rest = kernels.iter();
    let mut all = Vec::new();
    for (case, launched) in cases.iter().zip(launched) {
        let mut us = 0.0;
        for kernel in rest.by_ref().take(launched.launches()) {
            let ns = kernel.value(metrics::DURATION);
            us += ns.ok_or_else(|| {
                format!(
                    "ncu's report has no {} of {}",
                    metrics::DURATION,
                    case.label
                )
            })? / 1000.0;
        }
        all.push(WorkloadDuration {
            name: case.label.clone(),
            axes: WorkloadDuration::axes_of(&case.label),
            us,
            kernels: launched.launches() as u32,
            used_fallback_filter,
        });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::worker::LaunchedKernel;
    use lab_device::Shape;
    use lab_protocol::profile::Metric;

    fn kernel(ns: f64) -> raw::Counted {
        let duration = Metric {
            value: ns,
            unit: "ns".into(),
        };
        let metrics = [(metrics::DURATION.to_owned(), duration)]
            .into_iter()
            .collect();
        raw::Counted {
            entry: "k".into(),
            launch: None,
            metrics,
            device: None,
        }
    }

    fn launched(count: usize) -> Launched {
        let one = LaunchedKernel {
            entry: "k".into(),
            shape: Shape::default(),
            times: count,
            occupancy: None,
            maps: 0,
        };
        Launched {
            kernels: vec![one],
            ..Launched::default()
        }
    }

    #[test]
    fn a_list_of_kernels_is_one_duration() {
        let case = |label: &str| ProfileCase {
            label: label.into(),
            ..ProfileCase::default()
        };
        let cases = [case("n=1 T=f16"), case("n=2 T=f16")];
        let kernels = [kernel(1000.0), kernel(500.0), kernel(4000.0)];
        let all = assigned(&cases, &[launched(2), launched(1)], &kernels, false).unwrap();
        assert_eq!(
            all.iter().map(|w| (w.us, w.kernels)).collect::<Vec<_>>(),
            [(1.5, 2), (4.0, 1)]
        );
        assert_eq!(all[0].axes["T"], "f16");
        assert!(
            assigned(&cases, &[launched(1), launched(1)], &kernels, false)
                .unwrap_err()
                .contains("3 launches")
        );
    }
}

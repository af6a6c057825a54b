//! What the profiled workload costs at least, and how the profiled launch differs from a launch of
//! a run.

use super::Profiling;
use crate::judge::session::Session;
use crate::profile::workload::ProfileCase;
use lab_protocol::profile::LeastWork;

impl Profiling<'_> {
    /// The bytes and operations that the problem names, with the floor that the verdict uses where
    /// the device was probed.
    pub(super) fn least(&self, case: &ProfileCase) -> Option<LeastWork> {
        let demand = &case.demand;
        let Session {
            figures, device, ..
        } = &self.session;
        let bounds = figures.map(|figures| figures.bounds(demand, device.l2_bytes));
        let is_known = demand.reads + demand.writes + demand.flops > 0.0;
        is_known.then(|| LeastWork {
            read_bytes: demand.reads,
            written_bytes: demand.writes,
            flops: Some(demand.flops).filter(|flops| *flops > 0.0),
            steps: demand.steps.max(1.0),
            floor_us: bounds.and_then(|bounds| Some(bounds.told_floor()? * 1e6)),
            estimate_us: bounds.map(|bounds| bounds.estimate * 1e6),
            // The judge does not know the run. Whoever keeps the profile beside it adds its time.
            run_us: None,
        })
    }
}

/// How the launch under ncu differs from a timed launch, in words.
pub fn differences(case: &ProfileCase) -> Vec<String> {
    let graph = "the launch was made without a CUDA graph: a run submits its timed launches as one graph, so the gaps between the kernels \
                 of a list, and what a graph saves there, are not in this profile";
    case.runs_as_graph
        .then(|| graph.to_owned())
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_workload_that_runs_as_a_graph_is_launched_otherwise() {
        let of = |runs_as_graph| {
            differences(&ProfileCase {
                runs_as_graph,
                ..ProfileCase::default()
            })
        };
        assert!(of(true)[0].contains("without a CUDA graph"));
        assert_eq!(of(false), Vec::<String>::new());
    }
}

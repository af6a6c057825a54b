//! A bench in one line, for lists of experiments.

use crate::bench::export::with_ends;
use crate::bench::record::{Bench, BenchId};
use crate::bench::store::BenchStore;
use crate::bench::summary::{Summary, TimeOverRuns};
use crate::run::Fingerprint;
use std::fmt;

/// What a bench came to.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchDigest {
    pub bench: BenchId,
    /// `None` without a run.
    pub device: Option<String>,
    /// Runs that have ended.
    pub runs: usize,
    /// `None` if no run passed.
    pub mean: Option<TimeOverRuns>,
    /// Workloads that passed in every run, and all workloads.
    pub passed: usize,
    pub workloads: usize,
    pub emulated: bool,
    /// It is not this user's, or was changed.
    pub foreign: bool,
}

impl BenchDigest {
    pub fn of(bench: &Bench) -> Self {
        let summary = Summary::of(bench);
        let (passed, workloads) = summary.passed();
        BenchDigest {
            bench: bench.start.bench,
            device: bench.runs.first().and_then(|run| run.device.name.clone()),
            runs: bench.runs.len(),
            mean: summary.mean,
            passed,
            workloads,
            emulated: bench.runs.iter().any(|run| run.emulated),
            foreign: !bench.is_own(),
        }
    }
}

/// `bench 3: 13.615 µs (11.095 … 15.953) over 6 runs, passed 54/54, NVIDIA H200`.
impl fmt::Display for BenchDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bench {}: ", self.bench)?;
        if let Some(mean) = &self.mean {
            write!(f, "{} over ", with_ends(mean))?;
        }
        let plural = if self.runs == 1 { "" } else { "s" };
        write!(
            f,
            "{} run{plural}, passed {}/{}",
            self.runs, self.passed, self.workloads
        )?;
        if let Some(device) = &self.device {
            write!(f, ", {device}")?;
        }
        if self.foreign {
            write!(f, ", foreign")
        } else {
            Ok(())
        }
    }
}

/// The benches of these bytes and rules that have a run, newest first. Those that cannot be read
/// are left out.
pub fn benches(store: &BenchStore, kernel: &str, fingerprint: &Fingerprint) -> Vec<BenchDigest> {
    let of_them = store.all(|start| start.kernel == kernel && start.fingerprint == *fingerprint);
    of_them
        .filter(|bench| !bench.runs.is_empty())
        .map(|bench| BenchDigest::of(&bench))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::summary::tests::bench;

    #[test]
    fn a_bench_reads_as_one_line() {
        let digest = BenchDigest::of(&bench(&[
            &[("b=1", 7.0), ("b=2", 9.0)],
            &[("b=1", 8.0), ("b=2", 10.0)],
        ]));
        let wanted = "bench 3: 8.500 µs (8.000 … 9.000) over 2 runs, passed 2/2, NVIDIA H200";
        assert_eq!(digest.to_string(), wanted);
    }
}

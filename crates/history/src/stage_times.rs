//! How long the stages of a kernel's earlier runs took.

use itertools::Itertools;
use lab_protocol::report::{Asked, Report, Stage, StageTimes};
use lab_run::record::Record;
use lab_store::{RunIndex, RunSummary};

/// Runs of the kernel that are read: one of them has built what others found in the cache.
const OWN: usize = 16;

/// Runs of other kernels that are read, for the time of a first build.
const OTHERS: usize = 8;

/// The times of the newest runs of this kernel. A kernel without a build of its own takes as long as
/// others of the repository did.
pub fn stage_times(index: &RunIndex, kernel: &str) -> StageTimes {
    let is_own = |run: &&RunSummary| run.kernel == kernel;
    let own = index.newest_of_kernel(kernel, |_| true).filter(is_own);
    let others = index
        .newest()
        .take(4 * OTHERS)
        .filter(|run| run.kernel != kernel);
    let mut times = StageTimes::default();
    for run in oldest_first(others, OTHERS) {
        if let Ok(record) = index.store().read(run.id) {
            times.learn_stage(asked(run.is_check()), Stage::Build, &record.report());
        }
    }
    for run in oldest_first(own, OWN) {
        if let Ok(record) = index.store().read(run.id) {
            learn(&mut times, &record);
        }
    }
    times
}

/// Takes the times of a run that has ended, and of its check before a keep.
pub fn learn(times: &mut StageTimes, record: &Record) {
    times.learn(asked(record.start.is_check()), &record.report());
    if let Some(held_out) = &record.held_out {
        times.learn(Asked::HeldOut, &report_of(&held_out.results));
    }
}

fn oldest_first<'r>(
    newest: impl Iterator<Item = &'r RunSummary>,
    most: usize,
) -> impl Iterator<Item = &'r RunSummary> {
    newest.take(most).collect_vec().into_iter().rev()
}

fn asked(is_check: bool) -> Asked {
    match is_check {
        true => Asked::Check,
        false => Asked::Run,
    }
}

fn report_of(results: &[(String, String)]) -> Report {
    let mut report = Report::default();
    for (key, value) in results {
        report.push(key, value);
    }
    report
}

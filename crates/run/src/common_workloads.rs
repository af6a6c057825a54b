//! Two runs that did not judge the same workloads, compared on those that both timed.
//!
//! A save judges the workloads with `when = "save"`, `lab bench --verdict` more of them. A mean over other
//! workloads is another figure, so the two runs are compared on the common ones.

use crate::verdict::Change;
use lab_project::objective::Objective;
use lab_protocol::report::Report;
use lab_protocol::report::workloads::{Workload, named_words};

/// A change over the workloads that both runs timed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommonChange {
    pub change: Change,
    /// How many there are.
    pub workloads: usize,
}

/// What two runs that judged different workloads have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum CommonWorkloads {
    /// Both timed the same ones, or one says nothing about workloads: their figures can be
    /// compared.
    #[default]
    Same,
    /// No workload was timed by both, or the objective is neither a speed nor a time.
    None,
    /// Some.
    Some(CommonChange),
}

/// Compares the workloads of two runs: the second over the first, in the direction of `objective`.
/// The change is the geometric mean of the workloads' ratios; its interval takes their times as
/// independent.
pub fn compare(old: &Report, new: &Report, objective: &Objective) -> CommonWorkloads {
    let rows = [old.workloads(), new.workloads()];
    let named = named_words(&[&rows[0], &rows[1]]);
    let [old, new] = rows.each_ref().map(|rows| -> Vec<Workload> {
        rows.iter()
            .map(|words| Workload::of(words, named))
            .filter(|workload| workload.us.is_some())
            .collect()
    });
    let holds = |all: &[Workload], one: &Workload| all.iter().any(|other| other.name == one.name);
    let is_same = old.iter().all(|one| holds(&new, one)) && new.iter().all(|one| holds(&old, one));
    if old.is_empty() || new.is_empty() || is_same {
        return CommonWorkloads::Same;
    }
    let pairs: Vec<(&Workload, &Workload)> = old
        .iter()
        .filter_map(|one| Some((one, new.iter().find(|other| other.name == one.name)?)))
        .collect();
    // Of a time, less is faster.
    let direction = match objective {
        Objective::Throughput | Objective::Tflops | Objective::Gbps => 1.0,
        Objective::KernelTime => -1.0,
        Objective::Other(_) => return CommonWorkloads::None,
    };
    match change(&pairs, direction) {
        Some(change) => CommonWorkloads::Some(CommonChange {
            change,
            workloads: pairs.len(),
        }),
        None => CommonWorkloads::None,
    }
}

fn change(pairs: &[(&Workload, &Workload)], direction: f64) -> Option<Change> {
    let count = pairs.len() as f64;
    let ratios: Option<Vec<f64>> = pairs
        .iter()
        .map(|(old, new)| Some((old.us?.value / new.us?.value).ln() * direction))
        .collect();
    let ratio = (ratios?.iter().sum::<f64>() / count).exp();
    // The half width of the logarithm of a time.
    let half = |workload: &Workload| {
        let us = workload.us?;
        Some((us.high?.ln() - us.low?.ln()) / 2.0).filter(|half| half.is_finite())
    };
    let halves: Option<Vec<f64>> = pairs
        .iter()
        .map(|(old, new)| Some(half(old)?.powi(2) + half(new)?.powi(2)))
        .collect();
    let spread = halves.map(|halves| ratio * halves.iter().sum::<f64>().sqrt() / count);
    Change::of_quotient(ratio, spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAVED: &str =
        "workload: n=1 kernel_us=10 low_us=9.9 high_us=10.1\nworkload: n=2 kernel_us=20\n";
    const MEASURED: &str = "workload: n=1 kernel_us=5 low_us=4.9 high_us=5.1\nworkload: n=2 kernel_us=20\n\
                            workload: n=3 kernel_us=900\n";

    fn compared(old: &str, new: &str, objective: &Objective) -> CommonWorkloads {
        compare(&Report::read(old), &Report::read(new), objective)
    }

    #[test]
    fn only_the_workloads_that_both_timed_count() {
        let CommonWorkloads::Some(common) = compared(SAVED, MEASURED, &Objective::Throughput)
        else {
            panic!("two are common");
        };
        assert_eq!(common.workloads, 2);
        assert!(
            (common.change.ratio - (2f64.sqrt() - 1.0)).abs() < 1e-12,
            "{common:?}"
        );
        // One of them has no interval.
        assert_eq!(common.change.spread, None);
        let CommonWorkloads::Some(time) = compared(SAVED, MEASURED, &Objective::KernelTime) else {
            panic!("two are common");
        };
        assert!(
            (time.change.ratio - (0.5f64.sqrt() - 1.0)).abs() < 1e-12,
            "{time:?}"
        );
    }

    #[test]
    fn a_change_has_the_interval_of_all_its_times() {
        let old = "workload: n=1 kernel_us=10 low_us=9.9 high_us=10.1\n";
        let CommonWorkloads::Some(common) = compared(old, MEASURED, &Objective::Throughput) else {
            panic!("one is common");
        };
        let expected = 2.0 * 0.01f64.hypot(0.02);
        assert!(
            common
                .change
                .spread
                .is_some_and(|spread| (spread - expected).abs() < 1e-4),
            "{common:?}"
        );
        assert_eq!(common.change.to_string(), "+100.0 % ± 4.5");
    }

    #[test]
    fn what_has_nothing_in_common_is_not_compared() {
        let other = "workload: n=7 kernel_us=5\n";
        assert_eq!(
            compared(SAVED, other, &Objective::Throughput),
            CommonWorkloads::None
        );
        assert_eq!(
            compared(SAVED, MEASURED, &"gbps".into()),
            CommonWorkloads::None
        );
    }

    #[test]
    fn where_the_workloads_are_the_same_the_figures_are_compared() {
        for (old, new) in [
            (SAVED, SAVED),
            ("", SAVED),
            (SAVED, "throughput_sps: 3\n"),
            ("", ""),
        ] {
            assert_eq!(
                compared(old, new, &Objective::Throughput),
                CommonWorkloads::Same
            );
        }
    }
}

//! How many sets of inputs a case has.

use super::spec::{Case, CaseTensor};
use lab_device::DeviceInfo;

/// How long the launches of a timed window should take at least: its ends vary by 1 µs on an H200.
pub const WINDOW_SECONDS: f64 = 100e-6;

/// The same where further sets take long.
const SHORT_WINDOW_SECONDS: f64 = 16e-6;

/// Whose results a set costs, beside its inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ResultsOfSets {
    /// A slow reference computes them: one in Python.
    #[default]
    Slow,
    /// A fast reference computes them.
    Fast,
    /// A fast reference computes them, and they are kept on disk for a keep.
    OnDisk,
}

impl ResultsOfSets {
    /// How long the launches of a timed window of the case should take at least.
    ///
    /// A window with a cold L2 cache begins with a cache full of lines that have to be written to
    /// memory. A kernel that writes leaves as many behind at the end. A kernel that only reads pays
    /// for them: 6 µs of a window on an H200. So its windows are as long before a keep as in a run;
    /// its results are small.
    fn window_seconds(self, case: &Case) -> f64 {
        let results = case.bytes_of(|tensor| tensor.is_output() && tensor.is_of_a_set());
        let are_small = results <= case.bytes_of(CaseTensor::is_of_a_set) / SMALL_RESULTS;
        match self {
            ResultsOfSets::Fast => WINDOW_SECONDS,
            ResultsOfSets::OnDisk if are_small => WINDOW_SECONDS,
            ResultsOfSets::OnDisk | ResultsOfSets::Slow => SHORT_WINDOW_SECONDS,
        }
    }
}

/// The part of a set that small results are at most, as its inverse.
const SMALL_RESULTS: usize = 16;

/// The number of input sets. A timed window launches each set once at most, so a case gets as many
/// as make the window long enough for the device's clock. A case that is not timed has two, so that
/// no launch can know which one it gets, and a huge one, to save time, has one.
pub fn sets(case: &Case, device: &DeviceInfo) -> usize {
    if let Some(sets) = case.sets {
        return sets;
    }
    if device.emulated || case.held_out {
        return if case.cells() > HUGE { 1 } else { 2 };
    }
    let bytes = case.bytes_of(CaseTensor::is_of_a_set).max(1);
    let room = match device.memory_bytes {
        0 => usize::MAX,
        memory => memory as usize / case.timed.saturating_mul(8).max(PART_OF_DEVICE) / bytes,
    };
    let least = if case.cells() > HUGE { 1 } else { 2 };
    case.window_sets.min(room).max(least)
}

/// The part of the device's memory that the sets of a case may have, as its inverse; those of all
/// timed cases have an eighth. They lie there up to three times, and several judges stand by.
const PART_OF_DEVICE: usize = 128;

/// Cells of a case from which on drawing, copying and comparing it takes the lab most of a second.
const HUGE: usize = 8 << 20;

/// Gives each timed case the launches that take this time together on a card that moves 4 TB and
/// computes 10^15 operations in a second, as far as their number and the memory of all cases are not
/// limited. What small cases leave of that memory, large ones get.
pub fn share_window_sets(cases: &mut [Case], results: ResultsOfSets) {
    let mut timed: Vec<&mut Case> = cases.iter_mut().filter(|case| !case.held_out).collect();
    let count = timed.len();
    let most = (MOST_SETS * MANY / count.max(MANY)).max(LEAST_OF_MANY);
    for case in &mut timed {
        let bytes = case.bytes_of(CaseTensor::is_of_a_set);
        let seconds = (bytes as f64 / 4e12).max(case.amounts.flops.unwrap_or(0.0) / 1e15);
        let wanted = (results.window_seconds(case) / seconds).ceil() as usize;
        (case.window_sets, case.timed) = (wanted.min(most), count);
    }
    let bytes = |case: &Case| case.bytes_of(CaseTensor::is_of_a_set).max(1);
    timed.sort_by_key(|case| bytes(case).saturating_mul(case.window_sets));
    let mut left = MOST_BYTES;
    for (at, case) in timed.into_iter().enumerate() {
        let share = left / (count - at);
        case.window_sets = case.window_sets.min(share / bytes(case));
        left -= case.window_sets * bytes(case);
    }
}

/// So many timed cases are many.
const MANY: usize = 16;

/// Most sets of a case. More launches would take the host longer to submit than a window should
/// last. Launches of 2 µs fill a window of 50 to 70 µs so.
const MOST_SETS: usize = 32;

/// As many sets each of many cases may have, if they are small.
const LEAST_OF_MANY: usize = 16;

/// Most bytes of the sets of all timed cases.
const MOST_BYTES: usize = 8 << 30;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::file;
    use super::*;
    use crate::testing;
    use std::path::Path;

    /// The sets of cases with so many numbers of 32 bits in and as many out.
    fn sets_of_each(cells: &[usize], further: &str) -> Vec<usize> {
        let top = "entry = \"twice\"\ndims = [\"n\"]\n";
        let tensors = include_str!("../../../tests/one_to_one.toml");
        let workload = |n: &usize| format!("[[workload]]\ndims = {{ n = {n} }}\n");
        let workloads: String = cells.iter().map(workload).collect();
        let text = format!("{top}{further}{tensors}[objective]\nsamples = \"n\"\n{workloads}");
        let spec = file::parse(Path::new("problem.toml"), &text, None).unwrap();
        let device = DeviceInfo {
            memory_bytes: 141 << 30,
            ..testing::device()
        };
        spec.cases.iter().map(|case| sets(case, &device)).collect()
    }

    /// The sets of each of `count` such cases.
    fn sets_of(cells: usize, count: usize, further: &str) -> usize {
        sets_of_each(&vec![cells; count], further)[0]
    }

    #[test]
    fn a_case_has_as_many_sets_as_launches_of_a_tenth_of_a_millisecond_need() {
        assert_eq!(sets_of(100, 1, ""), 32, "at most");
        assert_eq!(sets_of(2 << 20, 1, ""), 24, "16 MiB take 4.2 µs");
        assert_eq!(sets_of(16 << 20, 1, ""), 3, "128 MiB");
        assert_eq!(sets_of(256 << 20, 1, ""), 1, "2 GiB");
    }

    #[test]
    fn before_a_keep_only_windows_whose_results_are_small_stay_long() {
        let sets_of = |out: &str| {
            let text = format!(
                "entry = \"sum\"\ndims = [\"n\"]\n\
                 [[tensor]]\nname = \"x\"\nrole = \"in\"\ntype = \"f32\"\nshape = [\"n\"]\nvalues = {{ normal = {{ std = 1.0 }} }}\n\
                 [[tensor]]\nname = \"y\"\nrole = \"out\"\ntype = \"f32\"\nshape = [{out}]\n\
                 [tolerance.f32]\natol = 1.0\n[objective]\nsamples = \"n\"\n\
                 [[workload]]\ndims = {{ n = 8388608 }}\n"
            );
            let spec = file::parse(Path::new("problem.toml"), &text, None).unwrap();
            let sets = |results| {
                let mut cases = [(*spec.cases[0]).clone()];
                share_window_sets(&mut cases, results);
                cases[0].window_sets
            };
            [
                sets(ResultsOfSets::Fast),
                sets(ResultsOfSets::OnDisk),
                sets(ResultsOfSets::Slow),
            ]
        };
        assert_eq!(sets_of("1"), [12, 12, 2], "8.4 µs each: a sum");
        assert_eq!(sets_of("\"n\""), [6, 1, 1], "16.8 µs each: a copy");
    }

    #[test]
    fn a_launch_that_computes_long_needs_few() {
        assert_eq!(sets_of(1 << 20, 1, "flops = \"1e11\"\n"), 2);
    }

    #[test]
    fn many_cases_have_fewer_sets_each() {
        assert_eq!([sets_of(100, 16, ""), sets_of(100, 54, "")], [32, 16]);
        assert_eq!(sets_of(8 << 20, 16, ""), 6);
        assert_eq!(sets_of(2 << 20, 54, ""), 9, "8.2 GB in all");
    }

    #[test]
    fn what_small_cases_leave_large_ones_get() {
        let mut cells = vec![100; 53];
        cells.push(2 << 20);
        assert_eq!(sets_of_each(&cells, "")[52..54], [16, 16]);
    }
}

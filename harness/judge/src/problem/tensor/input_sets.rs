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
        memory => memory as usize / PART_OF_DEVICE / bytes,
    };
    let least = if case.cells() > HUGE { 1 } else { 2 };
    case.window_sets.min(room).max(least)
}

/// The part of the device's memory that the sets of a case may have, as its inverse. They lie there
/// up to three times.
const PART_OF_DEVICE: usize = 128;

/// Cells of a case from which on drawing, copying and comparing it takes the lab most of a second.
const HUGE: usize = 8 << 20;

/// The launches that take this time together on a card that moves 4 TB and computes 10^15
/// operations in a second, as far as their number and their memory are not limited. Each of many
/// cases gets fewer: to check and to time all of them should not take much longer.
pub fn window_sets(case: &Case, results: ResultsOfSets, timed: usize) -> usize {
    let bytes = case.bytes_of(CaseTensor::is_of_a_set).max(1);
    let seconds = (bytes as f64 / 4e12).max(case.amounts.flops.unwrap_or(0.0) / 1e15);
    let wanted = (results.window_seconds(case) / seconds).ceil() as usize;
    let (timed, many) = (timed.max(1), timed.max(MANY));
    let most = (MOST_SETS * MANY / many).max(LEAST_OF_MANY);
    wanted
        .min(MOST_BYTES / timed * MANY / many / bytes)
        .min(most)
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

    /// The sets of each of `count` cases with `cells` numbers of 32 bits in and as many out.
    fn sets_of(cells: usize, count: usize, further: &str) -> usize {
        let top = "entry = \"twice\"\ndims = [\"n\"]\n";
        let tensors = include_str!("../../../tests/one_to_one.toml");
        let each = format!("[[workload]]\ndims = {{ n = {cells} }}\n");
        let text = format!(
            "{top}{further}{tensors}[objective]\nsamples = \"n\"\n{}",
            each.repeat(count)
        );
        let spec = file::parse(Path::new("problem.toml"), &text, None).unwrap();
        let device = DeviceInfo {
            memory_bytes: 141 << 30,
            ..testing::device()
        };
        sets(&spec.cases[0], &device)
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
            let sets = |results| window_sets(&spec.cases[0], results, 1);
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
        assert_eq!(sets_of(2 << 20, 54, ""), 2, "2.7 GB in all");
    }
}

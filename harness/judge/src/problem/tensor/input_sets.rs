//! How many sets of inputs a case has.

use super::spec::{Case, CaseTensor};
use lab_device::DeviceInfo;

/// How long the launches of a timed window should take at least: its ends vary by 1 µs on an H200.
pub const WINDOW_SECONDS: f64 = 100e-6;

/// The same where further sets take long: a reference in Python is slow, and the results of those for
/// a keep are kept on disk.
pub const SHORT_WINDOW_SECONDS: f64 = 16e-6;

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
pub fn window_sets(case: &Case, window_seconds: f64, timed: usize) -> usize {
    let bytes = case.bytes_of(CaseTensor::is_of_a_set).max(1);
    let seconds = (bytes as f64 / 4e12).max(case.amounts.flops.unwrap_or(0.0) / 1e15);
    let wanted = (window_seconds / seconds).ceil() as usize;
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

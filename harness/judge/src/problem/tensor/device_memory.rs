//! Whether the workloads fit in the memory of the device. Found before anything is drawn: inputs of a workload that fits nowhere
//! would fill the memory of the machine first.

use super::case_data::sets;
use super::spec::{Case, CaseTensor, ProblemSpec};
use crate::problem::key_error::KeyError;
use lab_device::DeviceInfo;

/// Refuses workloads that the device cannot hold: one that is too large by itself, or the timed ones together, because all of
/// them are in memory at once. `chosen` are indices into the spec's cases.
pub fn check(spec: &ProblemSpec, chosen: &[usize], device: &DeviceInfo) -> Result<(), KeyError> {
    if device.memory_bytes == 0 {
        return Ok(());
    }
    let needs = |index: &usize| (*index, needed(&spec.cases[*index], device));
    let all: Vec<(usize, u64)> = chosen.iter().map(needs).collect();
    let Some((largest, most)) = all.iter().copied().max_by_key(|(_, bytes)| *bytes) else { return Ok(()) };
    let timed = all.iter().filter(|(index, _)| !spec.cases[*index].held_out);
    let together = timed.clone().fold(0u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
    let (label, (table, number)) = (&spec.cases[largest].label, spec.cases[largest].table);
    let refused = |what: String| Err(KeyError::new(what).within("dims").within(number).within(table));
    let has = format!("{} has {}", device.name, in_words(device.memory_bytes));
    let cpu = if device.emulated { ", or let cpu_max_cells leave it out" } else { "" };
    let remedy = format!("make it smaller, remove it{cpu}, or use a device with more memory");
    let also = if device.emulated { ", with what the judge and the reference hold" } else { "" };
    if most > device.memory_bytes {
        let sets = sets(&spec.cases[largest], device);
        let times = if sets == 1 { String::new() } else { format!(" for {sets} sets of inputs and outputs") };
        return refused(format!(
            "the workload {label} needs {} of device memory{times}{also}, and {has}: {remedy}",
            in_words(most)
        ));
    }
    if together > device.memory_bytes {
        return refused(format!(
            "the {} timed workloads together need {} of device memory{also}, and {has}; the largest is {label} with {}: {remedy}",
            timed.count(),
            in_words(together),
            in_words(most)
        ));
    }
    Ok(())
}

/// Bytes of all tensors of a case in all its sets. The guard zones around them come on top. The memory of the emulated device is that
/// of the machine: there the judge's copies of all sets, and one set of the reference's worker, count too.
fn needed(case: &Case, device: &DeviceInfo) -> u64 {
    let of_set =
        case.tensors.iter().map(CaseTensor::bytes).fold(0u64, |sum, bytes| sum.saturating_add(bytes as u64));
    let sets = sets(case, device) as u64;
    of_set.saturating_mul(if device.emulated { 2 * sets + 1 } else { sets })
}

/// `3.2 GiB`, `640 MiB`, `12 KiB`.
fn in_words(bytes: u64) -> String {
    const MIB: f64 = (1u64 << 20) as f64;
    match bytes as f64 {
        b if b >= 1024.0 * MIB => format!("{:.1} GiB", b / 1024.0 / MIB),
        b if b >= MIB => format!("{:.0} MiB", b / MIB),
        b => format!("{:.0} KiB", (b / 1024.0).ceil()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::problem::tensor::file;
    use crate::testing;

    /// Scales `n` numbers, for each of these workloads.
    fn spec(workloads: &[u64]) -> ProblemSpec {
        let mut text = "entry = \"scale\"\ndims = [\"n\"]\nbytes = \"8 * n\"\n".to_owned();
        for (name, role) in [("x", "role = \"in\"\nvalues = { constant = 1.0 }"), ("y", "role = \"out\"")] {
            text += &format!("[[tensor]]\nname = \"{name}\"\n{role}\ntype = \"f32\"\nshape = [\"n\"]\n");
        }
        text += "[tolerance.f32]\natol = 1e-6\n[objective]\nsamples = \"n\"\n";
        for n in workloads {
            text += &format!("[[workload]]\ndims = {{ n = {n} }}\n");
        }
        file::parse(std::path::Path::new("problem.toml"), &text, None).unwrap()
    }

    fn refusal(workloads: &[u64], memory_mib: u64, emulated: bool) -> Option<String> {
        let device = DeviceInfo { memory_bytes: memory_mib << 20, emulated, ..testing::device() };
        let spec = spec(workloads);
        let chosen: Vec<usize> = (0..spec.cases.len()).collect();
        check(&spec, &chosen, &device).err().map(|error| error.to_string())
    }

    #[test]
    fn a_workload_that_fits_no_device_is_named_with_what_it_needs() {
        // 400 million numbers in two tensors, one set: 3.2 GB.
        let why = refusal(&[16, 400_000_000], 2048, false).unwrap();
        let wanted = "the workload n=400000000 needs 3.0 GiB of device memory, and fake has 2.0 GiB: make it smaller, remove it, or";
        assert!(why.starts_with(wanted), "{why}");
        assert_eq!(refusal(&[16, 400_000_000], 4096, false), None);
        // A device that does not tell refuses nothing now.
        assert_eq!(refusal(&[16, 400_000_000], 0, false), None);
    }

    #[test]
    fn workloads_that_fit_one_by_one_may_not_fit_together() {
        let why = refusal(&[50_000_000, 60_000_000, 50_000_000], 1000, false).unwrap();
        let wanted = "the 3 timed workloads together need 1.2 GiB of device memory, and fake has 1000 MiB; the largest is n=60000000 with 458 MiB: ";
        assert!(why.starts_with(wanted), "{why}");
    }

    #[test]
    fn on_the_emulated_device_the_judge_and_the_reference_share_the_memory() {
        // Three times 8 bytes of 60 million numbers: the worker's, the judge's, and the reference's.
        let wanted = "the workload n=60000000 needs 1.3 GiB of device memory, with what the judge and the reference hold, and fake has 1000 MiB: ";
        let why = refusal(&[60_000_000], 1000, true).unwrap();
        assert!(why.starts_with(wanted) && why.contains("or let cpu_max_cells leave it out"), "{why}");
        assert_eq!(refusal(&[60_000_000], 1000, false), None);
    }
}

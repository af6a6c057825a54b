//! Whether the workloads fit in memory. Found before anything is drawn: inputs of a workload that
//! fits nowhere would fill the memory of the machine first.
//!
//! The worker's buffers are in the memory of the device, and the judge's copies of inputs and
//! results in that of the machine. On the cpu device both are in the memory of the machine, and a
//! worker also knows there what each of its buffers must hold.

use super::case_data::{Part, bytes_of_inputs, planted_sets, sets, sets_in};
use super::spec::{Case, ProblemSpec, TensorRole};
use crate::problem::key_error::KeyError;
use crate::worker::guarded_bytes;
use lab_device::DeviceInfo;
use lab_device::cpu::SHADOW_PER_BYTE;
use lab_system::memory::{MemoryBytes, in_words};

/// What a run holds.
pub struct HeldMemory<'a> {
    pub spec: &'a ProblemSpec,
    /// The cases of the run, as indices into the spec's.
    pub chosen: &'a [usize],
    /// Those of them that get new inputs where others have lain.
    pub renewed: &'a [usize],
    pub device: &'a DeviceInfo,
}

/// Bytes in buffers of workers, and in the judge.
#[derive(Clone, Copy, Default)]
struct Bytes {
    workers: u64,
    judge: u64,
}

impl Bytes {
    fn plus(self, other: Bytes) -> Bytes {
        let workers = self.workers.saturating_add(other.workers);
        Bytes {
            workers,
            judge: self.judge.saturating_add(other.judge),
        }
    }

    fn all(self) -> u64 {
        self.workers.saturating_add(self.judge)
    }
}

/// The page of a GPU's memory.
const GPU_PAGE: usize = 2 << 20;

impl HeldMemory<'_> {
    /// Refuses workloads that do not fit: one that is too large by itself, or all of them, because
    /// the timed ones are in memory at once. `machine` is what this process may use of the
    /// machine's memory.
    pub fn check(&self, machine: Option<MemoryBytes>) -> Result<(), KeyError> {
        let each = self.chosen.iter().map(|index| (*index, self.alone(*index)));
        let Some((largest, alone)) = each.max_by_key(|(_, bytes)| bytes.all()) else {
            return Ok(());
        };
        let together = self.together();
        let case = &self.spec.cases[largest];
        let (label, (table, number), emulated) = (&case.label, case.table, self.device.emulated);
        let refused = |what: String| {
            Err(KeyError::new(what)
                .within("dims")
                .within(number)
                .within(table))
        };
        let cpu = if emulated {
            ", or let cpu_max_cells leave it out"
        } else {
            ""
        };
        let also = if emulated {
            ", with what the judge and the reference hold"
        } else {
            ""
        };
        let on_device = |bytes: Bytes| if emulated { bytes.all() } else { bytes.workers };
        let the_largest = format!("the largest is {label} with");
        if self.device.memory_bytes > 0 {
            let has = format!(
                "{} has {}",
                self.device.name,
                in_words(self.device.memory_bytes)
            );
            let remedy =
                format!("make it smaller, remove it{cpu}, or use a device with more memory");
            if on_device(alone) > self.device.memory_bytes {
                let sets = sets(case, self.device);
                let times = if sets == 1 {
                    String::new()
                } else {
                    format!(" for {sets} sets of inputs and outputs")
                };
                let needs = in_words(on_device(alone));
                return refused(format!(
                    "the workload {label} needs {needs} of device memory{times}{also}, and {has}: {remedy}"
                ));
            }
            if on_device(together) > self.device.memory_bytes {
                return refused(format!(
                    "the workloads together need {} of device memory{also}, and {has}; {the_largest} {}: {remedy}",
                    in_words(on_device(together)),
                    in_words(on_device(alone)),
                ));
            }
        }
        let Some(machine) = machine else {
            return Ok(());
        };
        let on_machine = |bytes: Bytes| if emulated { bytes.all() } else { bytes.judge };
        let needs = on_machine(together);
        if needs <= machine.free {
            return Ok(());
        }
        let (what, also) = if emulated {
            ("the workloads", also)
        } else {
            ("the judge's copies", "")
        };
        let (now, first) = match needs <= machine.all {
            true => (" free now", "end other programs, "),
            false => ("", ""),
        };
        let has = in_words(if now.is_empty() {
            machine.all
        } else {
            machine.free
        });
        refused(format!(
            "{what} together need {} of this machine's memory{also}, and it has {has}{now}; {the_largest} {}: {first}make it \
             smaller or remove it{cpu}",
            in_words(needs),
            in_words(on_machine(alone)),
        ))
    }

    /// Why the race detector cannot watch a launch of one of these cases, beside the run; `None` if
    /// it can.
    pub fn too_large_to_watch(
        &self,
        cases: &[usize],
        machine: Option<MemoryBytes>,
    ) -> Option<String> {
        let watched = cases
            .iter()
            .map(|index| (*index, under_detector(&self.spec.cases[*index])));
        let (index, bytes) = watched.max_by_key(|(_, bytes)| *bytes)?;
        let needs = self.together().all().saturating_add(bytes);
        let machine = machine.map_or(u64::MAX, |machine| machine.free);
        let device = if self.device.memory_bytes == 0 {
            u64::MAX
        } else {
            self.device.memory_bytes
        };
        (needs > machine.min(device)).then(|| {
            format!(
                "to watch {} takes up to {} of memory, and {} has less free: add a small workload",
                self.spec.cases[index].label,
                in_words(bytes),
                self.device.name
            )
        })
    }

    /// What the run holds at the most. All timed cases are there at once, and one case at a time is
    /// checked.
    fn together(&self) -> Bytes {
        let resident = self
            .chosen
            .iter()
            .map(|index| self.resident(&self.spec.cases[*index]));
        let checked = self
            .chosen
            .iter()
            .map(|index| self.checked(*index))
            .max_by_key(|bytes| bytes.all());
        resident
            .fold(Bytes::default(), Bytes::plus)
            .plus(checked.unwrap_or_default())
    }

    fn alone(&self, index: usize) -> Bytes {
        self.resident(&self.spec.cases[index])
            .plus(self.checked(index))
    }

    /// Of a timed case: its sets on the candidate's worker, and the judge's copies.
    fn resident(&self, case: &Case) -> Bytes {
        if case.held_out {
            return Bytes::default();
        }
        let sets = sets(case, self.device);
        Bytes {
            workers: times(self.on_worker(case), sets),
            judge: times(self.copies(case), sets),
        }
    }

    /// What is there only while a case is checked: sets that are not timed, one of them at a time
    /// on a worker, and what a launch wrote while that of the next launch is read.
    fn checked(&self, index: usize) -> Bytes {
        let case = &self.spec.cases[index];
        let planted = planted_sets(self.spec, case, self.device, 0);
        let parts = [
            (Part::Drawn, case.held_out),
            (Part::Planted, true),
            (Part::Renewed, self.renewed.contains(&index)),
        ];
        let untimed = parts.into_iter().filter(|(_, is_there)| *is_there);
        let untimed: usize = untimed
            .map(|(part, _)| sets_in(case, part, &planted, self.device))
            .sum();
        let workers = if untimed > 0 { self.on_worker(case) } else { 0 };
        let written = 2 * outputs(self.spec, case);
        Bytes {
            workers,
            judge: times(self.copies(case), untimed).saturating_add(written),
        }
    }

    /// A set of a case on a worker: its buffers between guard zones, and on the cpu device what
    /// they must hold.
    fn on_worker(&self, case: &Case) -> u64 {
        let page = if self.device.emulated { 1 } else { GPU_PAGE };
        let buffers = case.tensors.iter().map(|tensor| {
            let guarded = guarded_bytes(tensor.bytes(), page).unwrap_or(usize::MAX) as u64;
            let known = if self.device.emulated {
                tensor.bytes() as u64
            } else {
                0
            };
            guarded.saturating_add(known)
        });
        sum(buffers)
    }

    /// A set of a case in the judge: the inputs, and what the reference says of them.
    fn copies(&self, case: &Case) -> u64 {
        let inputs = bytes_of_inputs(case) as u64;
        let expected = if self.spec.steps > 1 { 2 } else { 1 };
        inputs.saturating_add(times(outputs(self.spec, case), expected))
    }
}

/// A launch under the detector: its inputs in the judge, its buffers, and what it notes of each
/// access to them.
fn under_detector(case: &Case) -> u64 {
    let all = sum(case.tensors.iter().map(|tensor| tensor.bytes() as u64));
    times(all, 2 + SHADOW_PER_BYTE).saturating_add(bytes_of_inputs(case) as u64)
}

fn outputs(spec: &ProblemSpec, case: &Case) -> u64 {
    let tensors = spec.tensors.iter().zip(&case.tensors);
    sum(tensors
        .filter(|(tensor, _)| tensor.role != TensorRole::In)
        .map(|(_, shaped)| shaped.bytes() as u64))
}

fn sum(bytes: impl Iterator<Item = u64>) -> u64 {
    bytes.fold(0, u64::saturating_add)
}

fn times(bytes: u64, count: usize) -> u64 {
    bytes.saturating_mul(count as u64)
}

#[cfg(test)]
#[path = "device_memory_tests.rs"]
mod tests;

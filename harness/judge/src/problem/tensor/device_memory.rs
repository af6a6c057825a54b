//! Whether the workloads fit in memory. Found before anything is drawn: inputs of a workload that
//! fits nowhere would fill the memory of the machine first.
//!
//! The worker's buffers are in the memory of the device, and so are the judge's copies of inputs
//! and results where that can be shared; else those are in the memory of the machine. On the cpu
//! device both are in the memory of the machine, and a worker also knows there what each of its
//! buffers must hold.

use super::drawing::{Drawing, Part};
use super::input_sets::sets;
use super::spec::{Case, CaseTensor, TensorRole};
use crate::problem::key_error::{InKey, Result, wrong};
use crate::worker::guarded_bytes;
use lab_device::DeviceInfo;
use lab_device::cpu::SHADOW_PER_BYTE;
use lab_system::memory::{MemoryBytes, in_words};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The cases of a run, whose memory is estimated.
pub struct HeldMemory<'a> {
    /// The cases of the run.
    pub chosen: &'a [Arc<Case>],
    /// The indices of those that get new inputs where others have lain.
    pub renewed: &'a BTreeSet<usize>,
    pub device: &'a DeviceInfo,
    /// Whether the judge's copies of inputs and results are in the device's memory, as on a GPU
    /// whose memory can be shared.
    pub has_copies: bool,
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

/// Ends what a message says of memory that the judge and a worker share.
const WITH_COPIES: &str = ", with what the judge and the reference hold";

/// A remedy that only the emulated device has.
const LEAVE_OUT: &str = ", or let cpu_max_cells leave it out";

impl HeldMemory<'_> {
    /// Refuses workloads that do not fit: one that is too large by itself, or all of them, because
    /// the timed ones are in memory at once. `machine` is what this process may use of the
    /// machine's memory.
    pub fn check(&self, machine: Option<MemoryBytes>) -> Result {
        let each = self.chosen.iter().map(|case| (case, self.alone(case)));
        let Some((case, alone)) = each.max_by_key(|(_, bytes)| bytes.all()) else {
            return Ok(());
        };
        let together = self.together();
        let why = self
            .too_large_for_device(case, alone, together)
            .or_else(|| self.too_large_for_machine(case, alone, together, machine?));
        let (table, number) = case.table;
        why.map_or(Ok(()), |why| wrong("dims", why).item(table, number))
    }

    /// A part of a message that is about the emulated device only.
    fn if_emulated(&self, words: &'static str) -> &'static str {
        if self.device.emulated { words } else { "" }
    }

    /// Why the device has too little memory for the largest case, or for all of them.
    fn too_large_for_device(&self, case: &Case, alone: Bytes, together: Bytes) -> Option<String> {
        let (device, has_copies) = (self.device, self.has_copies || self.device.emulated);
        let on_device = |bytes: Bytes| {
            if has_copies {
                bytes.all()
            } else {
                bytes.workers
            }
        };
        let is_too_much =
            |bytes: Bytes| device.memory_bytes > 0 && on_device(bytes) > device.memory_bytes;
        let also = if has_copies { WITH_COPIES } else { "" };
        let has = format!("and {} has {}", device.name, in_words(device.memory_bytes));
        let remedy = format!(
            "make it smaller, remove it{}, or use a device with more memory",
            self.if_emulated(LEAVE_OUT)
        );
        let (label, needs) = (&case.label, in_words(on_device(alone)));
        if is_too_much(alone) {
            let times = match sets(case, device) {
                1 => String::new(),
                sets => format!(" for {sets} sets of inputs and outputs"),
            };
            return Some(format!(
                "the workload {label} needs {needs} of device memory{times}{also}, {has}: {remedy}"
            ));
        }
        is_too_much(together).then(|| {
            let all = in_words(on_device(together));
            format!(
                "the workloads together need {all} of device memory{also}, {has}; the largest is {label} with {needs}: {remedy}"
            )
        })
    }

    /// Why this machine has too little memory for what is in it.
    fn too_large_for_machine(
        &self,
        case: &Case,
        alone: Bytes,
        together: Bytes,
        machine: MemoryBytes,
    ) -> Option<String> {
        if self.has_copies && !self.device.emulated {
            return None;
        }
        let emulated = self.device.emulated;
        let on_machine = |bytes: Bytes| if emulated { bytes.all() } else { bytes.judge };
        let needs = on_machine(together);
        if needs <= machine.free {
            return None;
        }
        let what = if emulated {
            "the workloads"
        } else {
            "the judge's copies"
        };
        let (has, now, first) = if needs <= machine.all {
            (machine.free, " free now", "end other programs, ")
        } else {
            (machine.all, "", "")
        };
        Some(format!(
            "{what} together need {} of this machine's memory{}, and it has {}{now}; the largest is {} with {}: {first}make it \
             smaller or remove it{}",
            in_words(needs),
            self.if_emulated(WITH_COPIES),
            in_words(has),
            case.label,
            in_words(on_machine(alone)),
            self.if_emulated(LEAVE_OUT),
        ))
    }

    /// Why the race detector cannot watch a launch of one of these cases, beside the run; `None` if
    /// it can.
    pub fn too_large_to_watch(
        &self,
        cases: &[Arc<Case>],
        machine: Option<MemoryBytes>,
    ) -> Option<String> {
        let watched = cases.iter().map(|case| (case, under_detector(case)));
        let (case, bytes) = watched.max_by_key(|(_, bytes)| *bytes)?;
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
                case.label,
                in_words(bytes),
                self.device.name
            )
        })
    }

    /// The most that the run holds at one time. All timed cases are there at once, and one case at
    /// a time is checked.
    fn together(&self) -> Bytes {
        let resident = self.chosen.iter().map(|case| self.resident(case));
        let checked = self.chosen.iter().map(|case| self.checked(case));
        let checked = checked.max_by_key(|bytes| bytes.all());
        resident
            .fold(Bytes::default(), Bytes::plus)
            .plus(checked.unwrap_or_default())
    }

    fn alone(&self, case: &Case) -> Bytes {
        self.resident(case).plus(self.checked(case))
    }

    /// The bytes of a timed case: its sets on the candidate's worker, and the judge's copies.
    fn resident(&self, case: &Case) -> Bytes {
        if case.held_out {
            return Bytes::default();
        }
        let sets = sets(case, self.device);
        Bytes {
            workers: times(self.on_worker(case), sets),
            judge: times(copies(case), sets),
        }
    }

    /// Memory that is used only while a case is checked: sets that are not timed, one of them at a
    /// time on a worker, and what a launch wrote while that of the next launch is read.
    fn checked(&self, case: &Case) -> Bytes {
        let is_renewed = self.renewed.contains(&case.index);
        let drawing = Drawing {
            device: self.device,
            seed: 0,
            memory: None,
        };
        let parts = [
            (Part::Drawn, case.held_out),
            (Part::Planted, true),
            (Part::Renewed, is_renewed),
        ];
        let untimed = parts.into_iter().filter(|(_, is_there)| *is_there);
        let untimed: usize = untimed.map(|(part, _)| drawing.sets_in(case, part)).sum();
        // Where the device has the copies, all sets are launched before they are compared: on the
        // candidate's worker, or on that of the reference.
        let at_once = if self.has_copies {
            untimed
        } else {
            untimed.min(1)
        };
        let workers = times(self.on_worker(case), at_once);
        let written = 2 * outputs(case);
        Bytes {
            workers,
            judge: times(copies(case), untimed).saturating_add(written),
        }
    }

    /// A set of a case on a worker: its buffers between guard zones, and on the cpu device what
    /// they must hold.
    fn on_worker(&self, case: &Case) -> u64 {
        let buffers = case.tensors.iter().map(|tensor| {
            let guarded = guarded_bytes(tensor.bytes());
            let guarded = guarded.unwrap_or(usize::MAX) as u64;
            let known = if self.device.emulated {
                tensor.bytes() as u64
            } else {
                0
            };
            guarded.saturating_add(known)
        });
        buffers.fold(0, u64::saturating_add)
    }
}

/// Bytes of a set of a case in the judge: the inputs and the expected outputs.
fn copies(case: &Case) -> u64 {
    let expected = if case.steps > 1 { 2 } else { 1 };
    inputs(case).saturating_add(times(outputs(case), expected))
}

/// A launch under the detector: its inputs in the judge, its buffers, and what it notes of each
/// access to them.
fn under_detector(case: &Case) -> u64 {
    times(case.bytes_of(|_| true) as u64, 2 + SHADOW_PER_BYTE).saturating_add(inputs(case))
}

fn inputs(case: &Case) -> u64 {
    case.bytes_of(|tensor| tensor.role != TensorRole::Out) as u64
}

fn outputs(case: &Case) -> u64 {
    case.bytes_of(CaseTensor::is_output) as u64
}

fn times(bytes: u64, count: usize) -> u64 {
    bytes.saturating_mul(count as u64)
}

#[cfg(test)]
mod tests;

#![allow(clippy::unwrap_used)]
use super::*;
use crate::problem::tensor::file;
use crate::testing;

/// Scales `n` numbers, for each of these workloads.
fn cases(workloads: &[u64], planted: &str) -> Vec<Arc<Case>> {
    let mut text =
        "entry = \"scale\"\ndims = [\"n\"]\nragged = false\nbytes = \"8 * n\"\n".to_owned();
    let input = format!("role = \"in\"\nvalues = {{ normal = {{}} }}\nplanted = {planted}");
    for (name, role) in [("x", input.as_str()), ("y", "role = \"out\"")] {
        text +=
            &format!("[[tensor]]\nname = \"{name}\"\n{role}\ntype = \"f32\"\nshape = [\"n\"]\n");
    }
    text += "[tolerance.f32]\natol = 1e-6\n[objective]\nsamples = \"n\"\n";
    for n in workloads {
        text += &format!("[[workload]]\ndims = {{ n = {n} }}\n");
    }
    let spec = file::parse(std::path::Path::new("problem.toml"), &text, None).unwrap();
    spec.cases
}

const MIB: u64 = 1 << 20;

/// The memory of a machine, of which so much is free.
fn machine(all_mib: u64, free_mib: u64) -> Option<MemoryBytes> {
    Some(MemoryBytes {
        all: all_mib * MIB,
        free: free_mib * MIB,
    })
}

fn refusal_on(
    workloads: &[u64],
    memory_mib: u64,
    emulated: bool,
    machine: Option<MemoryBytes>,
) -> Option<String> {
    let device = DeviceInfo {
        memory_bytes: memory_mib * MIB,
        emulated,
        ..testing::device()
    };
    let held = HeldMemory {
        chosen: &cases(workloads, "false"),
        renewed: &BTreeSet::new(),
        device: &device,
        has_copies: false,
    };
    held.check(machine).err().map(|error| error.to_string())
}

fn refusal(workloads: &[u64], memory_mib: u64, emulated: bool) -> Option<String> {
    refusal_on(workloads, memory_mib, emulated, None)
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
    let wanted = "the workloads together need 1.2 GiB of device memory, and fake has 1000 MiB; the largest is n=60000000 with 458 MiB: ";
    assert!(why.starts_with(wanted), "{why}");
}

#[test]
fn the_guard_zones_of_many_small_workloads_count() {
    // Two sets of two buffers each, with 256 KiB of guard zones around every buffer at least.
    let hundred = [1000; 100];
    let why = refusal(&hundred, 120, true).unwrap();
    assert!(
        why.starts_with("the workloads together need 128 MiB of device memory"),
        "{why}"
    );
    assert_eq!(refusal(&hundred, 140, true), None);
}

#[test]
fn on_the_emulated_device_all_that_a_run_holds_shares_the_memory() {
    // 8 bytes of 60 million numbers, four times: in the worker's buffers, in what it knows of them,
    // in the judge's copies, and in what two launches wrote, which are half of them each.
    let wanted = "the workload n=60000000 needs 1.8 GiB of device memory, with what the judge and the reference hold, and fake has 1000 MiB: ";
    let why = refusal(&[60_000_000], 1000, true).unwrap();
    assert!(
        why.starts_with(wanted) && why.contains("or let cpu_max_cells leave it out"),
        "{why}"
    );
    assert_eq!(refusal(&[60_000_000], 1000, false), None);
    assert_eq!(refusal(&[60_000_000], 2000, true), None);
}

#[test]
fn where_the_device_has_the_copies_only_its_memory_counts() {
    let device = DeviceInfo {
        memory_bytes: 1000 * MIB,
        ..testing::device()
    };
    let of = |workload, has_copies| {
        let held = HeldMemory {
            chosen: &cases(&[workload], "false"),
            renewed: &BTreeSet::new(),
            device: &device,
            has_copies,
        };
        let refused = held.check(machine(100, 100)).err();
        refused.map_or(String::new(), |error| error.to_string())
    };
    let why = of(60_000_000, true);
    let wanted =
        "of device memory, with what the judge and the reference hold, and fake has 1000 MiB";
    assert!(why.contains(wanted), "{why}");
    assert!(of(60_000_000, false).contains("the judge's copies together need"));
    assert_eq!(of(20_000_000, true), "");
    assert!(of(20_000_000, false).contains("of this machine's memory"));
}

#[test]
fn what_other_programs_hold_is_not_there_for_a_run() {
    let why = refusal_on(&[60_000_000], 8000, true, machine(8000, 1000)).unwrap();
    let wanted = "the workloads together need 1.8 GiB of this machine's memory, with what the judge and the reference hold, and it has \
                  1000 MiB free now; the largest is n=60000000 with 1.8 GiB: end other programs, make it smaller or remove it";
    assert!(why.starts_with(wanted), "{why}");
    assert_eq!(
        refusal_on(&[60_000_000], 8000, true, machine(8000, 2000)),
        None
    );
}

#[test]
fn the_judges_copies_of_a_gpus_workloads_are_in_the_machine() {
    let why = refusal_on(&[400_000_000], 80_000, false, machine(4000, 3000)).unwrap();
    let wanted = "the judge's copies together need 6.0 GiB of this machine's memory, and it has 3.9 GiB; the largest is n=400000000 with \
                  6.0 GiB: make it smaller or remove it";
    assert_eq!(why, wanted);
    assert_eq!(
        refusal_on(&[400_000_000], 80_000, false, machine(16_000, 8000)),
        None
    );
}

#[test]
fn the_sets_that_hold_extremes_count() {
    let device = DeviceInfo {
        memory_bytes: 0,
        emulated: true,
        ..testing::device()
    };
    let needs = |planted: &str| {
        HeldMemory {
            chosen: &cases(&[20_000], planted),
            renewed: &BTreeSet::new(),
            device: &device,
            has_copies: false,
        }
        .together()
    };
    let (plain, planted) = (needs("false"), needs("true"));
    // 13 sets of 20,000 numbers in two tensors fit among the cells of further sets, and one of them
    // is on a worker at a time.
    assert_eq!(planted.judge - plain.judge, 13 * 160_000);
    assert!((900_000..MIB).contains(&(planted.workers - plain.workers)));
}

#[test]
fn a_launch_whose_accesses_take_more_memory_than_there_is_is_not_watched() {
    let device = DeviceInfo {
        memory_bytes: 25_000 * MIB,
        emulated: true,
        ..testing::device()
    };
    let why = |workloads: &[u64], machine| {
        let cases = cases(workloads, "false");
        let held = HeldMemory {
            chosen: &cases,
            renewed: &BTreeSet::new(),
            device: &device,
            has_copies: false,
        };
        held.too_large_to_watch(&cases, machine)
    };
    let text = why(&[100_000_000], None).unwrap();
    let wanted = "to watch n=100000000 takes up to 24.2 GiB of memory, and fake has less free: add a small workload";
    assert_eq!(text, wanted);
    assert_eq!(why(&[10_000_000], None), None);
    assert!(why(&[10_000_000], machine(25_000, 2000)).is_some());
}

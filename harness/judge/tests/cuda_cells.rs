//! The judge's work with cells on a real GPU gives, bit for bit, what the processor gives. Needs a
//! CUDA device and NVRTC, so every test is ignored unless scripts/gpu-tests runs it.
#![allow(clippy::unwrap_used)]

#[path = "support/planted_lines.rs"]
mod planted_lines;

use lab_device::{BuildRequest, Builder, FolderTrust, POISONS, cuda};
use lab_judge::cells::{self, Pair, Unwritten};
use lab_judge::dtype::Dtype;
use lab_judge::gates::Tolerance;
use lab_judge::problem::tensor::input_values::InputValues;
use lab_judge::problem::tensor::{Axis, CaseTensor, Extreme, PlantedSets, Planting, plant};
use lab_judge::worker::cell_work::{CellLine, DrawCells};
use lab_judge::worker::{BufferId, Cells, JudgeMemory, Worker};
use lab_protocol::CompileOptions;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// NVRTC has one place for a precompiled header.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn my_turn() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

fn worker() -> Worker {
    Worker::on_a_thread(|| cuda::open(0), Duration::from_secs(60)).unwrap()
}

/// The judge's own worker on the first CUDA device.
fn memory() -> Arc<JudgeMemory> {
    let worker = worker();
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("cells.cu");
    std::fs::write(&source, lab_judge::worker::cells::SOURCE).unwrap();
    let request = BuildRequest {
        source,
        shown_as: "cells.cu".into(),
        include_dirs: vec![],
        defines: vec![],
        options: CompileOptions::default(),
        sanitizer: None,
        problem_header: String::new(),
        arch: worker.info().arch.clone(),
        cache_dir: folder.path().join("cache"),
    };
    let mut builder = cuda::nvrtc_builder(FolderTrust::Untrusted).expect("these tests need NVRTC");
    let built = builder.build(&request).unwrap();
    let image = built.image.unwrap_or_else(|| panic!("{}", built.log));
    assert!(worker.maps_memory(), "this device shares its memory");
    worker.into_memory(&image).unwrap()
}

fn distributions(dtype: Dtype) -> Vec<InputValues> {
    match dtype.integers() {
        Some((least, most)) => [(0, 1), (least, most), (least / 2, most / 3)]
            .map(|(low, high)| InputValues::Integers { low, high })
            .into(),
        None => vec![
            InputValues::Normal {
                mean: 0.0,
                std: 1.0,
            },
            InputValues::Normal {
                mean: 0.25,
                std: dtype.largest() / 4.0,
            },
            InputValues::Normal {
                mean: 0.0,
                std: dtype.subnormals().unwrap().0 * 3.0,
            },
            InputValues::Uniform {
                low: -1.5,
                high: 2.75,
            },
            InputValues::Integers { low: -9, high: 11 },
        ],
    }
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn drawn_numbers_are_those_of_the_processor() {
    let _turn = my_turn();
    let memory = memory();
    for &dtype in Dtype::ALL {
        for values in distributions(dtype) {
            for (cells, seed) in [(1, 5), (100_001, 0xfedc_ba98_7654_3210)] {
                let drawn = DrawCells {
                    dtype,
                    cells,
                    seed,
                    numbers: values.numbers().unwrap(),
                };
                let held = memory.draw(vec![drawn]).unwrap().remove(0);
                let (here, there) = (values.fill(dtype, &[cells], seed), held.to_host().unwrap());
                let differs = here
                    .chunks(dtype.size())
                    .zip(there.chunks(dtype.size()))
                    .position(|(one, other)| one != other);
                assert_eq!(differs, None, "{dtype} {values:?}");
                assert_eq!(here.len(), there.len());
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn comparisons_find_what_the_processor_finds() {
    const CELLS: usize = 70_003;
    let _turn = my_turn();
    let memory = memory();
    for &dtype in Dtype::ALL {
        for values in distributions(dtype) {
            let mut want = values.fill(dtype, &[CELLS], 1);
            let other = values.fill(dtype, &[CELLS], 2);
            let size = dtype.size();
            // One cell is a zero, to which the kernel gives the other sign where the type has it.
            want[40 * size..41 * size].fill(0);
            for every in [1, 7, 5000] {
                // Some cells are those of other numbers, and some are unwritten.
                let mut got = want.clone();
                for cell in (3..CELLS).step_by(every) {
                    let at = cell * size..(cell + 1) * size;
                    got[at.clone()].copy_from_slice(&other[at]);
                }
                if dtype.encodes(-0.0) {
                    let zero = dtype.bits(-0.0).to_le_bytes();
                    got[40 * size..41 * size].copy_from_slice(&zero[..size]);
                }
                for cell in [9, 10, 69_999] {
                    let poison = POISONS[cell % 2].to_le_bytes().repeat(2);
                    got[cell * size..(cell + 1) * size].copy_from_slice(&poison[..size]);
                }
                for tolerance in [
                    Tolerance::EXACT,
                    Tolerance {
                        atol: 0.3,
                        rtol: 0.01,
                        matched: 1.0,
                    },
                ] {
                    let found = |got: &Cells, want: &Cells, unwritten| {
                        let pair = |tolerance| Pair {
                            dtype,
                            got,
                            want,
                            tolerance,
                            unwritten,
                        };
                        let mut found =
                            cells::compare(&[&pair(Some(&tolerance)), &pair(None)]).unwrap();
                        // Without a tolerance only the first unwritten cell is told.
                        let unwritten = found.remove(1).first_unwritten;
                        format!("{:?} {unwritten:?}", found[0])
                    };
                    let [here, wanted, first] =
                        [&got, &want, &other].map(|cells| Cells::Host(cells.clone()));
                    let [there, held] = [&got, &want].map(|cells| memory.hold(cells).unwrap());
                    let two = Unwritten::by_two_launches(POISONS[0], &first, POISONS[1]);
                    for unwritten in [Unwritten::by_marks(dtype, None), two] {
                        let expected = found(&here, &wanted, unwritten);
                        assert_eq!(
                            found(&there, &held, unwritten),
                            expected,
                            "{dtype} {values:?} {every} {tolerance:?}"
                        );
                        assert_eq!(
                            found(&there, &wanted, unwritten),
                            expected,
                            "held on one side"
                        );
                    }
                }
            }
        }
    }
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn a_worker_maps_the_memory_and_a_store_behind_the_end_is_found() {
    let _turn = my_turn();
    let memory = memory();
    let mut one = worker().with_memory(Some(&memory));
    let mut other = worker().with_memory(Some(&memory));
    let [a, b] = [&mut one, &mut other].map(|worker| worker.buffer("x", 1000).unwrap());
    let held = memory.hold(&[7; 1000]).unwrap();
    one.write_cells(&[(a, &held)], true).unwrap();
    other.write_cells(&[(b, &held)], false).unwrap();
    assert_eq!(one.read(a).unwrap(), [7; 1000]);
    other.poison(b).unwrap();
    assert_ne!(other.read(b).unwrap(), [7; 1000]);
    assert_eq!(held.to_host().unwrap(), vec![7; 1000]);
    drop(held);
    assert_eq!(one.read(a).unwrap(), [7; 1000], "its content stays known");
    let taken = one.take(&[a]).unwrap();
    assert_eq!(taken[0].to_host().unwrap(), vec![7; 1000]);
    assert!(one.breaches().unwrap().is_empty() && other.breaches().unwrap().is_empty());
    one.free(a).unwrap();
    drop(one);
    let c = other.buffer("y", 5 << 20).unwrap();
    other.write(c, &vec![3; 5 << 20]).unwrap();
    assert_eq!(other.read(c).unwrap(), vec![3; 5 << 20]);
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn planted_lines_are_those_of_the_processor() {
    const SHORT: usize = 4099;
    const MOST_SENT: usize = 1 << 18;
    let _turn = my_turn();
    let memory = memory();
    for &dtype in Dtype::ALL {
        let values = distributions(dtype);
        for values in &values {
            for most_sent in [0, SHORT] {
                planted_lines::compare(&memory, dtype, values, SHORT, most_sent);
            }
        }
        planted_lines::compare(&memory, dtype, &values[0], MOST_SENT + 5, MOST_SENT);
    }
}

#[test]
#[ignore = "needs a CUDA device: scripts/gpu-tests"]
fn a_line_lies_where_it_belongs() {
    let _turn = my_turn();
    let memory = memory();
    let held = memory.hold(&[0; 60]).unwrap();
    let line = |first, cells| CellLine {
        buffer: cells_id(&held),
        dtype: Dtype::F16,
        first,
        stride: 5,
        cells,
    };
    // Each line takes a multiple of eight bytes.
    let written = [1, 2, 3, 4, 0, 0, 0, 0, 5, 6, 0, 0, 0, 0, 0, 0];
    memory
        .put_lines(vec![line(3, 2), line(13, 1)], &written)
        .unwrap();
    let mut expected = vec![0; 60];
    for (at, value) in [(6, 1), (7, 2), (16, 3), (17, 4), (26, 5), (27, 6)] {
        expected[at] = value;
    }
    assert_eq!(held.to_host().unwrap(), expected);
    let outside = memory.put_lines(vec![line(28, 2)], &written);
    assert!(outside.is_err());
}

fn cells_id(cells: &Cells) -> BufferId {
    match cells {
        Cells::Held(held) => held.id,
        Cells::Host(_) => panic!("it is held"),
    }
}

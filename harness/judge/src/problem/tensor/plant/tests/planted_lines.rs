//! Lines of held tensors, which the kernels of cells.cu and lines.cu change on the cpu device.

#[path = "../../../../../tests/support/planted_lines.rs"]
mod comparing;

use super::{Axis, CaseTensor, Cells, Dtype, Extreme, InputValues, PlantedSets, Planting, plant};
use crate::worker::cell_work::DrawCells;
use crate::worker::{JudgeMemory, Worker, cells};
use lab_device::BuildRequest;
use lab_protocol::{CompileOptions, Target};
use std::sync::Arc;
use std::time::Duration;

fn memory() -> Arc<JudgeMemory> {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("cells.cu");
    std::fs::write(&source, cells::SOURCE).unwrap();
    let request = BuildRequest {
        source,
        shown_as: "cells.cu".into(),
        include_dirs: Vec::new(),
        defines: Vec::new(),
        options: CompileOptions::default(),
        sanitizer: None,
        problem_header: String::new(),
        arch: String::new(),
        cache_dir: crate::testing::headers::beside(),
    };
    let mut builder = lab_device::builder(Target::Cpu).unwrap();
    let built = builder.build(&request).unwrap();
    let image = built.image.unwrap_or_else(|| panic!("{}", built.log));
    let open = || lab_device::open(Target::Cpu);
    let worker = Worker::on_a_thread(open, Duration::from_secs(300)).unwrap();
    worker.into_memory(&image).unwrap()
}

#[test]
fn a_line_that_is_planted_where_it_is_held_has_the_same_cells() {
    let memory = memory();
    let (low, high) = (-1.5, 2.75);
    let normal = |mean, std| InputValues::Normal { mean, std };
    let integers = |low, high| InputValues::Integers { low, high };
    for (dtype, values) in [
        (Dtype::F32, normal(0.25, 3.0)),
        (Dtype::F32, InputValues::Uniform { low, high }),
        (Dtype::F16, normal(0.0, 1e4)),
        (Dtype::Bf16, InputValues::Uniform { low, high }),
        (Dtype::F8e4m3, normal(0.0, 30.0)),
        (Dtype::F8e5m2, integers(-9, 11)),
        (Dtype::I8, integers(-128, 127)),
        (Dtype::U8, integers(0, 200)),
        (Dtype::I32, integers(-5, 5)),
        (Dtype::I64, integers(i64::MIN.into(), i64::MAX.into())),
        (Dtype::F64, normal(0.25, 1e200)),
        (Dtype::F64, InputValues::Uniform { low, high }),
        (Dtype::I16, integers(-32768, 32767)),
        (Dtype::U16, integers(3, 65535)),
        (Dtype::U32, integers(0, u32::MAX.into())),
        (Dtype::U64, integers(0, u64::MAX.into())),
        (Dtype::U64, integers(1 << 63, (1 << 63) + 5)),
        (Dtype::Bool, integers(0, 1)),
    ] {
        for most_sent in [0, CELLS] {
            comparing::compare(&memory, dtype, &values, CELLS, most_sent);
        }
    }
}

/// Cells of a line, for several blocks of threads.
const CELLS: usize = 4099;

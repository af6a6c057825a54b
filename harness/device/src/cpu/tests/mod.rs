//! Tests that build small `.cu` sources and check the values they compute.
#![allow(clippy::unwrap_used)]

#[path = "../../../tests/support/headers.rs"]
mod headers;

mod basics;
mod cub;
mod failures;
mod features;
mod float8;
mod gpu_only;
mod halves;
mod language;
mod sources;
mod special;

use super::{builder, open};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use crate::api::{BuildRequest, Builder, Built, DeviceError, Driver, ExecutionOrder, Shape};
use lab_protocol::CompileOptions;

/// Builds a source as `kernel.cu`. Builds the same source only once.
fn build(source: &str) -> Built {
    static BUILT: Mutex<BTreeMap<String, Arc<OnceLock<Built>>>> = Mutex::new(BTreeMap::new());
    let cell = BUILT
        .lock()
        .unwrap()
        .entry(source.to_owned())
        .or_default()
        .clone();
    let build = || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("snapshot.cu");
        std::fs::write(&path, source).unwrap();
        builder().unwrap().build(&request(path)).unwrap()
    };
    cell.get_or_init(build).clone()
}

fn request(source: PathBuf) -> BuildRequest {
    BuildRequest {
        source,
        shown_as: "kernels/t/kernel.cu".into(),
        include_dirs: Vec::new(),
        defines: Vec::new(),
        options: CompileOptions::default(),
        sanitizer: None,
        problem_header: "struct LabDims { int n; };\n".into(),
        arch: String::new(),
        cache_dir: headers::beside(),
    }
}

/// A loaded module and a device to run it on.
struct Bench {
    device: Box<dyn Driver>,
    module: u32,
}

impl Bench {
    fn new(source: &str) -> Bench {
        let built = build(source);
        let image = built
            .image
            .unwrap_or_else(|| panic!("does not build:\n{}", built.log));
        let mut device = open().unwrap();
        let module = device.load(&image).unwrap();
        Bench { device, module }
    }

    /// Runs a kernel that takes `(const I* in, O* out, int n)` over poisoned outputs.
    fn run<I: bytemuck::Pod, O: bytemuck::Pod>(
        &mut self,
        kernel: &str,
        shape: &Shape,
        input: &[I],
        outputs: usize,
        order: ExecutionOrder,
    ) -> Result<Vec<O>, DeviceError> {
        let mut out = vec![O::zeroed(); outputs];
        bytemuck::cast_slice_mut::<O, u8>(&mut out).fill(0x7f);
        self.launch(kernel, shape, input, &mut out, order)
            .map(|()| out)
    }

    /// As `run`, with outputs that begin with given values.
    fn run_over<O: bytemuck::Pod>(
        &mut self,
        outputs: &[O],
        kernel: &str,
        shape: &Shape,
        input: &[O],
        order: ExecutionOrder,
    ) -> Result<Vec<O>, DeviceError> {
        let mut out = outputs.to_vec();
        self.launch(kernel, shape, input, &mut out, order)
            .map(|()| out)
    }

    fn launch<I: bytemuck::Pod, O: bytemuck::Pod>(
        &mut self,
        kernel: &str,
        shape: &Shape,
        input: &[I],
        out: &mut [O],
        order: ExecutionOrder,
    ) -> Result<(), DeviceError> {
        let from = self.device.alloc(size_of_val(input))?;
        let to = self.device.alloc(size_of_val(out))?;
        self.device.upload(from, bytemuck::cast_slice(input))?;
        self.device.upload(to, bytemuck::cast_slice(out))?;
        let entry = self
            .device
            .entry(self.module, kernel)?
            .expect("the kernel is in the module");
        let n = (out.len() as i32).to_le_bytes().to_vec();
        let args = [from.to_le_bytes().to_vec(), to.to_le_bytes().to_vec(), n];
        let launched = self.device.launch(entry, shape, &args, order);
        self.device.download(to, bytemuck::cast_slice_mut(out))?;
        self.device.free(from)?;
        self.device.free(to)?;
        launched.map(drop)
    }
}

fn shape(grid: u32, block: u32) -> Shape {
    Shape {
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        ..Shape::default()
    }
}

const ORDERS: [ExecutionOrder; 4] = [
    ExecutionOrder::Forward,
    ExecutionOrder::Reverse,
    ExecutionOrder::Shuffled(1),
    ExecutionOrder::Shuffled(2),
];

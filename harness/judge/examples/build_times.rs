//! Shows where the time between a save and a verdict goes on a GPU host: NVRTC cold and with
//! precompiled headers, opening the device, loading the module.
//!
//! `cargo run -p lab-judge --release --example build_times [kernels/wavegru/kernel.cu [COMPILER OPTION…]]`
//!
//! A file is built as the problem.toml beside it asks for. Without a file, a small kernel that
//! includes `cooperative_groups.h` and `cuda_bf16.h` is built. Without a GPU, the build is for
//! sm_90, and the steps that need a GPU are left out.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a developer reads its output"
)]
#![allow(clippy::unwrap_used)]

use lab_device::{BuildRequest, Builder, DeviceInfo, FolderTrust, cuda};
use lab_judge::problem::{self, BuildNeeds};
use lab_protocol::CompileOptions;
use std::path::PathBuf;
use std::time::Instant;

const SMALL: &str = r#"
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include "lab.h"
extern "C" __global__ void k(float* x) { cooperative_groups::this_grid().sync(); *x = 1; }
LAB_LAUNCH(k) { launch.cooperative = 1; }
"#;

fn main() {
    for finding in lab_device::findings(lab_device::FolderTrust::Trusted) {
        println!("{}: {}", finding.what, finding.says);
    }
    let folder = tempfile::tempdir().unwrap();
    let source = std::env::args().nth(1).map_or_else(
        || {
            let path = folder.path().join("small.cu");
            std::fs::write(&path, SMALL).unwrap();
            path
        },
        PathBuf::from,
    );
    println!("source: {}", source.display());

    let here = timed("initialise the driver", cuda::available);
    let mut driver = here.then(|| timed("open the device", || cuda::open(0).unwrap()));
    let info = driver
        .as_ref()
        .map_or_else(some_device, |driver| driver.info());
    let home = source.parent().unwrap().to_owned();
    let needs = if home.join("problem.toml").exists() {
        problem::open(&home).unwrap().build_needs(&info)
    } else {
        BuildNeeds {
            problem_header: "struct LabDims { unsigned rows; };\n".into(),
            ..BuildNeeds::default()
        }
    };
    let mut builder = timed("load NVRTC", || {
        cuda::nvrtc_builder(FolderTrust::Untrusted).unwrap()
    });
    let text = std::fs::read_to_string(&source).unwrap();
    let mut image = None;
    let request = || BuildRequest {
        source: folder.path().join("kernel.cu"),
        shown_as: source.display().to_string(),
        include_dirs: vec![home.clone()],
        defines: Vec::new(),
        options: CompileOptions::parse(&std::env::args().skip(2).collect::<Vec<_>>()).unwrap(),
        sanitizer: None,
        problem_header: needs.problem_header.clone(),
        arch: info.arch.clone(),
        cache_dir: folder.path().join("cache"),
    };
    let mut build = |builder: &mut cuda::NvrtcBuilder, what: &str, edit: u32| {
        // The text differs in each build, as after an edit.
        std::fs::write(
            request().source,
            format!("{text}\n__device__ int build_times_{edit};\n"),
        )
        .unwrap();
        let built = builder.build(&request()).unwrap();
        println!("{what}: {:.0} ms", built.seconds * 1e3);
        image = Some(built.image.unwrap_or_else(|| panic!("{}", built.log)));
    };
    build(&mut builder, "build, the first of the process", 0);
    let ready = timed("precompile the headers", || builder.warm(&request()));
    println!(
        "precompiled headers: {}",
        if ready { "ready" } else { "none" }
    );
    for edit in 1..6 {
        build(&mut builder, "build, warm", edit);
    }
    let image = image.unwrap();
    println!("cubin: {} bytes", std::fs::metadata(&image).unwrap().len());
    if let Some(driver) = &mut driver {
        for _ in 0..3 {
            let module = timed("load the module", || driver.load(&image).unwrap());
            timed("unload it", || driver.unload(module).unwrap());
        }
    }
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let result = work();
    println!("{what}: {:.1} ms", started.elapsed().as_secs_f64() * 1e3);
    result
}

/// In place of a GPU.
fn some_device() -> DeviceInfo {
    DeviceInfo {
        name: "none".into(),
        emulated: false,
        sms: 132,
        arch: "sm_90".into(),
        max_shared_bytes: 227 << 10,
        l2_bytes: 50 << 20,
        memory_bytes: 0,
        uuid: String::new(),
        driver: String::new(),
    }
}

//! Where the time between a save and a verdict goes on a GPU host: NVRTC cold, with precompiled
//! headers, opening the device, loading the module.
//!
//! `cargo run -p lab-harness --release --example build_times [kernel.cu] [-D NAME=VALUE …]`
//!
//! Without a file it takes a small kernel that includes `cooperative_groups.h` and `cuda_bf16.h`.
//! Without a GPU it builds for sm_90 and leaves out what needs one.
#![allow(clippy::unwrap_used)]

use harness::device::{BuildRequest, Builder, cuda};
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
    let mut arguments = std::env::args().skip(1);
    let mut file = None;
    let mut defines = Vec::new();
    while let Some(argument) = arguments.next() {
        if argument == "-D" {
            let define = arguments.next().expect("-D takes NAME=VALUE");
            let (name, value) = define.split_once('=').expect("-D takes NAME=VALUE");
            defines.push((name.to_owned(), value.to_owned()));
        } else {
            file = Some(PathBuf::from(argument));
        }
    }
    for finding in harness::device::findings() {
        println!("{}: {}", finding.what, finding.says);
    }
    let folder = tempfile::tempdir().unwrap();
    let source = file.unwrap_or_else(|| {
        let path = folder.path().join("kernel.cu");
        std::fs::write(&path, SMALL).unwrap();
        path
    });
    println!("source: {}", source.display());

    let mut driver = cuda::available().then(|| {
        // A first open in a process also initialises the driver, which `available` has done by now.
        timed("open the device", || cuda::open(0).unwrap())
    });
    let arch = driver.as_ref().map_or("sm_90".to_owned(), |driver| driver.info().arch);
    let mut builder = timed("load NVRTC", || cuda::nvrtc_builder().unwrap());
    let mut image = None;
    let mut build = |builder: &mut cuda::NvrtcBuilder, what: &str, edit: u32| {
        let mut defines = defines.clone();
        defines.sort();
        let copy = source.with_file_name(format!(".build_times_{edit}.cu"));
        let text = std::fs::read_to_string(&source).unwrap();
        // Another text each time, so that nothing can be answered from a cache.
        std::fs::write(&copy, format!("{text}\n__device__ int build_times_{edit};\n")).unwrap();
        let request = BuildRequest {
            source: copy.clone(),
            shown_as: source.display().to_string(),
            include_dirs: vec![],
            defines,
            options: vec![],
            problem_header: "struct LabDims { unsigned rows; };\n".into(),
            arch: arch.clone(),
            cache_dir: folder.path().join("cache"),
        };
        let built = builder.build(&request);
        std::fs::remove_file(copy).unwrap();
        let built = built.unwrap();
        println!("{what}: {:.0} ms", built.seconds * 1e3);
        image = Some(built.image.unwrap_or_else(|| panic!("{}", built.log)).path);
    };
    build(&mut builder, "build, the first of the process", 0);
    build(&mut builder, "build, headers not yet precompiled", 1);
    let ready = timed("precompile the headers", || builder.wait_until_warm());
    println!("precompiled headers: {}", if ready { "ready" } else { "none" });
    for edit in 2..6 {
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

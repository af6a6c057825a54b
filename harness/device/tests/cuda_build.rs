//! Builds with NVRTC, as a user runs them. These tests need a CUDA toolkit or its wheels, but no
//! GPU, and are ignored unless they are asked for: `scripts/gpu-tests`, or
//! `cargo test -p lab-device -- --include-ignored`.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use lab_device::cuda::{self, NvrtcBuilder};
use lab_device::{BuildRequest, Builder, Built, FolderTrust};
use lab_protocol::CompileOptions;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// NVRTC maps a precompiled header to a fixed address of the process, so there may be only one
/// builder at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A folder with sources, and a builder.
struct NvrtcBench {
    folder: tempfile::TempDir,
    builder: NvrtcBuilder,
    _turn: MutexGuard<'static, ()>,
}

/// Waits for its turn. Fails where NVRTC is missing.
fn bench() -> NvrtcBench {
    let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let builder = cuda::nvrtc_builder(FolderTrust::Untrusted)
        .unwrap_or_else(|error| panic!("this test needs NVRTC: {error}"));
    NvrtcBench {
        folder: tempfile::tempdir().unwrap(),
        builder,
        _turn: turn,
    }
}

impl NvrtcBench {
    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn request(&self) -> BuildRequest {
        BuildRequest {
            source: self.folder.path().join("kernel.cu"),
            shown_as: "kernels/mine/kernel.cu".into(),
            include_dirs: vec![],
            defines: vec![],
            options: CompileOptions::default(),
            sanitizer: None,
            problem_header: "#pragma once\nstruct LabDims { unsigned rows; };\n".into(),
            arch: "sm_90".into(),
            cache_dir: self.folder.path().join("cache"),
        }
    }

    fn build(&mut self, text: &str) -> Built {
        self.write("kernel.cu", text);
        let request = self.request();
        self.builder.build(&request).unwrap()
    }
}

/// A typical kernel: a grid barrier, half types, headers of the C library.
const KERNEL: &str = r#"
// What a kernel usually starts with.
#include "lab.h"

#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cstdint>
#include <stdio.h>
#include <math.h>
#define TILE 4
constexpr float NONE = -INFINITY;

extern "C" __global__ void scale(float* x, uint32_t n, const __nv_bfloat16* by) {
    __shared__ float kept[256];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    kept[threadIdx.x] = i < n ? x[i] * __bfloat162float(*by) : INFINITY;
    cooperative_groups::this_grid().sync();
    if (i < n) x[i] = TILE * fmaxf(kept[threadIdx.x], NONE);
    if (i == INT32_MAX) printf("never\n");
}
LAB_LAUNCH(scale) { launch.grid[0] = dims.rows; launch.block[0] = 256; }
"#;

#[test]
#[ignore = "needs NVRTC: scripts/gpu-tests"]
fn a_kernel_is_built_and_its_resources_are_reported() {
    let mut bench = bench();
    let built = bench.build(KERNEL);
    assert_eq!(built.log, "");
    let image = built.image.unwrap();
    assert_eq!(&std::fs::read(image).unwrap()[..4], b"\x7fELF");
    assert!(built.resources.registers.unwrap() > 5 && built.seconds > 0.0);
    assert_eq!(
        (built.resources.spill_bytes, built.resources.shared_bytes),
        (Some(0), Some(1024))
    );
}

#[test]
#[ignore = "needs NVRTC: scripts/gpu-tests"]
fn the_c_librarys_headers_work_with_cudas_in_either_order() {
    let mut bench = bench();
    let ours = "#include <cstdint>\n#include <climits>\n#include <cfloat>\n#include <cmath>\n";
    let theirs = "#include <cuda/std/cstdint>\n#include <cuda/std/limits>\n#include <cuda_fp16.h>\n#include <cuda/barrier>\n";
    let body = "extern \"C\" __global__ void k(int64_t* x, float* y) { *x = INT64_MAX - CHAR_BIT; *y = FLT_MAX; y[1] = INFINITY; }\n";
    for text in [
        format!("{ours}{theirs}{body}"),
        format!("{theirs}{ours}{body}"),
    ] {
        let built = bench.build(&text);
        assert!(
            built.image.is_some() && built.log.is_empty(),
            "{}",
            built.log
        );
    }
}

#[test]
#[ignore = "needs NVRTC: scripts/gpu-tests"]
fn an_error_names_the_line_of_the_users_file() {
    let mut bench = bench();
    let built = bench
        .build("#include \"lab.h\"\nextern \"C\" __global__ void k(int* x) {\n    *x = y;\n}\n");
    assert!(built.image.is_none());
    assert!(
        built
            .log
            .starts_with("kernels/mine/kernel.cu(3): error: identifier \"y\" is undefined"),
        "{}",
        built.log
    );
    assert!(
        !built.log.contains(bench.folder.path().to_str().unwrap()),
        "{}",
        built.log
    );
}

#[test]
#[ignore = "needs NVRTC: scripts/gpu-tests"]
fn a_warning_is_shown_where_the_build_succeeds() {
    let mut bench = bench();
    let built = bench.build("extern \"C\" __global__ void k() {\n    int unused;\n}\n");
    assert!(built.image.is_some());
    assert!(
        built
            .log
            .starts_with("kernels/mine/kernel.cu(2): warning #"),
        "{}",
        built.log
    );
    assert!(!built.log.contains("ptxas"), "{}", built.log);
}

#[test]
#[ignore = "needs NVRTC: scripts/gpu-tests"]
fn spills_are_counted() {
    let mut bench = bench();
    bench.write(
        "kernel.cu",
        r#"extern "C" __global__ void k(float* x) {
            float a[64];
            #pragma unroll
            for (int i = 0; i < 64; i++) a[i] = x[i * 1024 + threadIdx.x];
            #pragma unroll 1
            for (int n = 0; n < 100; n++) {
                __syncthreads();
                #pragma unroll
                for (int i = 0; i < 64; i++) a[i] = a[i] * a[(i + 7) % 64] + x[n];
            }
            #pragma unroll
            for (int i = 0; i < 64; i++) x[i * 1024 + threadIdx.x] = a[i];
        }"#,
    );
    let options = CompileOptions::parse(&["--maxrregcount=32".to_owned()]).unwrap();
    let request = BuildRequest {
        options,
        ..bench.request()
    };
    let built = bench.builder.build(&request).unwrap();
    assert_eq!(built.resources.registers, Some(32));
    assert!(built.resources.spill_bytes.unwrap() > 100, "{built:?}");
}

#[test]
#[ignore = "needs NVRTC: scripts/gpu-tests"]
fn local_headers_are_found_beside_the_source_and_shown_with_the_users_path() {
    let mut bench = bench();
    bench.write("parts/tile.cuh", "#include \"size.cuh\"\n");
    bench.write("parts/size.cuh", "constexpr int SIZE = 4;\n");
    let text = "#include <cooperative_groups.h>\n#include \"parts/tile.cuh\"\nextern \"C\" __global__ void k(int* x) { *x = SIZE; }\n";
    assert!(bench.build(text).image.is_some());
    let request = bench.request();
    bench.builder.warm(&request);
    bench.write(
        "parts/size.cuh",
        "constexpr int OTHER = 4;\n\nthis is wrong\n",
    );
    let built = bench.build(text);
    assert!(built.image.is_none(), "the header's change was not seen");
    assert!(
        built.log.contains("kernels/mine/parts/size.cuh(3): error:"),
        "{}",
        built.log
    );
}

#[test]
#[ignore = "needs NVRTC: scripts/gpu-tests"]
fn precompiled_headers_change_only_the_time() {
    let mut bench = bench();
    let first = bench.build(KERNEL);
    let request = bench.request();
    assert_eq!(bench.builder.warm(&request), bench.builder.can_precompile());
    let again = bench.build(KERNEL);
    // The cubin's symbols may have another order, but the kernel needs the same resources.
    let needs = |built: &Built| (built.log.clone(), built.resources);
    assert!(again.image.is_some());
    assert_eq!(needs(&first), needs(&again));
    // Macros and the generated header are read again.
    let other = bench.build(&KERNEL.replace("TILE 4", "TILE nothing"));
    assert!(
        other.image.is_none() && other.log.contains("\"nothing\" is undefined"),
        "{}",
        other.log
    );
    let problem_header = "struct LabDims { unsigned columns; };\n".to_owned();
    let request = BuildRequest {
        problem_header,
        ..bench.request()
    };
    let built = bench.builder.build(&request).unwrap();
    assert!(
        built.image.is_none() && built.log.contains("has no member \"rows\""),
        "{}",
        built.log
    );
}

#[test]
#[ignore = "needs NVRTC: scripts/gpu-tests"]
fn other_headers_replace_the_first_and_only_cubins_are_left() {
    let mut bench = bench();
    for first in ["", "#include <cuda_fp16.h>\n"] {
        bench.write("kernel.cu", format!("{first}{KERNEL}"));
        let request = bench.request();
        assert_eq!(bench.builder.warm(&request), bench.builder.can_precompile());
        let built = bench.builder.build(&request).unwrap();
        assert!(built.image.is_some(), "{}", built.log);
    }
    let cache = bench.folder.path().join("cache");
    drop(bench.builder);
    let left: Vec<_> = std::fs::read_dir(&cache)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(left, ["images"]);
    let left: Vec<_> = std::fs::read_dir(cache.join("images"))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert!(
        left.iter()
            .all(|name| name.to_str().unwrap().ends_with(".cubin")),
        "{left:?}"
    );
}

#[test]
#[ignore = "needs NVRTC: scripts/gpu-tests"]
fn the_users_own_options_and_defines_are_used() {
    let mut bench = bench();
    bench.write("kernel.cu", "template <typename T> requires true __device__ void f();\n#if SIZE != 4\n#error size\n#endif\nextern \"C\" __global__ void k() {}\n");
    let defines = vec![("SIZE".to_owned(), "4".to_owned())];
    let request = BuildRequest {
        defines,
        options: CompileOptions::parse(&["-std=c++20".into()]).unwrap(),
        ..bench.request()
    };
    let built = bench.builder.build(&request).unwrap();
    assert!(built.image.is_some(), "{}", built.log);
    let request = BuildRequest {
        options: CompileOptions::parse(&["-std=c++42".into()]).unwrap(),
        ..request
    };
    let built = bench.builder.build(&request).unwrap();
    assert!(
        built.image.is_none() && built.log.contains("std"),
        "{}",
        built.log
    );
}

#[test]
#[ignore = "needs NVRTC: scripts/gpu-tests"]
fn an_impossible_build_is_an_error_with_the_reason() {
    let mut bench = bench();
    bench.write("kernel.cu", b"int x;\nint\0y;\n");
    let request = bench.request();
    let built = bench.builder.build(&request).unwrap();
    assert_eq!(
        built.log,
        "kernels/mine/kernel.cu(2): error: the source holds a NUL byte. Remove it.\n"
    );
    bench.write("kernel.cu", "");

    let request = BuildRequest {
        arch: "sm_999".into(),
        ..request
    };
    let error = bench.builder.build(&request).unwrap_err().to_string();
    assert!(
        error.contains("not for sm_999") && error.contains("CUDA_HOME"),
        "{error}"
    );

    let request = BuildRequest {
        source: Path::new("/nowhere/kernel.cu").into(),
        ..request
    };
    assert!(bench.builder.build(&request).is_err());
}

#[test]
#[ignore = "needs NVRTC: scripts/gpu-tests"]
fn a_source_is_built_for_each_target_as_it_is_written_and_one_that_refuses_says_why() {
    let mut bench = bench();
    bench.write(
        "kernel.cu",
        "extern \"C\" __global__ void k(float* y) {\n    __shared__ float s[64];\n    s[threadIdx.x] = y[threadIdx.x];\n    \
         __syncthreads();\n    y[threadIdx.x] = s[63 - threadIdx.x];\n\
         #if __CUDA_ARCH__ >= 900\n    asm volatile(\"wgmma.fence.sync.aligned;\");\n#endif\n}\n",
    );
    let targets = ["sm_80", "sm_90", "sm_90a", "sm_999"].map(str::to_owned);
    let request = bench.request();
    let built = bench
        .builder
        .build_for(&request, &targets)
        .unwrap()
        .unwrap();
    let archs: Vec<&str> = built.iter().map(|target| target.arch.as_str()).collect();
    assert_eq!(archs, targets);
    for target in [&built[0], &built[2]] {
        assert_eq!(target.refused, None);
        assert!(target.resources.registers > Some(2), "{target:?}");
        assert_eq!(
            (target.resources.spill_bytes, target.resources.shared_bytes),
            (Some(0), Some(256))
        );
    }
    let plain = built[1].refused.as_deref().unwrap();
    assert!(
        plain.contains("wgmma") && plain.contains("sm_90"),
        "{plain}"
    );
    let unknown = built[3].refused.as_deref().unwrap();
    assert!(unknown.contains("not for sm_999"), "{unknown}");
}

#[test]
#[ignore = "needs NVRTC: scripts/gpu-tests"]
fn a_byte_order_mark_at_the_head_of_the_kernel_is_skipped() {
    let source = "\u{feff}extern \"C\" __global__ void k(float* y) { y[0] = 1; }\n";
    let built = bench().build(source);
    assert!(built.image.is_some(), "{}", built.log);
}

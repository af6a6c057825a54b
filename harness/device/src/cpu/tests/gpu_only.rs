//! What only a GPU has: it is refused at its line, or guarded, and then the build says that the
//! devices' paths differ.

use super::*;

fn refused(source: &str) -> String {
    let built = build(source);
    assert!(built.image.is_none(), "builds, but should not:\n{source}");
    built.log
}

#[test]
fn hoppers_means_are_errors_at_their_lines() {
    let log = refused(
        r#"#include "lab.h"
#include <cute/tensor.hpp>
#include <cutlass/gemm/device/gemm.h>
#include <cub/cub.cuh>
extern "C" __global__ void f(const __grid_constant__ CUtensorMap a, const __grid_constant__ LabTensorMap b, int n) {}
LAB_LAUNCH(f) { launch.block[0] = 32; }
"#,
    );
    for line in [
        "kernels/t/kernel.cu:2:1: error: CUTLASS and CuTe cannot be compiled for the cpu device",
        "kernels/t/kernel.cu:3:1: error: CUTLASS and CuTe cannot be compiled for the cpu device",
        "kernels/t/kernel.cu:4:1: error: CUB and Thrust cannot be compiled for the cpu device",
        "kernels/t/kernel.cu:5:54: error: tensor maps (TMA) cannot be used on the cpu device",
    ] {
        assert!(log.contains(line), "'{line}' is not in:\n{log}");
    }
    assert!(
        log.contains("guard the include with #ifndef LAB_CPU"),
        "{log}"
    );
}

#[test]
fn a_tensor_map_in_a_launch_statement_is_an_error_at_its_line() {
    let log = refused(
        r#"#include "lab.h"
extern "C" __global__ void f(const int*, int*, int) {}
LAB_LAUNCH(f) {
    launch.tensor_map("x").box[0] = 64;
}
"#,
    );
    assert!(log.contains("kernels/t/kernel.cu:4:"), "{log}");
    assert!(log.contains(
        "tensor maps (TMA) cannot be used on the cpu device: guard the call with #ifndef LAB_CPU"
    ));
}

/// The first place where a source asks which device it is built for.
fn branch(source: &str) -> Option<String> {
    let built = build(source);
    assert!(built.image.is_some(), "{}", built.log);
    built.device_branch
}

const KERNEL: &str = "extern \"C\" __global__ void f(const int*, int*, int) {}\n";

#[test]
fn a_source_that_asks_for_its_device_says_so_in_the_build() {
    let asks = |text: &str| branch(&format!("#include \"lab.h\"\n{text}{KERNEL}"));
    let at = |line: u32, what: &str| Some(format!("kernels/t/kernel.cu:{line} asks for {what}"));
    assert_eq!(asks("#ifdef LAB_CPU\n#endif\n"), at(2, "LAB_CPU"));
    assert_eq!(
        asks("\n# if 1 && \\\n  !defined(LAB_CPU)\n#endif\n"),
        at(3, "LAB_CPU")
    );
    assert_eq!(asks("#define ON_GPU !defined(LAB_CPU)\n"), at(2, "LAB_CPU"));
    assert_eq!(
        asks("#if 0\n#elif __CUDA_ARCH__ >= 900\n#endif\n"),
        at(3, "__CUDA_ARCH__")
    );
    let statement = "LAB_LAUNCH(f) {\n    launch.grid[0] = device.emulated ? 1 : 132;\n}\n";
    assert_eq!(
        branch(&format!("#include \"lab.h\"\n{KERNEL}{statement}")),
        at(4, "device.emulated")
    );
}

#[test]
fn a_source_that_only_talks_of_the_cpu_device_does_not_ask() {
    let text = "// LAB_CPU\n/* #ifdef LAB_CPU */\n#define TILE 32  // as with LAB_CPU\n#ifdef MY_LAB_CPU\n#endif\n";
    assert_eq!(branch(&format!("#include \"lab.h\"\n{text}{KERNEL}")), None);
}

#[test]
fn a_header_of_the_user_that_asks_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("snapshot.cu");
    std::fs::write(&path, format!("#include \"mine.cuh\"\n{KERNEL}")).unwrap();
    std::fs::write(
        folder.path().join("mine.cuh"),
        "\n#ifndef LAB_CPU\n#endif\n",
    )
    .unwrap();
    let built = builder().unwrap().build(&request(path)).unwrap();
    assert_eq!(
        built.device_branch.as_deref(),
        Some("kernels/t/mine.cuh:2 asks for LAB_CPU")
    );
}

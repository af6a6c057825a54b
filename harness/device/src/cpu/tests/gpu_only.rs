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
#include <cub/device/device_scan.cuh>
extern "C" __global__ void f(const __grid_constant__ CUtensorMap a, const __grid_constant__ LabTensorMap b, int n) {}
LAB_LAUNCH(f) { launch.block[0] = 32; }
"#,
    );
    for line in [
        "kernels/t/kernel.cu:2:1: error: CUTLASS and CuTe cannot be compiled for the cpu device",
        "kernels/t/kernel.cu:3:1: error: CUTLASS and CuTe cannot be compiled for the cpu device",
        "kernels/t/kernel.cu:4:1: error: of CUB, the cpu device has the reductions, scans, exchanges",
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

/// The first place where a source is other code on a GPU, or asks its compiler a question.
fn branch(source: &str) -> Option<String> {
    let built = build(source);
    assert!(built.image.is_some(), "{}", built.log);
    built.device_branch
}

const KERNEL: &str = "extern \"C\" __global__ void f(const int*, int*, int) {}\n";

#[test]
fn a_source_that_is_other_code_on_a_gpu_says_so_in_the_build() {
    let other = |text: &str| branch(&format!("#include \"lab.h\"\n{text}{KERNEL}"));
    let at = |line: u32| Some(format!("kernels/t/kernel.cu:{line} is other code there"));
    let one = "__device__ int a;\n";
    assert_eq!(other(&format!("#ifdef LAB_CPU\n{one}#endif\n")), at(3));
    assert_eq!(
        other(&format!("#if 1 && \\\n  !defined(LAB_CPU)\n{one}#endif\n")),
        at(4)
    );
    // A name that is pasted.
    assert_eq!(
        other(
            "#define PASTED(a, b) a##b\n#define TEXT_OF(x) #x\n#define TEXT(x) TEXT_OF(x)\n\
             __device__ const char* text = TEXT(PASTED(LAB_, CPU));\n"
        ),
        at(5)
    );
    for condition in [
        "1 + defined LAB_CPU > 1",
        "__x86_64__ || __aarch64__",
        "defined(__GNUC__)",
        "!defined(__CUDA_ARCH__)",
        "!defined __CUDACC_RTC__",
        "defined threadIdx",
        "defined LAB_CPU_ROUNDINGS",
    ] {
        assert_eq!(
            other(&format!("#if {condition}\n{one}#endif\n")),
            at(3),
            "{condition}"
        );
    }
    // What only a GPU compiles may hold anything.
    assert_eq!(
        other(&format!("#ifndef LAB_CPU\n#include <mma.h>\n{one}#endif\n")),
        at(4)
    );
}

#[test]
fn a_question_to_the_compiler_is_named() {
    let asks = |text: &str| branch(&format!("#include \"lab.h\"\n{text}{KERNEL}"));
    let at = |what: &str| Some(format!("kernels/t/kernel.cu:2 asks for {what}"));
    assert_eq!(
        asks("#if __has_include(<stdio.h>)\n#endif\n"),
        at("__has_include")
    );
    assert_eq!(asks("#define ASK(x) __has_##x\n"), at("__has_"));
    assert_eq!(
        asks("__device__ const char* file = __BASE_FILE__;\n"),
        at("__BASE_FILE__")
    );
}

#[test]
fn a_source_that_only_talks_of_the_cpu_device_is_the_same_code() {
    let text = "// LAB_CPU\n/* #ifdef LAB_CPU */\n#define TILE 32  // as with LAB_CPU\n#ifdef MY_LAB_CPU\n#endif\n\
                #ifdef LAB_CPU\n#endif\n__device__ const char* text = \"LAB_CPU\";\n";
    assert_eq!(branch(&format!("#include \"lab.h\"\n{text}{KERNEL}")), None);
}

#[test]
fn a_header_of_the_user_that_is_other_code_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("snapshot.cu");
    std::fs::write(&path, format!("#include \"mine.cuh\"\n{KERNEL}")).unwrap();
    std::fs::write(
        folder.path().join("mine.cuh"),
        "\n#ifdef LAB_CPU\n__device__ int a;\n#endif\n",
    )
    .unwrap();
    let built = builder().unwrap().build(&request(path)).unwrap();
    assert_eq!(
        built.device_branch.as_deref(),
        Some("kernels/t/mine.cuh:3 is other code there")
    );
}

#[test]
fn a_function_of_the_source_may_have_the_name_of_one_that_only_a_gpu_has() {
    let source = |definition: &str| {
        format!(
            "#include \"lab.h\"\n{definition}\n\
             extern \"C\" __global__ void f(const float* x, float* y, int n) {{ if (n > 0) memcpy_async(y, x); }}\n\
             LAB_LAUNCH(f) {{ launch.block[0] = 32; }}\n"
        )
    };
    let own = "__device__ inline void memcpy_async(float* to, const float* from) { *to = *from; }";
    let built = build(&source(own));
    assert!(built.image.is_some(), "{}", built.log);
    let log = refused(&source(""));
    assert!(
        log.contains("asynchronous copies cannot run on the cpu device"),
        "{log}"
    );
}

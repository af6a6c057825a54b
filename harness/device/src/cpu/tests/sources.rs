//! From source to image: errors have the user's path and line.

use super::*;
use crate::cpu::build::HostCompiler;
use crate::cpu::rewrite;

/// Builds a source that must fail, and returns the log.
fn refused(source: &str) -> String {
    let built = build(source);
    assert!(built.image.is_none(), "builds, but should not:\n{source}");
    built.log
}

#[test]
fn an_error_carries_the_users_path_and_line() {
    let log = refused(
        "extern \"C\" __global__ void f(int* out) {\n    __shared__ int\n        a[4],\n        b;\n    out[0] = a[0] + c;\n}\n",
    );
    assert!(log.contains("kernels/t/kernel.cu:5:21: error: 'c' was not declared"), "{log}");
}

#[test]
fn a_construct_that_cannot_run_is_an_error_at_its_line() {
    let log = refused(
        r#"#include <mma.h>
// asm("in a comment");
const char* text = "asm in a string";
extern "C" __global__ void f(int* out) {
    asm volatile("mov.u32 %0, %%laneid;"
                 : "=r"(out[0]));
    out[1] = undeclared;
    cg::this_cluster();
    nvcuda::wmma::fill();
}
#define FENCE asm volatile("fence;")
extern "C" __global__ void g() { FENCE; }
extern "C" __global__ void __cluster_dims__(2) h(cudaTextureObject_t t) {}
#define TILE __shared__ int tile[2]
extern "C" __global__ void i() { TILE; }
"#,
    );
    // In a macro g++ knows the line, but not the column.
    for line in [
        "kernels/t/kernel.cu:1:1: error: tensor cores (mma.h) cannot run on the cpu device",
        "kernels/t/kernel.cu:5:5: error: inline PTX cannot run on the cpu device",
        "kernels/t/kernel.cu:7:14: error: 'undeclared' was not declared in this scope",
        "kernels/t/kernel.cu:8:9: error: thread block clusters cannot run on the cpu device",
        "kernels/t/kernel.cu:9:13: error: tensor cores cannot run on the cpu device",
        "kernels/t/kernel.cu:12:11: error: inline PTX cannot run on the cpu device",
        "kernels/t/kernel.cu:13:11: error: thread block clusters cannot run on the cpu device",
        "kernels/t/kernel.cu:13:50: error: textures and surfaces cannot be used on the cpu device",
        "kernels/t/kernel.cu:15:11: error: __shared__ inside a macro is not supported",
    ] {
        assert!(log.contains(line), "'{line}' is not in:\n{log}");
    }
}

#[test]
fn code_for_the_gpu_only_can_be_guarded() {
    let mut bench = Bench::new(
        r#"
#ifndef LAB_CPU
#include <mma.h>
extern "C" __global__ void tensor() { asm("mma"); }
#endif
namespace inner {
extern "C" {
__global__ void __launch_bounds__(32, 1) f(const int* in, int* out, int n)
#ifdef __CUDA_ARCH__
{
    asm volatile("ptx" ::: "memory");
#else
{
    out[0] = 1'000;
#endif
    if (n) { out[0] += R"x(} __global__ ")x"[0]; }
}
}
}  // namespace inner
extern "C" __global__ void declared_only(int*);
template <class T> __global__ void generic(T*) {}
__global__ void mangled(int*) {}
"#,
    );
    let out: Vec<i32> = bench.run("f", &shape(1, 1), &[0i32], 1, ExecutionOrder::Forward).unwrap();
    assert_eq!(out, [1000 + '}' as i32]);
    for absent in ["tensor", "declared_only", "generic", "mangled"] {
        assert_eq!(bench.device.entry(bench.module, absent).unwrap(), None, "{absent}");
    }
}

#[test]
fn local_includes_are_rewritten_too() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("parts")).unwrap();
    let source =
        "#include \"parts/sum.cuh\"\nextern \"C\" __global__ void f(int* out) { out[0] = sum(LAB_N); }\n";
    std::fs::write(folder.path().join("snapshot.cu"), source).unwrap();
    let part = "#pragma once\n#include \"more.cuh\"\n__device__ inline int sum(int x) {\n    __shared__ int s;\n    s = x;\n    return s + MORE;\n}\n";
    std::fs::write(folder.path().join("parts/sum.cuh"), part).unwrap();
    std::fs::write(folder.path().join("parts/more.cuh"), "#define MORE 1\n").unwrap();
    let mut request = request(folder.path().join("snapshot.cu"));
    request.defines.push(("LAB_N".into(), "41".into()));
    let built = builder().unwrap().build(&request).unwrap();
    assert!(built.image.is_some(), "{}", built.log);
    std::fs::write(folder.path().join("parts/more.cuh"), "#define MORE nothing\n").unwrap();
    let built = builder().unwrap().build(&request).unwrap();
    assert!(
        built.log.contains("kernels/t/parts/sum.cuh:6:16: note")
            || built.log.contains("kernels/t/parts/more.cuh:1:14: error"),
        "{}",
        built.log
    );
}

#[test]
fn a_source_that_cannot_be_read_is_a_failed_build() {
    let built = builder().unwrap().build(&request("/nowhere/kernel.cu".into())).unwrap();
    assert!(built.log.starts_with("kernels/t/kernel.cu:1:1: error: cannot be read: "), "{}", built.log);
}

#[test]
fn a_missing_compiler_is_an_error_with_a_remedy() {
    let Err(DeviceError::Unavailable(text)) = HostCompiler::find(Some("/nowhere/c++".into())) else {
        panic!("there is no such compiler");
    };
    assert!(
        text.contains("'/nowhere/c++', and this compiler cannot be run (No such file")
            && text.contains("apt install g++"),
        "{text}"
    );
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]

    /// Rewriting a file that is not finished neither panics nor changes the number of lines.
    #[test]
    fn rewriting_takes_any_text(parts in proptest::collection::vec(0..PARTS.len(), 0..60)) {
        let source: String = parts.iter().flat_map(|part| [PARTS[*part], " "]).collect();
        let rewritten = rewrite::rewrite(&source, "k.cu", 1);
        let text = rewrite::apply(&source, rewritten.edits);
        // A macro for dynamic shared memory adds lines, and a `#line` that corrects the numbers.
        if !text.contains("\n#define") {
            proptest::prop_assert_eq!(text.matches('\n').count(), source.matches('\n').count());
        }
    }
}

const PARTS: [&str; 30] = [
    "__shared__",
    "__global__",
    "extern \"C\"",
    "asm",
    "LAB_LAUNCH",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "<",
    ">",
    ";",
    ",",
    "float x",
    "é",
    "\"",
    "'",
    "R\"a(",
    "\\",
    "\n",
    "\n#if 1\n",
    "\n#else",
    "\n#endif\n",
    "/*",
    "//",
    "1e-5",
    "static",
    "\n#include \"a",
];

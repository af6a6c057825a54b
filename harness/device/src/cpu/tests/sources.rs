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
    assert!(
        log.contains("kernels/t/kernel.cu:5:21: error: 'c' was not declared"),
        "{log}"
    );
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
extern "C" void unmarked(int*) {}
"#,
    );
    let out: Vec<i32> = bench
        .run("f", &shape(1, 1), &[0i32], 1, ExecutionOrder::Forward)
        .unwrap();
    assert_eq!(out, [1000 + '}' as i32]);
    for absent in ["tensor", "declared_only", "generic", "mangled", "unmarked"] {
        assert_eq!(
            bench.device.entry(bench.module, absent).unwrap(),
            None,
            "{absent}"
        );
    }
}

#[test]
fn kernels_that_macros_write_and_that_are_declared_first_are_found() {
    let mut bench = Bench::new(
        r#"#include "lab.h"
#define KERNEL(name) extern "C" __global__ void name(const int* in, int* out, int n)
#define TILE(type, size) __shared__ type tile[size]
#define SUM(name, op)                                  \
    KERNEL(name) {                                     \
        TILE(int, 32);                                 \
        extern __shared__ int more[];                  \
        tile[threadIdx.x] = in[threadIdx.x];           \
        more[threadIdx.x] = 1;                         \
        __syncthreads();                               \
        int sum = 0;                                   \
        for (int i = 0; i < 32; ++i) sum op tile[i];   \
        out[threadIdx.x] = sum + more[n - 1 - threadIdx.x]; \
    }                                                  \
    LAUNCH_OF(name)
#define LAUNCH_OF(name) LAB_LAUNCH(name) { launch.block[0] = dims.n; }
SUM(plus, +=)
SUM(minus, -=)
namespace inner {
extern "C" __global__ void first(const int*, int*, int);
__global__ void first(const int* in, int* out, int n) { out[threadIdx.x] = 7; }
}
extern "C" {
KERNEL(second);
KERNEL(second)
{ out[threadIdx.x] = 8; }
}
KERNEL(never);
"#,
    );
    let block = Shape {
        shared_bytes: 128,
        ..shape(1, 32)
    };
    let input: Vec<i32> = (0..32).collect();
    for (kernel, expected) in [("plus", 497), ("minus", -495), ("first", 7), ("second", 8)] {
        let out: Vec<i32> = bench
            .run(kernel, &block, &input, 32, ExecutionOrder::Reverse)
            .unwrap();
        assert_eq!(out, [expected; 32], "{kernel}");
    }
    for present in ["lab_launch_plus", "lab_launch_minus"] {
        assert!(
            bench.device.entry(bench.module, present).unwrap().is_some(),
            "{present}"
        );
    }
    assert_eq!(bench.device.entry(bench.module, "never").unwrap(), None);
}

#[test]
fn host_code_in_device_code_is_an_error_at_its_line() {
    let log = refused(
        r#"#include "lab.h"
#define HD __host__ __device__
inline float square(float x) { return x * x; }
static float cube(float x) { return x * square(x); }
template <class T> T twice(T x) { return x + x; }
struct Pair {
    float a, b;
    HD Pair(float a, float b) : a(a), b(b) {}
    Pair(float v) : a(v), b(v) {}
    float sum() const { return a + b; }
    HD float difference() const { return a - b; }
    Pair operator+(Pair other) const { return {a + other.a, b + other.b}; }
};
struct Functor {
    float operator()(float x) const { return x; }
};
template <class F> HD float apply(F f, float x) { return f(x); }
float table[4] = {1, 2, 3, 4};
const float constants[2] = {1, 2};
constexpr int blocks_for(int n) { return (n + 31) / 32; }
__device__ float known(float x);
float known(float x) { return x; }
extern "C" __global__ void f(const float* in, float* out, int n) {
    out[0] = square(in[0]);
    out[1] = twice(in[1]) + twice<int>(3);
    Pair p(in[0], in[1]);
    out[2] = p.difference() + p.sum();
    Pair q(in[2]);
    out[3] = (p + q).a;
    out[4] = apply(Functor{}, 1.0f);
    out[5] = table[1] + constants[n];
    const int blocks = blocks_for(n);
    out[6] = known(blocks);
}
"#,
    );
    for (line, what) in [
        (
            24,
            "calls 'float square(float)', which has no __device__ and is host code: write __device__ before it (line 3)",
        ),
        (25, "calls 'T twice(T) [with T = float]'"),
        (25, "calls 'T twice(T) [with T = int]'"),
        (27, "calls 'float Pair::sum() const'"),
        (28, "calls 'Pair::Pair(float)'"),
        (29, "calls 'Pair Pair::operator+(Pair) const'"),
        (17, "calls 'float Functor::operator()(float) const'"),
        (
            31,
            "uses 'table', a variable of the host: write __device__ or __constant__ before it (line 18)",
        ),
        (31, "uses 'constants', a variable of the host"),
        (32, "calls 'constexpr int blocks_for(int)'"),
    ] {
        let line = format!("kernels/t/kernel.cu:{line}: error: device code {what}");
        assert!(log.contains(&line), "'{line}' is not in:\n{log}");
    }
    assert_eq!(log.matches("error:").count(), 10, "{log}");
}

#[test]
fn host_code_that_no_device_code_uses_is_no_error() {
    let mut bench = Bench::new(
        r#"#include "lab.h"
#include <cmath>
namespace host {
int calls;
float square(float x);
inline float cube(float x) { return x * square(x); }
inline float square(float x) { ++calls; return x * x; }
static float first = square(2), second = cube(first);
struct Table { float v[4]; Table() { for (float& x : v) x = square(1); } };
Table table;
auto lambda = [](float x) { return square(x); };
}
constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
constexpr int WIDTH = ceil_div(100, 32);
const float PI = 3.0f;
constexpr float WEIGHTS[] = {1, 2};
enum Mode { FAST = ceil_div(7, 2) };
template <int N> __device__ int count() { return N; }
struct Plain { int a[ceil_div(9, 4)]; Plain() = default; };
struct Local { __device__ Local(int v); __device__ int get() const { return v; } int v; };
__device__ Local::Local(int v) : v{v} {}
template <class T> struct Holder { T v; __device__ T get() const; };
template <class T> __device__ T Holder<T>::get() const { return v; }
__device__ __forceinline__ float (*pick())(float) { return nullptr; }
__device__ int declared_later(int);
extern "C" __global__ void f(const int* in, int* out, int n) {
    __shared__ int tile[ceil_div(64, 32)];
    constexpr int steps = ceil_div(33, 32);
    static_assert(ceil_div(1, 1) == 1);
    const int whole = ceil_div(64, 32);
    auto own = [&](int x) { return x + n; };
    Plain plain = {};
    Holder<int> holder{2};
    tile[0] = steps + whole + WIDTH + int(PI + WEIGHTS[1]) + FAST + count<ceil_div(5, 5)>();
    out[0] = tile[0] + own(Local(1).get()) + plain.a[0] + holder.get() + declared_later(int(::fabsf(-1)));
    switch (n) {
        case ceil_div(64, 1): out[0] = 0; break;
        default: break;
    }
}
int declared_later(int x) { return x; }
int main() { return int(host::cube(1)); }
"#,
    );
    let out: Vec<i32> = bench
        .run("f", &shape(1, 1), &[0i32], 1, ExecutionOrder::Forward)
        .unwrap();
    assert_eq!(out, [2 + 2 + 4 + 5 + 4 + 1 + 2 + 2 + 1]);
}

#[test]
fn a_function_that_nothing_defines_is_an_error_at_its_declaration() {
    let log = refused(
        "namespace parts {\n__device__ float missing(float);\n}\nextern \"C\" __global__ void f(float* x) { x[0] = parts::missing(x[1]); }\n",
    );
    let wanted =
        "kernels/t/kernel.cu:2: error: 'parts::missing(float)' is used, but nothing defines it\n";
    assert_eq!(log, wanted);
}

#[test]
fn a_source_with_a_nul_byte_is_an_error_at_its_line() {
    let log = refused("extern \"C\" __global__ void f(int* out) {}\n// \0\n");
    assert_eq!(
        log,
        "kernels/t/kernel.cu:2: error: the source holds a NUL byte. Remove it.\n"
    );
}

#[test]
fn a_device_is_not_included() {
    let log = refused("\n#include \"/dev/zero\"\n#include </dev/null>\n");
    let what =
        "is no file but a device, a pipe or a socket, and is not included. Include a file.\n";
    let lines = [(2, "/dev/zero"), (3, "/dev/null")];
    let wanted: String = lines
        .map(|(line, name)| format!("kernels/t/kernel.cu:{line}: error: {name} {what}"))
        .concat();
    assert_eq!(log, wanted);
}

#[test]
fn local_includes_are_rewritten_too() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("parts")).unwrap();
    let source = "#include \"parts/sum.cuh\"\nextern \"C\" __global__ void f(int* out) { out[0] = sum(LAB_N); }\n";
    std::fs::write(folder.path().join("snapshot.cu"), source).unwrap();
    let part = "#pragma once\n#include \"more.cuh\"\n__device__ inline int sum(int x) {\n    __shared__ int s;\n    s = x;\n    return s + MORE;\n}\n";
    std::fs::write(folder.path().join("parts/sum.cuh"), part).unwrap();
    std::fs::write(folder.path().join("parts/more.cuh"), "#define MORE 1\n").unwrap();
    let mut request = request(folder.path().join("snapshot.cu"));
    request.defines.push(("LAB_N".into(), "41".into()));
    let built = builder().unwrap().build(&request).unwrap();
    assert!(built.image.is_some(), "{}", built.log);
    std::fs::write(
        folder.path().join("parts/more.cuh"),
        "#define MORE nothing\n",
    )
    .unwrap();
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
    let built = builder()
        .unwrap()
        .build(&request("/nowhere/kernel.cu".into()))
        .unwrap();
    assert!(
        built
            .log
            .starts_with("kernels/t/kernel.cu:1:1: error: cannot be read: "),
        "{}",
        built.log
    );
}

#[test]
fn a_missing_compiler_is_an_error_with_a_remedy() {
    let Err(DeviceError::Unavailable(text)) = HostCompiler::find(Some("/nowhere/c++".into()))
    else {
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
    fn any_text_is_rewritten(parts in proptest::collection::vec(0..PARTS.len(), 0..60)) {
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

#[test]
fn a_mistake_is_told_once_however_the_kernel_is_registered() {
    let errors = |source: &str| -> Vec<String> {
        let built = build(source);
        assert!(built.image.is_none(), "{}", built.log);
        built
            .log
            .lines()
            .filter(|line| line.contains("error: "))
            .map(str::to_owned)
            .collect()
    };
    let named =
        errors("extern \"C\" __global__ viod k(const int*, int* out, int n) { out[0] = n; }\n");
    assert!(
        matches!(named.as_slice(), [only] if only.contains("viod") && only.contains(":1:")),
        "{named:?}"
    );
    let inside =
        errors("extern \"C\" __global__ void k(const int*, int* out, int n) { out[0] = nn; }\n");
    assert!(
        matches!(inside.as_slice(), [only] if only.contains("nn")),
        "{inside:?}"
    );
    let log = build("extern \"C\" __global__ viod k(int n) { }\n").log;
    assert!(
        !log.contains("lab_cpu_register") && !log.contains("registration"),
        "{log}"
    );
}

#[test]
fn a_source_for_the_host_may_use_a_header_that_has_cudas_keyword_as_an_attribute() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("reference.cpp");
    let source = "#include <lab.h>\n#include <memory>\n\
         extern \"C\" __global__ void k(int* out) { out[0] = *std::make_shared<int>(3); }\nLAB_LAUNCH(k) {}\n";
    std::fs::write(&path, source).unwrap();
    let request = BuildRequest {
        shown_as: "reference.cpp".into(),
        ..request(path)
    };
    let built = builder().unwrap().build(&request).unwrap();
    assert!(built.image.is_some(), "{}", built.log);
}

/// Some editors begin each file with a byte order mark. nvcc skips it, and lab takes it from the kernel
/// for both compilers. NVRTC reads the headers itself, and refuses it there.
#[test]
fn a_byte_order_mark_is_skipped_in_the_kernel_and_refused_in_a_header() {
    let folder = tempfile::tempdir().unwrap();
    let (kernel, header) = (
        folder.path().join("kernel.cu"),
        folder.path().join("one.cuh"),
    );
    let source = |value: &str| {
        format!(
            "\u{feff}#include \"one.cuh\"\nextern \"C\" __global__ void f(int* out) {{ out[0] = {value}; }}\n"
        )
    };
    let build = |header_text: &str, text: &str| {
        std::fs::write(&header, header_text).unwrap();
        std::fs::write(&kernel, text).unwrap();
        builder().unwrap().build(&request(kernel.clone())).unwrap()
    };
    let one = "#define ONE 1\n";
    let built = build(one, &source("ONE"));
    assert!(built.image.is_some(), "{}", built.log);
    for (header_text, text, error) in [
        (
            one,
            source("TWO"),
            "kernels/t/kernel.cu:2:51: error: 'TWO' was not declared",
        ),
        (one, source("1;\u{feff}"), "kernels/t/kernel.cu:2:"),
        (
            "\u{feff}#define ONE 1\n",
            source("ONE"),
            "kernels/t/one.cuh:1: error: the header begins with a byte order mark, which NVRTC refuses",
        ),
    ] {
        let built = build(header_text, &text);
        assert!(
            built.image.is_none() && built.log.contains(error),
            "{}",
            built.log
        );
    }
}

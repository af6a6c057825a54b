//! What NVRTC takes and refuses, the cpu device takes and refuses. The verdicts were asked of NVRTC 13.

use super::*;

/// The log of a build that fails.
fn refused(text: &str) -> String {
    let built = build(text);
    assert!(built.image.is_none(), "it builds: {text}");
    built.log
}

/// A kernel with this body behind this text.
fn kernel(before: &str, body: &str) -> String {
    format!(
        "#include \"lab.h\"\n{before}\nextern \"C\" __global__ void k(const int* in, int* out, int n) {{\n\
         [[maybe_unused]] float f[4] = {{1, 2, 3, 4}}; [[maybe_unused]] long long l = 5;\n{body}\n}}\n"
    )
}

#[test]
fn what_nvrtc_refuses_does_not_build() {
    for (before, body, words) in [
        // Beyond C++17.
        (
            "",
            "struct P { int a, b; }; P p{.a = 1, .b = 2}; out[0] = p.a;",
            "designated initializers",
        ),
        (
            "",
            "auto g = []<class T>(T x) { return x; }; out[0] = g(1);",
            "lambda templates",
        ),
        ("template <class T> concept Any = true;", "", "concept"),
        (
            "__device__ int f(auto x) { return x; }",
            "out[0] = f(1);",
            "'auto' in parameter",
        ),
        // GNU C++.
        (
            "",
            "int m[n]; m[0] = 1; out[0] = m[0];",
            "variable length array",
        ),
        ("", "out[0] = ({ int x = 1; x; });", "braced-groups"),
        ("", "out[0] = n ?: 2;", "middle operand"),
        ("", "register int q = 1; out[0] = q;", "register"),
        (
            "",
            "out[0] = __builtin_popcount(n);",
            "__builtin_popcount is a function of the host's compiler",
        ),
        (
            "",
            "out[0] = __atomic_fetch_add(out, 1, 5);",
            "__atomic_fetch_add is a function",
        ),
        ("", "thread_local int q = 1; out[0] = q;", "no thread_local"),
        ("", "static __thread int q; out[0] = q;", "no thread_local"),
        (
            "extern \"C\" __device__ void __tsan_read4(void*) {}",
            "out[0] = 1;",
            "__tsan_read4 is a function of the race detector",
        ),
        ("", "throw 1;", "exception"),
        // Names without their header.
        ("", "uint32_t q = 1; out[0] = q;", "uint32_t"),
        ("", "f[0] = INFINITY;", "INFINITY"),
        ("", "f[0] = std::max(f[0], f[1]);", "max"),
        ("", "__half h; out[0] = sizeof h;", "__half"),
        ("#include <vector>", "", "vector: No such file"),
        (
            "extern \"C\" __device__ int getpid();",
            "out[0] = getpid();",
            "'getpid' is used, but nothing defines it",
        ),
        // Calls that CUDA has no function for.
        ("", "atomicAdd(&l, 1LL);", "atomicAdd"),
        ("", "f[0] = max(f[0], 1);", "ambiguous"),
        ("", "f[0] = sqrt(n);", "ambiguous"),
        (
            "struct P { int a; };",
            "P p = {n}; out[0] = __shfl_sync(~0u, p, 0).a;",
            "shuffle the parts of a struct",
        ),
        ("", "threadIdx.x = 3;", "using rvalue as lvalue"),
        (
            "",
            "int m[warpSize]; m[0] = 1; out[0] = m[0];",
            "variable length array",
        ),
        // Limits and what depends on the build.
        (
            "__constant__ float table[16385];",
            "f[0] = table[n];",
            "64 KiB of __constant__ memory",
        ),
        ("", "out[0] = __DATE__[0];", "when it is built"),
        (
            "",
            "out[0] = __COUNTER__;",
            "NVRTC does not know __COUNTER__",
        ),
        (
            "",
            "out[0] = __builtin_ia32_rdtsc();",
            "__builtin_ia32_rdtsc",
        ),
        (
            "__attribute__((no_sanitize(\"thread\"))) __device__ int f() { return 1; }",
            "out[0] = f();",
            "would hide a function from the race detector",
        ),
    ] {
        let log = refused(&kernel(before, body));
        assert!(log.contains(words), "{before} {body}: {log}");
    }
}

#[test]
fn what_nvrtc_takes_builds() {
    for (before, body) in [
        ("", "for (int x : {1, 2, 3}) out[0] += x;"),
        (
            "",
            "new (f) float(2.0f); memcpy(f, in, 4); memset(f, 0, 4); printf(\"%d\\n\", n); assert(n > 0);",
        ),
        (
            "",
            "union { struct { float a, b; }; float both[2]; } u; u.both[0] = 1; f[0] = u.a;",
        ),
        ("", "auto [a, b] = make_int2(1, 2); out[0] = a + b;"),
        (
            "#define ALL(...) one(__VA_ARGS__)\n__device__ int one() { return 1; }",
            "out[0] = ALL();",
        ),
        // Own functions under names of CUDA's and of the C library.
        (
            "__device__ float lerp(float a, float b, float t) { return a + t * (b - a); }",
            "f[0] = lerp(f[0], f[1], 0.5f);",
        ),
        (
            "__device__ float hypot(float a, float b) { return a + b; }",
            "f[0] = hypot(f[0], f[1]);",
        ),
        (
            "__device__ float hypotf(float a, float b) { return a + b; }",
            "f[0] = hypotf(f[0], f[1]);",
        ),
        (
            "__device__ double sqrt(double a) { return a; }",
            "f[0] = sqrt(f[0]);",
        ),
        (
            "template <class T> __device__ T max(T a, T b) { return a < b ? b : a; }",
            "f[0] = max(f[0], f[1]);",
        ),
        (
            "__device__ int read(int x) { return x; }\n__device__ int index[3];",
            "out[0] = read(n) + index[0];",
        ),
        (
            "#include <algorithm>\n#include <array>\n#include <cfloat>\n#include <climits>\n#include <cmath>\n#include <cstdint>\n\
             #include <limits>\n#include <type_traits>\n#include <utility>",
            "std::array<float, 2> a{1, 2}; uint32_t u = UINT_MAX; f[0] = std::max(a[0], FLT_MAX) + std::sqrt(INFINITY); \
             auto [x, y] = std::make_pair(1, 2.0f); static_assert(std::is_same_v<decltype(y), float>); \
             out[0] = std::numeric_limits<int>::max() + x + int(u); std::swap(f[0], f[1]);",
        ),
        (
            "#include <cuda/std/limits>\n#include <cuda/std/array>\n#include <cuda/atomic>",
            "cuda::std::array<int, 2> a{1, 2}; cuda::atomic_ref<int, cuda::thread_scope_device> r(out[0]); \
             r.fetch_add(a[1] + cuda::std::numeric_limits<int>::min(), cuda::memory_order_relaxed);",
        ),
        ("", "__builtin_assume(n > 0); out[0] = n;"),
        (
            "",
            "out[0] = sizeof(long double) == 8 ? 1 : -1; static_assert(sizeof(long double) == sizeof(double));",
        ),
    ] {
        let built = build(&kernel(before, body));
        assert!(built.image.is_some(), "{before} {body}: {}", built.log);
    }
}

#[test]
fn casts_and_words_as_vectors_have_a_gpus_values() {
    let mut bench = Bench::new(
        r#"#include "lab.h"
extern "C" __global__ void casts(const float* in, int* out, int n) {
    const float inf = in[0], nan = in[1], large = in[2], low = -1.5f + in[3];
    struct { float x; } s = {large};
    out[0] = (int)inf; out[1] = (int)-inf; out[2] = (int)nan; out[3] = int(large * 2);
    out[4] = static_cast<int>(s.x); out[5] = (unsigned)low == 0u; out[6] = (unsigned char)300.5f;
    typedef unsigned u32; out[3] &= (int)(u32)3e9f < 0 ? -1 : 0; out[8] = sizeof((int)(float)inf + NULL);
    out[7] = (int)low; out[8] = ((long long)large == 3000000000LL); out[9] = -(int)in[3] + (int)(2.9f) * 3;
    out[10] = (int)max(inf, 1.0f) == 2147483647; out[11] = (unsigned char)low;
}
extern "C" __global__ void words(const float*, int* out, int n) {
    out[0] = __vadd2(0xffff0001u, 0x00010002u); out[1] = __vmaxs4(0x80017f05u, 0x01027e06u);
    out[2] = __vabsdiffu4(0x05ff0010u, 0x0a010020u); out[3] = __vsubus2(0x00010005u, 0x00020003u);
    out[4] = __vcmpgts2(0x0001ffffu, 0x00000000u); out[5] = __vaddss2(0x7fff8000u, 0x0001ffffu);
    out[6] = __viaddmax_s32(2, 3, 4); out[7] = __vimax3_s32(-1, 7, 3); out[8] = __viaddmin_s32_relu(-9, 1, 4);
    out[9] = __vsadu4(0x01020304u, 0x04030201u);
    __shared__ int cell; cell = 1; int own = 1;
    out[10] = __isShared(&cell) * 100 + __isGlobal(out) * 10 + __isLocal(&own) + __isGlobal(&cell) + __isShared(out);
}
"#,
    );
    let input = [f32::INFINITY, f32::NAN, 3e9, 0.0];
    let out: Vec<i32> = bench
        .run("casts", &shape(1, 1), &input, 12, ExecutionOrder::Forward)
        .unwrap();
    let (low, high) = (i32::MIN, i32::MAX);
    assert_eq!(out, [high, low, 0, high, high, 1, 44, -1, 1, 6, 1, 0]);
    let out: Vec<i32> = bench
        .run("words", &shape(1, 1), &input, 11, ExecutionOrder::Forward)
        .unwrap();
    let word = |bits: u32| bits as i32;
    assert_eq!(
        out,
        [
            3,
            0x0102_7f06,
            0x05fe_0010,
            2,
            word(0xffff_0000),
            0x7fff_8000,
            5,
            7,
            0,
            8,
            111
        ]
    );
}

#[test]
fn an_address_that_is_no_multiple_of_the_size_ends_the_launch() {
    let mut bench = Bench::new(
        "#include \"lab.h\"\nextern \"C\" __global__ void k(const int* in, int* out, int n) {\n    \
         const int2 v = *(const int2*)(in + threadIdx.x);\n    out[threadIdx.x] = v.x + v.y;\n}\n\
         extern \"C\" __global__ void __launch_bounds__(32, 2) bound(const int* in, int* out, int n) {}\n",
    );
    let error = bench
        .run::<i32, i32>("k", &shape(1, 2), &[1, 2, 3, 4], 2, ExecutionOrder::Forward)
        .unwrap_err();
    let words = "misaligned address: 'const struct int2' needs a multiple of 8 bytes, and the address is 4 bytes behind one";
    assert!(error.to_string().contains(words), "{error}");
    assert!(error.to_string().contains("kernel.cu:3"), "{error}");
    let error = bench
        .run::<i32, i32>("bound", &shape(1, 33), &[1], 1, ExecutionOrder::Forward)
        .unwrap_err();
    let words = "its __launch_bounds__ allows blocks of 32 threads, and launch.block asks for 33";
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn an_implicit_conversion_that_a_gpu_would_saturate_ends_the_launch() {
    let mut bench = Bench::new(
        "#include \"lab.h\"\nextern \"C\" __global__ void k(const float* in, int* out, int n) {\n    \
         out[0] = (int)in[0];\n    out[1] = in[1];\n}\n",
    );
    let mut run = |in_it: [f32; 2]| {
        bench.run::<f32, i32>("k", &shape(1, 1), &in_it, 2, ExecutionOrder::Forward)
    };
    assert_eq!(run([3e9, -7.5]).unwrap(), [i32::MAX, -7]);
    for beyond in [3e9, f32::NAN] {
        let error = run([0.0, beyond]).unwrap_err().to_string();
        let words = "an implicit conversion of 'float' to 'int', which cannot hold the number";
        assert!(
            error.contains(words) && error.contains("kernel.cu:4"),
            "{error}"
        );
    }
}

#[test]
fn a_shift_by_all_bits_and_a_variable_without_a_value_are_not_this_processors() {
    let mut bench = Bench::new(
        "#include \"lab.h\"\nextern \"C\" __global__ void k(const float* in, int* out, int n) {\n    \
         out[0] = 4 >> (int)in[0];\n    float sum;\n    \
         for (int i = 0; i < 2; i++) sum += in[i];\n    out[1] = sum < -1e37f;\n}\n",
    );
    let mut run = |bits: f32| {
        bench.run::<f32, i32>("k", &shape(1, 1), &[bits, 1.0], 2, ExecutionOrder::Forward)
    };
    assert_eq!(run(1.0).unwrap(), [2, 1]);
    let error = run(33.0).unwrap_err().to_string();
    assert!(
        error.contains("a shift of 'int' by 33 bits") && error.contains("kernel.cu:3"),
        "{error}"
    );
}

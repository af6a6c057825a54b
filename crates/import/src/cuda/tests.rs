//! A published source in, the texts of a problem out.

#![allow(clippy::unwrap_used)]
use super::*;

mod forms;
mod projects;
mod several;
mod structs;

fn problem(text: &str) -> Problem {
    let published = Published::read("a.cu", text, &|_| Err(Absent::Nowhere));
    let (kernel, _) = published.kernels().last().unwrap().clone();
    published.problem(&[kernel], "a", "a.cu").unwrap()
}

fn file(problem: &Problem, name: &str) -> String {
    let found = problem.files.iter().find(|file| file.name == name);
    found.unwrap().text.clone()
}

/// Role and shape of each tensor.
fn tensors(text: &str) -> Vec<String> {
    let problem = file(&problem(text), "problem.toml");
    let value = |part: &str, key: &str| {
        let line = part
            .lines()
            .find(|line| line.starts_with(key))
            .unwrap()
            .to_owned();
        line.split_once(" = ").unwrap().1.replace('"', "")
    };
    let parts = problem.split("[[tensor]]").skip(1);
    parts
        .map(|part| {
            let of = |key| value(part, key);
            format!(
                "{} {} {} {}",
                of("role"),
                of("name"),
                of("type"),
                of("shape")
            )
        })
        .collect()
}

fn kernel(text: &str) -> String {
    file(&problem(text), "kernel.cu")
}

#[test]
fn a_function_is_an_argument_of_the_template() {
    let text = kernel(
        "namespace v {\ntemplate <typename T> __device__ T silu(const T& x) { return x; }\n\
         template <typename T> __device__ T gelu(const T& x) { return x; }\n\
         template <typename T, T (*ACT)(const T&), bool FIRST> __global__ void k(T* y, const T* x, int n) {\n\
         int i = blockIdx.x * 256 + threadIdx.x; if (i < n) y[i] = ACT(x[i]); }\n}\n\
         #define LAUNCH(KERNEL, FIRST) DISPATCH(x.scalar_type(), \"k\", [&] { \\\n\
         v::k<scalar_t, KERNEL<scalar_t>, FIRST><<<(n + 255) / 256, 256>>>(y, x, n); });\n\
         void f(float* y, float* x, int n) { LAUNCH(v::silu, true); }\n",
    );
    assert!(
        text.contains("v::k<float, v::silu<float>, true>(y, x, n);"),
        "{text}"
    );
    assert!(
        text.contains("T silu(") && !text.contains("T gelu("),
        "{text}"
    );
}

#[test]
fn roles_and_shapes_follow_from_the_indices() {
    // Pointers into rows, guards, strides, an update and a pointer that is never written.
    let rows = "__global__ void k(float* y, float* x, float* sums, const int* index, int rows, int cols) {\n\
                int row = blockIdx.x;\n if (row >= rows) return;\n const float* in = x + row * cols;\n\
                float* out = y + (size_t)row * cols;\n\
                for (int c = threadIdx.x; c < cols; c += blockDim.x) { out[c] = in[c]; atomicAdd(&sums[row], in[c]); }\n\
                if (threadIdx.x == 0) y[index[row] * 0] = 1.0f;\n}\n\
                void f(float* a, float* b, float* s, int* i, int n, int m) { k<<<n, 256>>>(a, b, s, i, n, m); }\n";
    assert_eq!(
        tensors(rows),
        [
            "out y f32 [rows, cols]",
            "in x f32 [rows, cols]",
            "inout sums f32 [rows]",
            "in index i32 [rows]"
        ]
    );
    // Two halves in a row, and a size that only the launch knows.
    let gated = "template <typename T> __global__ void k(T* out, const T* in, const int d) {\n\
                 const int64_t t = blockIdx.x;\n for (int64_t i = threadIdx.x; i < d; i += blockDim.x)\n\
                 out[t * d + i] = in[t * 2 * d + i] * in[t * 2 * d + d + i];\n}\n\
                 void f(torch::Tensor& out, torch::Tensor& in) { int d = in.size(-1) / 2; int64_t tokens = in.numel() / in.size(-1);\n\
                 dim3 grid(tokens); dim3 block(std::min(d, 1024));\n\
                 k<scalar_t><<<grid, block, 0, stream>>>(out.data_ptr<scalar_t>(), in.data_ptr<scalar_t>(), d); }\n";
    assert_eq!(
        tensors(gated),
        ["out out f32 [tokens, d]", "in in f32 [tokens, 2 * d]"]
    );
    assert!(
        kernel(gated).contains("launch.block[0] = min((int)(dims.d), (int)(1024));"),
        "{}",
        kernel(gated)
    );
}

#[test]
fn a_comparison_with_nullptr_reads_nothing() {
    let text = "__global__ void k(float* y, float* mean, const float* x, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n && mean != nullptr) { mean[i] = x[i]; }
        if (i < n) y[i] = x[i];
    }";
    assert_eq!(
        tensors(text),
        ["out y f32 [n]", "out mean f32 [n]", "in x f32 [n]"]
    );
}

#[test]
fn an_extension_says_the_shapes_of_its_tensors() {
    // The kernel's indices go through a table, which nobody can follow.
    let gathered = "__global__ void k(float* out, const float* x, const int* table, float* sums, int rows, int cols, int count) {\n\
                    int at = table[blockIdx.x];\n out[at * 3] = x[at]; sums[at] = x[at];\n}\n\
                    torch::Tensor f(torch::Tensor x, torch::Tensor table) {\n\
                    x = x.contiguous();\n const int rows = x.size(0);\n const auto cols = x.size(1);\n\
                    auto out = torch::empty_like(x);\n auto sums = torch::zeros({table.size(0), 4}, x.options());\n\
                    k<<<table.size(0), 256>>>(out.data_ptr<float>(), (const float*)x.data_ptr(), table.data_ptr<int>(), sums.data_ptr<float>(),\n\
                    rows, cols, table.size(0)); return out; }\n";
    assert_eq!(
        tensors(gathered),
        [
            "out out f32 [rows, cols]",
            "in x f32 [rows, cols]",
            "in table i32 [count]",
            "out sums f32 [count, 4]"
        ]
    );
}

#[test]
fn vectors_and_casts_count_as_the_numbers_in_them() {
    let cast = "__global__ void k(const float* x, float4* y, unsigned long long n) {\n\
                size_t i = blockIdx.x * blockDim.x + threadIdx.x;\n\
                if (i < n / 4) y[i] = reinterpret_cast<const float4*>(x)[i];\n}\n";
    assert_eq!(tensors(cast), ["in x f32 [n]", "out y f32 [n]"]);
    let text = kernel(cast);
    assert!(
        text.contains("k(x, reinterpret_cast<float4*>(y), n);"),
        "{text}"
    );
    assert!(
        text.contains("// A guess: no file that was read launches the kernel"),
        "{text}"
    );
}

#[test]
fn rows_of_one_length_and_vectors_within_a_row_keep_its_length() {
    // The template says how long a row is. An index inside a cast counts single numbers.
    let template = "template <int HIDDEN> __global__ void k(const float* x, const float* w, float* y) {\n\
                    const float* row = x + blockIdx.x * HIDDEN;\n\
                    for (int i = threadIdx.x; i < HIDDEN; i += blockDim.x) y[blockIdx.x * HIDDEN + i] = row[i] * w[i];\n}\n\
                    void f(float* x, float* w, float* y, int rows) { k<4096><<<rows, 256>>>(x, w, y); }\n";
    assert_eq!(
        tensors(template),
        [
            "in x f32 [rows, 4096]",
            "in w f32 [4096]",
            "out y f32 [rows, 4096]"
        ]
    );
    let vectors = "__global__ void k(float* y, const float* x, int rows, int cols) {\n\
                   int r = blockIdx.x; int c = threadIdx.x * 4; if (r >= rows || c >= cols) return;\n\
                   float4 v = *reinterpret_cast<const float4*>(&x[r * cols + c]);\n\
                   *reinterpret_cast<float4*>(&y[r * cols + c]) = v;\n}\n";
    assert_eq!(
        tensors(vectors),
        ["out y f32 [rows, cols]", "in x f32 [rows, cols]"]
    );
    assert!(file(&problem(template), "problem.toml").contains("# The shape is a guess.\n"));
}

#[test]
fn matrices_have_the_shapes_that_everybody_gives_them() {
    let tiled = "template <const int BM, const int BN>\n__global__ void sgemm(int M, int N, int K, float alpha, float *A, float *B, float *C) {\n\
                 A += blockIdx.y * BM * K; B += blockIdx.x * BN; C += blockIdx.y * BM * N;\n\
                 for (int k = 0; k < K; k += 8) { C[threadIdx.x] += A[k] * B[k] * alpha; A += 8; }\n}\n\
                 void run(int M, int N, int K, float a, float* A, float* B, float* C) {\n\
                 const uint BM = 64; const uint BN = 32;\n dim3 grid(CEIL_DIV(N, BN), CEIL_DIV(M, BM));\n\
                 sgemm<BM, BN><<<grid, 256>>>(M, N, K, a, A, B, C); }\n";
    assert_eq!(
        tensors(tiled),
        ["in A f32 [M, K]", "in B f32 [K, N]", "inout c f32 [M, N]"]
    );
    let text = kernel(tiled);
    for wanted in [
        "sgemm<64, 32>(M, N, K, alpha, A, B, c);",
        "float* A, float* B, float* c, float alpha, int M, int N, int K)",
        "launch.grid[0] = ((dims.N) + (32) - 1) / (32);",
        "launch.grid[1] = ((dims.M) + (64) - 1) / (64);",
    ] {
        assert!(text.contains(wanted), "{wanted} is not in {text}");
    }
}

#[test]
fn only_what_the_kernel_uses_stays() {
    let source = "#include \"missing.h\"\n#include <cub/cub.cuh>\n#include <vector>\n#ifdef FAST\n#define SCALE 2\n#else\n#define SCALE 3\n#endif\n\
                  namespace mine {\nint helper(int x) { return x * SCALE; }\nint unused(int x) { return x; }\n\
                  static __global__ void k(int* y, int n) { int i = threadIdx.x; if (i < n) y[i] = helper(i); }\n}\n\
                  int main() { mine::k<<<1, 32>>>(0, 32); }\n";
    let made = problem(source);
    let text = file(&made, "kernel.cu");
    for wanted in [
        "#ifdef FAST\n",
        "namespace mine {",
        "__device__ int helper(int x)",
        "mine::k(y, n);",
    ] {
        assert!(text.contains(wanted), "{wanted} is not in {text}");
    }
    for left_out in ["unused", "cub", "vector", "main"] {
        assert!(!text.contains(left_out), "{left_out} is in {text}");
    }
    assert!(
        made.notes
            .iter()
            .any(|note| note.starts_with("not in the project of the published file: missing.h")),
        "{:?}",
        made.notes
    );
    assert!(made.lacks_reference);
    assert!(file(&made, "reference.cu").contains("#error"));
}

#[test]
fn a_launch_is_read_as_far_as_the_host_code_says_it() {
    let host = |body: &str| {
        let kernel = "template <int V>\n__launch_bounds__(256) __global__ void s(float* y, int n) { y[threadIdx.x] = n; }\n";
        let made = problem(&format!("{kernel}void f(float* y, int n) {{ {body} }}\n"));
        (file(&made, "kernel.cu"), made.notes.join("\n"))
    };
    // The extents one by one, and memory whose size only the host knows.
    let (text, notes) = host(
        "dim3 grid, threads;\n grid.x = (n + 63) / 64; grid.y = 2; threads.x = 64;\n\
         int bytes = size_on(n); s<4><<<grid, threads, bytes>>>(y, n);",
    );
    for wanted in [
        "s<4>(y, n);",
        "launch.grid[0] = (dims.n + 63) / 64;",
        "launch.grid[1] = 2;",
        "launch.block[0] = 64;",
    ] {
        assert!(text.contains(wanted), "{wanted} is not in {text}");
    }
    assert!(
        !text.contains("guess") && !notes.contains("launch statement"),
        "{text}{notes}"
    );
    // One of several settings.
    let (text, notes) =
        host("dim3 block(64); if (n % 64) { block.x = 32; } s<1><<<n, block>>>(y, n);");
    assert!(
        text.contains("// A guess: the host code sets block in several ways.")
            && notes.contains("block in the launch statement is a guess"),
        "{text}{notes}"
    );
    // The kernel by a variable.
    let (text, _) = host("auto kernel = &s<8>; kernel<<<n, 128>>>(y, n);");
    assert!(
        text.contains("s<8>(y, n);") && text.contains("launch.block[0] = 128;"),
        "{text}"
    );
}

#[test]
fn a_namespace_that_is_opened_stays_with_its_header() {
    let text = kernel(
        "#include <mma.h>\nusing namespace nvcuda;\n#include <torch/extension.h>\ntypedef enum Kind { FIRST, SECOND } Kind;\n\
         __device__ float __log_of(float x) { return std::log(x); }\n\
         __global__ void s(half* x, float* y, int n) { wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;\n\
         y[FIRST] = __log_of(n); }\n",
    );
    for wanted in [
        "#include <mma.h>\n",
        "#include <cmath>\n",
        "using namespace nvcuda;\n",
        "typedef enum Kind",
        "__log_of(float x)",
    ] {
        assert!(text.contains(wanted), "{wanted} is not in {text}");
    }
}

#[test]
fn a_header_beside_the_file_is_read_however_it_is_included() {
    let header = |wanted: &Wanted| {
        let found = Header {
            name: "u.h".to_owned(),
            text: "#define TWO 2\n".to_owned(),
            is_guess: false,
        };
        (wanted.name == "u.h")
            .then_some(found)
            .ok_or(Absent::Nowhere)
    };
    let source = "#include <u.h>\n#include <vector>\n#include \"cuda_runtime.h\"\n#include \"cublas_v2.h\"\n#include \"gone.h\"\n\
                  __global__ void s(float* y, int n) { y[threadIdx.x] = TWO; }\n";
    let published = Published::read("a.cu", source, &header);
    let made = published.problem(&["s".to_owned()], "a", "a.cu").unwrap();
    assert!(file(&made, "kernel.cu").contains("#define TWO 2"));
    let missing = made
        .notes
        .iter()
        .filter(|note| note.contains("the published file: gone.h. What"));
    assert_eq!(missing.count(), 1, "{:?}", made.notes);
}

#[test]
fn any_text_is_read_without_a_panic() {
    // Braces that two branches open, and one that nobody closes.
    for source in [
        "namespace f {\n__global__ void s(float* y, int n) {\n#ifdef X\n if (n) {\n#else\n if (n > 1) {\n#endif\n y[0] = 1; }\n}\n}  // namespace f\n",
        "namespace f {\n__global__ void s(float* y, int n) { y[0] = n; }\n",
    ] {
        let published = Published::read("a.cu", source, &|_| Err(Absent::Nowhere));
        for (kernel, _) in published.kernels() {
            let _ = published.problem(&[kernel], "a", "a.cu");
        }
    }
    let whole = "template <class T> __global__ void k(T* x, int n) { x[n - 1] = 1; }\nvoid f() { k<float><<<dim3(1, 2), {3}>>>(x, (int)n); }";
    for end in 0..whole.len() {
        let published = Published::read("a.cu", &whole[..end], &|_| Err(Absent::Nowhere));
        for (kernel, _) in published.kernels() {
            let _ = published.problem(&[kernel], "a", "a.cu");
        }
    }
    // Structs that end early, hold themselves, or have more cells than a number can count.
    for fields in [
        "P p; };",
        "float x[999999999][999999999]; };",
        "int a : 3; float",
        "};",
        ": P {",
        "enum { A",
    ] {
        let source = format!(
            "struct P {{ float* y; {fields}\n__global__ void k(P p, P* q, void* r) {{ p.y[0] = ((P*)r)[0].x; q->x = 1; }}\n"
        );
        let published = Published::read("a.cu", &source, &|_| Err(Absent::Nowhere));
        let _ = published.problem(&["k".to_owned()], "a", "a.cu");
    }
}

//! From a published file to a problem: a .cu with host code in, a folder out that builds.

use crate::lab::Lab;
use serde_json::json;
use std::fs;

/// Two kernels, the function that checks them, and a main.
pub const ROWS: &str = r#"// Copyright of somebody
#include <cuda_runtime.h>
#include <stdio.h>
#include "tools.h"

#define THREADS 128

// What is right.
void row_scale_cpu(float* out, const float* in, const float* gain, float bias, int rows, int cols) {
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++) out[r * cols + c] = in[r * cols + c] * gain[c] + bias;
}

__global__ void row_scale_naive(float* out, const float* in, const float* gain, float bias, int rows, int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols) out[i] = apply(in[i], gain[i % cols], bias);
}

template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK) row_scale_kernel(T* __restrict__ out, const T* __restrict__ in,
                                                          const T* __restrict__ gain, int rows, int cols, T bias) {
    const T* x = in + blockIdx.x * cols;
    for (int c = threadIdx.x; c < cols; c += BLOCK) out[blockIdx.x * cols + c] = apply(x[c], gain[c], bias);
}

void row_scale(float* d_out, float* d_in, float* d_gain, int n, int width, float bias) {
    const int grid = n;
    dim3 block(THREADS);
    row_scale_kernel<float, THREADS><<<grid, block>>>(d_out, d_in, d_gain, n, width, bias);
}

int main(int argc, char** argv) {
    float* d_in;
    cudaMalloc(&d_in, 1024);
    row_scale_naive<<<(64 * 64 + 255) / 256, 256>>>(0, d_in, 0, 1.0f, 64, 64);
    return 0;
}
"#;

const TOOLS: &str = "#ifndef TOOLS_H\n#define TOOLS_H\n#include <iostream>\n\n\
    __device__ inline float apply(float x, float gain, float bias) { return x * gain + bias; }\n\n\
    inline void complain() { std::cout << \"no\"; }\n#endif\n";

/// An extension for PyTorch whose functions a macro makes.
const EXTENSION: &str = r#"#include <cuda_fp16.h>
#include <torch/extension.h>

// y = 2 x
__global__ void twice_f32_kernel(float* x, float* y, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[i] = 2.0f * x[i];
}

#define BIND_TWICE(type, element)                                   \
  void twice_##type(torch::Tensor x, torch::Tensor y) {             \
    int N = x.numel();                                              \
    dim3 block(256);                                                \
    dim3 grid((N + 256 - 1) / 256);                                 \
    twice_##type##_kernel<<<grid, block>>>(                         \
        reinterpret_cast<element*>(x.data_ptr()),                   \
        reinterpret_cast<element*>(y.data_ptr()), N);               \
  }

BIND_TWICE(f32, float)

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("twice_f32", &twice_f32, ""); }
"#;

fn with_rows() -> Lab {
    let lab = Lab::empty();
    lab.write("lab.toml", "device = \"cpu\"\n");
    lab.write("rows.cu", ROWS);
    lab.write("tools.h", TOOLS);
    lab
}

#[test]
fn a_file_with_several_kernels_becomes_a_problem_that_passes() {
    let lab = with_rows();
    lab.lab("init rows.cu")
        .is(1)
        .says("rows.cu has 2 kernels: row_scale_naive (line 14), row_scale_kernel (line 19). Name one: `lab init rows.cu --entry row_scale_naive`, or those that are launched in turn: `--entry A,B`");
    lab.lab("init rows.cu --entry row_scale_kernl")
        .is(1)
        .says("did you mean row_scale_kernel?");
    lab.lab("init rows.cu --entry row_scale_kernel")
        .is(0)
        .says("wrote row_scale/kernel.cu for row_scale_kernel of rows.cu: problem.toml, kernel.cu, reference.cu")
        .says("reference.cu calls row_scale_cpu of the published file, on one thread")
        .says("left out of kernel.cu, by line: 9–17 row_scale_cpu, row_scale_naive; 26–37 row_scale, main")
        .says("next: `lab run row_scale` judges the kernel once");
    // The entry has the order of problem.toml and the kernel its own; the launch is the host's.
    let kernel = lab.read("row_scale/kernel.cu");
    for text in [
        "// Copyright of somebody",
        "extern \"C\" __global__ void __launch_bounds__(THREADS) row_scale(float* out, const float* in, const float* gain, float bias, int rows, int cols)",
        "row_scale_kernel<float, THREADS>(out, in, gain, rows, cols, bias);",
        "// rows.cu, line 29: row_scale_kernel<<<",
        "launch.grid[0] = dims.rows;",
        "launch.block[0] = THREADS;",
    ] {
        assert!(kernel.contains(text), "{text} is not in {kernel}");
    }
    for text in ["main", "iostream", "complain", "naive"] {
        assert!(!kernel.contains(text), "{text} is in {kernel}");
    }
    let problem = lab.read("row_scale/problem.toml");
    assert!(
        problem.contains("shape = [\"rows\", \"cols\"]") && problem.contains("shape = [\"cols\"]")
    );
    assert_eq!(lab.read("rows.cu"), ROWS);
    lab.lab("run row_scale").is(0).says("PASS");
    // A wrong kernel is found.
    lab.write(
        "row_scale/kernel.cu",
        kernel.replace("gain[c], bias)", "gain[c], 0.0f)"),
    );
    lab.lab("run row_scale").is(1);
}

#[test]
fn the_second_kernel_of_a_file_gets_a_folder_of_its_own() {
    let lab = with_rows();
    let made = lab
        .lab("init rows.cu --entry row_scale_naive --name kernels/first --json")
        .is(0)
        .json();
    assert_eq!(
        (&made["kernel"], &made["function"], &made["config"]),
        (
            &json!("kernels/first/kernel.cu"),
            &json!("row_scale_naive"),
            &json!(null)
        )
    );
    assert_eq!(
        made["next"],
        json!(["lab run kernels/first", "lab kernels/first"])
    );
    let kernel = lab.read("kernels/first/kernel.cu");
    assert!(
        kernel.contains("extern \"C\" __global__ void row_scale_naive(float* out"),
        "{kernel}"
    );
    assert!(
        kernel.contains("launch.grid[0] = (64 * 64 + 255) / 256;"),
        "{kernel}"
    );
    lab.lab("init rows.cu --entry row_scale_naive --name kernels/first")
        .is(1)
        .says("kernels/first exists already and was not changed")
        .says("--name");
}

#[test]
fn an_extension_pasted_as_kernel_cu_stays_and_its_problem_gets_a_folder() {
    let lab = Lab::empty();
    fs::create_dir(lab.path("twice")).unwrap();
    lab.write("twice/kernel.cu", EXTENSION);
    lab.lab("init twice/kernel.cu")
        .is(0)
        .says("wrote twice_f32/kernel.cu for twice_f32_kernel of twice/kernel.cu")
        .says("next: write reference.cu, which says what is right, then `lab run twice_f32`");
    assert_eq!(lab.read("twice/kernel.cu"), EXTENSION);
    let kernel = lab.read("twice_f32/kernel.cu");
    assert!(!kernel.contains("torch"), "{kernel}");
    assert!(
        kernel.contains("launch.grid[0] = (dims.N + 256 - 1) / 256;"),
        "{kernel}"
    );
    // The frame of the reference passes nothing in silence.
    lab.lab("run twice_f32 --device cpu")
        .is(64)
        .says("NOT JUDGED")
        .says("reference.cu is not written yet: compute y here");
    let reference = lab.read("twice_f32/reference.cu");
    let lines = reference.lines().filter(|line| !line.starts_with("#error"));
    let text = lines.collect::<Vec<&str>>().join("\n");
    lab.write(
        "twice_f32/reference.cu",
        text.replace("// y[i] = …;", "y[i] = 2.0 * x[i];"),
    );
    lab.lab("run twice_f32 --device cpu").is(0).says("PASS");
}

/// A repository with a kernel and a harness of the user's own, which git does not hold yet.
#[test]
fn a_kernel_that_a_harness_of_ones_own_builds_stays_as_it_is() {
    let lab = Lab::empty();
    lab.write("kernel.cu", ROWS);
    lab.write("tools.h", TOOLS);
    lab.write(
        "Makefile",
        "judge: judge.cpp kernel.cu\n\tnvcc -o judge judge.cpp kernel.cu\n",
    );
    lab.write("judge.cpp", "int main() {}\n");
    let before = lab.git("status --porcelain");
    lab.lab("init")
        .is(0)
        .says("wrote lab.toml: kernel kernel.cu")
        .says("  harness: none yet\n")
        .says("Makefile is here, so a harness of your own judges kernel.cu")
        .says("next: set `harness` in lab.toml (`lab help your-own-harness`), then `lab trust`");
    assert_eq!(lab.read("kernel.cu"), ROWS);
    let after = lab.git("status --porcelain");
    assert_eq!(after.replace("?? lab.toml\n", ""), before);
    assert!(
        lab.read("lab.toml")
            .contains("# harness = \"make -s && ./judge\"\n")
    );
    // Who names the file means the kernel in it, which gets a folder.
    lab.lab("init kernel.cu --entry row_scale_kernel")
        .is(0)
        .says("wrote row_scale/kernel.cu");
    assert_eq!(lab.read("kernel.cu"), ROWS);
}

#[test]
fn a_published_file_that_is_judged_as_it_is_gets_advice() {
    let lab = Lab::empty();
    lab.lab("new twice").is(0);
    lab.write("twice/kernel.cu", EXTENSION);
    lab.lab("run twice --device cpu")
        .is(2)
        .says("twice/kernel.cu:2: #include <torch/extension.h> is code of the host")
        .says("`lab init twice/kernel.cu --name NEW` writes a problem NEW without it");
    lab.lab("init twice/kernel.cu --name mine")
        .is(0)
        .says("wrote mine/kernel.cu");
    assert_eq!(lab.read("twice/kernel.cu"), EXTENSION);
}

/// Blocks of 4-bit numbers behind a `void*`, in a struct with an enumeration and what only the host knows.
const BLOCKS: &str = r"#include <cuda_fp16.h>
#include <cstdint>
#define QK 8

typedef struct {
    half scale;
    uint8_t packed[QK / 2];
} block_t;
enum class Act { Relu = 3, None };

struct Quantised { const void* blocks; int count; cudaStream_t stream; };
struct Params : public Quantised { float* __restrict__ out; Act act; };

__global__ void unpack_kernel(const __grid_constant__ Params params) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= params.count) return;
    const block_t* block = reinterpret_cast<const block_t*>(params.blocks) + i;
    float* out = params.out + i * QK;
    for (int k = 0; k < QK / 2; k++) {
        float low = __half2float(block->scale) * ((block->packed[k] & 15) - 8);
        float high = __half2float(block->scale) * ((block->packed[k] >> 4) - 8);
        out[2 * k] = params.act == Act::Relu ? fmaxf(low, 0.0f) : low;
        out[2 * k + 1] = params.act == Act::Relu ? fmaxf(high, 0.0f) : high;
    }
}

void unpack(const void* blocks, float* out, int64_t n, cudaStream_t stream) {
    Params params;
    params.blocks = blocks; params.out = out; params.count = n / QK; params.act = Act::None; params.stream = stream;
    unpack_kernel<<<(params.count + 127) / 128, 128, 0, params.stream>>>(params);
}
";

/// What is right for it.
const UNPACKED: &str = "    const unsigned char* block = blocks + i / 8 * 6;\n    unsigned short bits = block[0] | block[1] << 8;\n\
    __half scale;\n    memcpy(&scale, &bits, 2);\n    int pair = block[2 + i % 8 / 2];\n\
    double y = (float)scale * ((i % 2 ? pair >> 4 : pair & 15) - 8);\n    out[i] = act == 3 && y < 0 ? 0 : y;\n";

#[test]
fn a_struct_of_parameters_with_packed_blocks_becomes_a_problem() {
    let lab = Lab::empty();
    lab.write("unpack.cu", BLOCKS);
    lab.lab("init unpack.cu")
        .is(0)
        .says("wrote unpack/kernel.cu");
    let problem = lab.read("unpack/problem.toml");
    for wanted in [
        "type = \"u8\"\nshape = [\"6 * count\"]\n# A guess: the bytes of block_t, 6 in each.",
        "shape = [\"8 * count\"]",
        "value = 3  # Relu of Act",
    ] {
        assert!(problem.contains(wanted), "{wanted} is not in {problem}");
    }
    let kernel = lab.read("unpack/kernel.cu");
    for wanted in [
        "extern \"C\" __global__ void unpack(const unsigned char* blocks, float* out, int act, int count) {\n    Params params{};\n",
        "    params.act = (Act)act;\n    unpack_kernel(params);\n}",
        "launch.grid[0] = (dims.count + 127) / 128;",
    ] {
        assert!(kernel.contains(wanted), "{wanted} is not in {kernel}");
    }
    assert!(!kernel.contains("cudaStream_t"), "{kernel}");
    let frame = lab.read("unpack/reference.cu");
    let lines = frame.lines().filter(|line| !line.starts_with("#error"));
    let written = lines.collect::<Vec<&str>>().join("\n");
    let written = written.replace("    // out[i] = …;\n", UNPACKED);
    lab.write(
        "unpack/reference.cu",
        format!("#include <cuda_fp16.h>\n#include <cstring>\n{written}"),
    );
    lab.lab("run unpack --device cpu").is(0).says("PASS");
    lab.write("unpack/kernel.cu", kernel.replace("& 15) - 8", "& 15) - 7"));
    lab.lab("run unpack --device cpu").is(1).says("FAIL");
}

/// Sums of rows in two launches: the second adds what the blocks of the first found.
const TWO_PASSES: &str = r"#include <cuda_runtime.h>
#define BLOCK 64

template <int THREADS>
__global__ void partial_sums(const float* in, float* partial, int rows, int cols, int parts) {
    __shared__ float sums[THREADS];
    int row = blockIdx.y, c = blockIdx.x * THREADS + threadIdx.x;
    sums[threadIdx.x] = c < cols ? in[row * cols + c] : 0.0f;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[row * parts + blockIdx.x] = sums[0];
}

__global__ void add_parts(const float* parts_in, float* out, int rows, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = 0; i < n; i++) sum += parts_in[row * n + i];
    out[row] = sum;
}

void row_sums(const float* d_in, float* d_partial, float* d_out, int rows, int cols, int parts) {
    partial_sums<BLOCK><<<dim3(parts, rows), BLOCK>>>(d_in, d_partial, rows, cols, parts);
    add_parts<<<(rows + 127) / 128, 128>>>(d_partial, d_out, rows, parts);
}
";

/// What is right for it.
const ROW_SUMS: &str = "    double sum = 0.0;\n    for (int c = 0; c < cols; c++) sum += in[i * cols + c];\n    out[i] = sum;\n";

#[test]
fn kernels_that_are_launched_in_turn_become_one_list_of_launches() {
    let lab = Lab::empty();
    lab.write("row_sums.cu", TWO_PASSES);
    lab.lab("init row_sums.cu --entry add_parts --name second")
        .is(0)
        .says("launches partial_sums, add_parts in turn: `--entry partial_sums,add_parts` makes one problem of them");
    lab.lab("init row_sums.cu --entry partial_sums,add_parts")
        .is(0)
        .says("wrote row_sums/kernel.cu for partial_sums, add_parts of row_sums.cu")
        .says(
            "problem.toml: partial is not compared, because only a later kernel reads it: a guess",
        );
    let kernel = lab.read("row_sums/kernel.cu");
    for wanted in [
        "extern \"C\" __global__ void partial_sums_entry(const float* in, float* partial, float* out, int rows, int cols, int parts, void*)",
        "    partial_sums<BLOCK>(in, partial, rows, cols, parts);",
        "    add_parts(partial, out, rows, parts);",
        "LAB_LAUNCHES(row_sums) {",
        "        LabShape& launch = launches.add(\"partial_sums_entry\");",
        "        launch.grid[1] = dims.rows;",
        "        LabShape& launch = launches.add(\"add_parts_entry\");",
    ] {
        assert!(kernel.contains(wanted), "{wanted} is not in {kernel}");
    }
    // A person says how the number of parts follows, and what is right.
    let problem = lab.read("row_sums/problem.toml");
    let (head, _) = problem.split_once("[[workload]]").unwrap();
    let workload = "[[workload]]\ndims = { rows = 70, cols = 150, parts = 3 }\n";
    lab.write("row_sums/problem.toml", format!("{head}{workload}"));
    let frame = lab.read("row_sums/reference.cu");
    let lines: Vec<&str> = frame
        .lines()
        .filter(|line| !line.starts_with("#error"))
        .collect();
    let written = lines.join("\n").replace("    // out[i] = …;\n", ROW_SUMS);
    lab.write("row_sums/reference.cu", &written);
    lab.lab("run row_sums --device cpu").is(0).says("PASS");
    let wrong = kernel.replace("i < n; i++", "i < n - 1; i++");
    lab.write("row_sums/kernel.cu", &wrong);
    lab.lab("run row_sums --device cpu").is(1).says("FAIL");
}

#[test]
fn what_no_problem_can_hold_is_refused_by_its_name() {
    let lab = Lab::empty();
    lab.write(
        "a.cu",
        "struct P {\n  double* x; int n;\n  float taps[5];\n};\n__global__ void k(P p) { p.x[0] = p.n * p.taps[1]; }\n",
    );
    lab.lab("init a.cu")
        .is(1)
        .says("no problem can be written for a.cu: line 3: the parameter `p.taps` has the type `float[5]`");
    lab.write("a.cu", "int main() { return 0; }\n");
    lab.lab("init a.cu --entry k")
        .is(1)
        .says("it has no `__global__` function with a body");
}

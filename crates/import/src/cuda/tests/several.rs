//! Several kernels in turn, and the rows of a tensor.

use super::*;

const PARTS: &str = "__global__ void partial(const float* x, float* part, int n) {\n\
    float v = 0; for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];\n\
    if (threadIdx.x == 0) part[blockIdx.x] = v;\n}\n\
    __global__ void finish(const float* part, float* out, int parts) {\n\
    float v = 0; for (int i = threadIdx.x; i < parts; i += 32) v += part[i];\n if (threadIdx.x == 0) *out = v;\n}\n";

fn in_turn(text: &str, kernels: [&str; 2]) -> Problem {
    let published = Published::read("a.cu", text, &|_| Err(Absent::Nowhere));
    let kernels = kernels.map(str::to_owned);
    published.problem(&kernels, "a", "a.cu").unwrap()
}

#[test]
fn a_variable_of_the_host_is_one_dimension_in_both_launches() {
    let host = "int main() { int n = 1 << 24; int blocks = 1024;\n\
                partial<<<blocks, 256>>>(x, p, n);\n finish<<<1, 32>>>(p, o, blocks); }\n";
    let made = in_turn(&format!("{PARTS}{host}"), ["partial", "finish"]);
    let text = file(&made, "kernel.cu");
    assert!(text.contains("launch.grid[0] = dims.parts;"), "{text}");
    let problem = file(&made, "problem.toml");
    assert!(
        problem.contains("name = \"p\"\nrole = \"out\"\ntype = \"f32\"\nshape = [\"parts\"]")
            || problem
                .contains("name = \"part\"\nrole = \"out\"\ntype = \"f32\"\nshape = [\"parts\"]"),
        "{problem}"
    );
    assert!(
        problem.contains("dims = { n = 64, parts = 128 }"),
        "{problem}"
    );
}

#[test]
fn a_constant_of_the_file_is_one_value_in_both_launches() {
    let host = "#define BLOCKS 512\nint main() { int n = 1 << 24;\n\
                partial<<<BLOCKS, 256>>>(x, p, n);\n finish<<<1, 32>>>(p, o, BLOCKS); }\n";
    let made = in_turn(&format!("{PARTS}{host}"), ["partial", "finish"]);
    let text = file(&made, "kernel.cu");
    assert!(text.contains("launch.grid[0] = BLOCKS;"), "{text}");
    let problem = file(&made, "problem.toml");
    assert!(
        problem.contains("parts = 512 }") && !problem.contains("parts = 64"),
        "{problem}"
    );
}

#[test]
fn a_number_of_threads_that_one_kernel_gets_is_that_of_the_other_too() {
    let source = "__global__ void sums(float* s, const float* x, int n, int c, int block_size) {\n\
        for (int i = threadIdx.x; i < c; i += block_size) s[blockIdx.x] += x[blockIdx.x * c + i];\n}\n\
        __global__ void scale(float* y, const float* x, const float* s, int n, int c) {\n\
        int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n * c) y[i] = x[i] / s[i / c];\n}\n\
        void run(float* y, float* x, float* s, int n, int c, const int block_size) {\n\
        sums<<<n, block_size, block_size * sizeof(float)>>>(s, x, n, c, block_size);\n\
        const int grid = CEIL_DIV(n * c, block_size);\n scale<<<grid, block_size>>>(y, x, s, n, c); }\n";
    let made = in_turn(source, ["sums", "scale"]);
    let text = file(&made, "kernel.cu");
    assert_eq!(
        text.matches("launch.block[0] = dims.block_size;").count(),
        2,
        "{text}"
    );
    assert!(!text.contains("const int block_size"), "{text}");
    let problem = file(&made, "problem.toml");
    assert_eq!(
        problem.matches("block_size = 256 }").count(),
        3,
        "{problem}"
    );
    assert!(
        problem.contains("# A guess: block_size, the number of threads in a block."),
        "{problem}"
    );
}

/// Rows that lie `input_stride` numbers apart, and a class of CUB.
const NORM: &str = "#include <cub/cub.cuh>\n\
    template <typename T> __global__ void norm(T* out, const T* input, const int64_t input_stride, const int num_tokens, const int hidden) {\n\
    for (int i = threadIdx.x; i < hidden; i += blockDim.x) {\n\
    out[blockIdx.x * hidden + i] = input[blockIdx.x * input_stride + i]; }\n\
    using Reduce = cub::BlockReduce<float, 1024>; __shared__ typename Reduce::TempStorage store;\n}\n\
    void f(torch::Tensor& out, torch::Tensor& input) { int hidden = input.size(-1); int num_tokens = input.numel() / hidden;\n\
    int64_t input_stride = input.stride(-2); dim3 grid(num_tokens); dim3 block(std::min(hidden, 1024));\n\
    norm<scalar_t><<<grid, block>>>(out.data_ptr<scalar_t>(), input.data_ptr<scalar_t>(), input_stride, num_tokens, hidden); }\n";

#[test]
fn the_distance_of_two_rows_is_their_number_of_columns() {
    assert_eq!(
        tensors(NORM),
        [
            "out out f32 [num_tokens, hidden]",
            "in input f32 [num_tokens, hidden]"
        ]
    );
    let problem = file(&problem(NORM), "problem.toml");
    for wanted in [
        "dims = [\"num_tokens\", \"hidden\"]",
        "name = \"input_stride\"\ntype = \"i64\"\nvalue = \"hidden\"",
        "dims = { num_tokens = 64, hidden = 128 }",
    ] {
        assert!(problem.contains(wanted), "{wanted} is not in {problem}");
    }
}

#[test]
fn all_of_cub_becomes_the_headers_of_its_classes() {
    let made = problem(NORM);
    let text = file(&made, "kernel.cu");
    assert!(
        text.contains("#include <cub/block/block_reduce.cuh>\n") && !text.contains("cub/cub.cuh"),
        "{text}"
    );
    let note = "NVRTC refuses cub/cub.cuh: kernel.cu has cub/block/block_reduce.cuh in its place";
    assert!(
        made.notes.iter().any(|said| said == note),
        "{:?}",
        made.notes
    );
    let sorts = NORM.replace(
        "cub::BlockReduce<float, 1024>",
        "cub::BlockRadixSort<float, 1024, 1>",
    );
    assert!(kernel(&sorts).contains("#include <cub/block/block_radix_sort.cuh>\n"));
}

#[test]
fn no_workload_is_larger_than_lab_takes() {
    let square = "__global__ void k(float* y, const float* x, int n) {\n\
                  int i = blockIdx.x; for (int j = threadIdx.x; j < n; j += 256) y[i * n + j] = x[j * n + i];\n}\n\
                  void f(float* y, float* x, int n) { k<<<n, 256>>>(y, x, n); }\n";
    let problem = file(&problem(square), "problem.toml");
    assert!(problem.contains("shape = [\"n\", \"n\"]"), "{problem}");
    let sizes: Vec<&str> = problem
        .lines()
        .filter_map(|line| line.strip_prefix("dims = { n = "))
        .collect();
    assert_eq!(sizes, ["256 }", "8192 }"]);
}

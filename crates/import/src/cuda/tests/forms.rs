//! Forms of published files that are rarer than the usual ones.

use super::*;

const COPY: &str = "__global__ void copy(const float* x, float* y, int n) {\n\
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i]; }\n";

fn says(text: &str, wanted: &[&str]) {
    for wanted in wanted {
        assert!(text.contains(wanted), "{wanted} is not in {text}");
    }
}

fn notes(text: &str) -> String {
    problem(text).notes.join("\n")
}

#[test]
fn a_kernel_behind_a_specialisation_is_seen_and_so_is_the_launch_in_it() {
    let text = "template <typename T> void run(const T* x, T* y, int n);\n__global__ void first(float* y, int n) { y[0] = n; }\n\
                template <>\nvoid run<float>(const float* x, float* y, int n) { copy<<<(n + 63) / 64, 64>>>(x, y, n); }\n";
    let text = format!("{text}{COPY}");
    let published = Published::read("a.cu", &text, &|_| Err(Absent::Nowhere));
    let names: Vec<String> = published
        .kernels()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["first", "copy"]);
    says(&kernel(&text), &["launch.block[0] = 64;"]);
}

#[test]
fn a_kernel_of_a_macro_or_a_struct_is_named_as_unread() {
    let text = format!(
        "#define MAKE(NAME) __global__ void NAME##_k(float* y) {{ y[0] = 1; }}\nstruct Op {{ static __global__ void neg(float* y) {{ y[0] = 2; }} }};\n\
         {COPY}void f(float* x, float* y, int n) {{ copy<<<n, 32>>>(x, y, n); Op::neg<<<1, 1>>>(y); }}\n"
    );
    let published = Published::read("a.cu", &text, &|_| Err(Absent::Nowhere));
    assert_eq!(
        published.unread(),
        [
            "the macro MAKE (line 1) makes one",
            "neg lies in Op (line 2)"
        ]
    );
    assert!(!notes(&text).contains("--entry"), "{}", notes(&text));
}

#[test]
fn a_pointer_that_is_passed_on_has_a_shape_that_is_a_guess() {
    let view = "struct View { const float* d; int w; __device__ View(const float* d, int w) : d(d), w(w) {} };\n\
                struct Out { float* d; };\n__device__ float at(const float* p, int i) { return p[i]; }\n\
                __global__ void k(const float* x, const float* z, float* w, float* y, int rows, int cols) {\n\
                int c = threadIdx.x, r = blockIdx.x; View v(x, cols); Out o{w};\n if (z) o.d[0] = at(z, r);\n\
                if (r < rows && c < cols) y[r * cols + c] = v.d[c]; }\n\
                void f(float* x, float* y, int rows, int cols) { k<<<rows, cols>>>(x, x, y, y, rows, cols); }\n";
    says(
        &notes(view),
        &[
            "the shape of x, z, w is a guess",
            "the role of w is a guess",
        ],
    );
    let problem = file(&problem(view), "problem.toml");
    says(
        &problem,
        &["# The shape and the role are guesses.\n[[tensor]]\nname = \"w\"\nrole = \"out\"\n"],
    );
    assert!(!problem.contains("shape = [1]"), "{problem}");
}

#[test]
fn a_guessed_launch_is_over_what_bounds_the_indices() {
    let text = "__global__ void mm(int B, int N, int M, const float* x, int x_stride, float* y, int y_stride) {\n\
                int i = blockIdx.x * blockDim.x + threadIdx.x; int k = blockIdx.y * blockDim.y + threadIdx.y;\n\
                if (i < B && k < M) { float s = 0; for (int j = 0; j < N; ++j) s += x[i * x_stride + j]; y[i * y_stride + k] = s; } }\n";
    assert_eq!(tensors(text), ["in x f32 [B, N]", "out y f32 [B, M]"]);
    says(
        &kernel(text),
        &[
            "(dims.B + 15) / 16;",
            "(dims.M + 15) / 16;",
            "block[1] = 16;",
        ],
    );
    // Threads in one direction alone.
    let rows = "__global__ void s(const float* x, float* y, int rows, int cols) {\n\
                int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y; if (c < cols && r < rows) y[r * cols + c] = x[r * cols + c]; }\n";
    let text = kernel(rows);
    says(
        &text,
        &[
            "(dims.cols + 255) / 256;",
            "grid[1] = dims.rows;",
            "block[0] = 256;",
        ],
    );
    assert!(!text.contains("block[1]"), "{text}");
}

#[test]
fn a_grid_is_kept_where_only_the_block_is_unknown() {
    let text = kernel(
        "template <int BLOCK> __global__ void rows(const float* x, float* y, int b, int n) { y[blockIdx.x] = x[blockIdx.x * n]; }\n\
         void f(float* x, float* y, int b, int n) { int t = pick(n); rows<512><<<b, t>>>(x, y, b, n); }\n",
    );
    says(
        &text,
        &[
            "const int block_threads = 512;  // a guess",
            "launch.grid[0] = dims.b;",
            "launch.block[0] = block_threads;",
        ],
    );
}

#[test]
fn host_names_in_a_launch_are_replaced_by_what_they_are() {
    let launched = |before: &str, body: &str| {
        kernel(&format!(
            "{before}{COPY}void f(float* x, float* y, int n) {{ {body} }}\n"
        ))
    };
    let global = launched(
        "int block = 128;\nint grid;\n",
        "grid = (n + block - 1) / block; copy<<<grid, block>>>(x, y, n);",
    );
    says(
        &global,
        &[
            "launch.grid[0] = (dims.n + 128 - 1) / 128;",
            "launch.block[0] = 128;",
        ],
    );
    let again = launched(
        "",
        "int blocks = n / 256; if (n % 256 != 0) { blocks = blocks + 1; } copy<<<blocks, 256>>>(x, y, n);",
    );
    says(
        &again,
        &[
            "launch.grid[0] = (dims.n / 256) + 1;",
            "sets blocks in several ways",
        ],
    );
    let qualified = launched(
        "",
        "const int blocks = at::cuda::ATenCeilDiv(n, 64); copy<<<blocks, 64>>>(x, y, n);",
    );
    says(
        &qualified,
        &["launch.grid[0] = ((dims.n) + (64) - 1) / (64);"],
    );
    let own = kernel(
        "template <typename T, int U> __global__ void k(const T* x, T* y, int n) { int i = threadIdx.x * U; if (i < n) y[i] = x[i]; }\n\
         template <typename V> void f(V* x, V* y, int n) { constexpr int U = 16 / sizeof(V); k<V, U><<<n / U, 256>>>(x, y, n); }\n",
    );
    says(&own, &["(16 / sizeof(float))>(x, y, n);"]);
    let runtime = "cudaLaunchKernel((void*)copy, 1, 1, 0, 0, 0);";
    says(
        &launched("", runtime),
        &["launch.grid[0] = 1;", "launch.block[0] = 1;"],
    );
}

#[test]
fn an_explicit_instantiation_says_the_arguments_of_the_template() {
    let text = "template <typename T, int N> __global__ void k(const T* x, T* y, int n) { int i = threadIdx.x; if (i < n) y[i] = x[i] * N; }\n\
                template __global__ void k<double, 8>(const double* x, double* y, int n);\n";
    says(&kernel(text), &["k<double, 8>(x, y, n);"]);
}

#[test]
fn what_kernel_cu_needs_to_compile_stays() {
    let open = format!(
        "\u{feff}namespace inner {{ __device__ float twice(float x) {{ return 2 * x; }} }}\nusing namespace inner;\n{}",
        COPY.replace("x[i];", "twice(x[i]);")
    );
    let text = kernel(&open);
    says(&text, &["using namespace inner;", "float twice("]);
    assert!(!text.contains('\u{feff}'));
    let fields = kernel(
        "struct P { float* const y; const float* const x; const int n; };\n\
         __global__ void k(P p) { int i = threadIdx.x; if (i < p.n) p.y[i] = p.x[i]; }\n",
    );
    says(&fields, &["struct P { float* y; const float* x; int n; };"]);
    let branches = format!(
        "#if 0\n__global__ void old(float* y, int n) {{ y[0] = n; }}\n#endif\n#if defined(FAST) && __CUDA_ARCH__ >= 700\n{}#else\n{COPY}#endif\n",
        COPY.replace("x[i];", "fast(x[i]);")
    );
    assert_eq!(
        Published::read("a.cu", &branches, &|_| Err(Absent::Nowhere))
            .kernels()
            .len(),
        1
    );
    assert!(
        !kernel(&branches).contains("fast("),
        "{}",
        kernel(&branches)
    );
}

#[test]
fn a_list_of_main_cu_has_an_entry_that_may_have_its_name() {
    let text = format!("{COPY}{}", COPY.replace("copy", "again"));
    let published = Published::read("main.cu", &text, &|_| Err(Absent::Nowhere));
    let names = ["copy".to_owned(), "again".to_owned()];
    let made = published.problem(&names, "main", "main.cu").unwrap();
    says(&file(&made, "problem.toml"), &["entry = \"main_entry\""]);
}

#[test]
fn memory_that_only_the_host_fills_is_left_to_do() {
    let constant = "__constant__ float filter[3];\n__global__ void k(float* y, int n) { int i = threadIdx.x; if (i < n) y[i] = filter[0]; }\n\
                    void f(float* y, float* h, int n) { cudaMemcpyToSymbol(filter, h, 12); k<<<1, 32>>>(y, n); }\n";
    says(
        &notes(constant),
        &["copies values into filter (cudaMemcpyToSymbol)"],
    );
    says(
        &file(&problem(constant), "reference.cu"),
        &["Compute y in the plainest way"],
    );
    let texture = "texture<float, 1, cudaReadModeElementType> cells;\n\
                   __global__ void k(float* y, int n) { int i = threadIdx.x; if (i < n) y[i] = tex1Dfetch(cells, i); }\n";
    says(
        &notes(texture),
        &["cells is a texture reference, which CUDA has removed"],
    );
}

#[test]
fn the_smallest_workload_is_one_that_lab_takes() {
    let names: Vec<String> = (0..12).map(|at| format!("d{at}")).collect();
    let bounds: String = names
        .iter()
        .map(|name| format!("if (i < {name}) "))
        .collect();
    let parameters: String = names.iter().map(|name| format!(", int {name}")).collect();
    let text = format!(
        "__global__ void k(const float* x, float* y{parameters}) {{ int i = x[threadIdx.x]; {bounds} y[(int)x[i]] = 1; }}\n"
    );
    assert_eq!(tensors(&text)[1], "out y f32 [d0, d1, d2]");
}

#[test]
fn an_attribute_of_a_parameter_is_no_array() {
    let text = COPY.replace(
        "const float* x, ",
        "[[maybe_unused]] const float* x, [[maybe_unused]] ",
    );
    assert_eq!(tensors(&text), ["in x f32 [n]", "out y f32 [n]"]);
}

#[test]
fn a_launch_with_a_gap_in_its_signs_is_read() {
    let text = kernel(
        "__global__ void k(const float* x, float* y, int n) { int i = blockIdx.x * 64 + threadIdx.x; if (i < n) y[i] = x[i]; }\n\
         void f(const float* x, float* y, int n) { k << <(n + 63) / 64, 64 >> > (x, y, n); }\n",
    );
    assert!(
        text.contains("launch.grid[0] = (dims.n + 63) / 64;"),
        "{text}"
    );
    assert!(text.contains("launch.block[0] = 64;"), "{text}");
    assert!(!text.contains("guess"), "{text}");
}

#[test]
fn what_the_runtime_fills_is_not_what_a_variable_was_set_to_before() {
    let kernel_of = |fill: &str| {
        kernel(&format!(
            "__global__ void k(const float* x, float* y, int n) {{ for (int i = blockIdx.x; i < n; i += gridDim.x) y[i] = x[i]; }}\n\
             void f(const float* x, float* y, int n, int many = -1) {{ int threads = 0; {fill} k<<<many, threads>>>(x, y, n); }}\n"
        ))
    };
    let asked = kernel_of(
        "if (many == -1) cudaDeviceGetAttribute(&many, cudaDevAttrMultiProcessorCount, 0);\n\
         cudaOccupancyMaxPotentialBlockSize(&least, &threads, k, 0, 0);",
    );
    assert!(asked.contains("launch.grid[0] = device.sms;"), "{asked}");
    assert!(
        asked.contains("const int threads = 256;  // a guess: the host code does not say it"),
        "{asked}"
    );
    // The default of a parameter is one of several values.
    let default = kernel_of("threads = 64;");
    assert!(
        default.contains("sets many") || default.contains("many, "),
        "{default}"
    );
}

#[test]
fn the_multiprocessors_of_the_device_s_properties_are_those_of_the_device() {
    let text = kernel(
        "__global__ void k(const float* x, float* y, int n) { for (int i = blockIdx.x; i < n; i += gridDim.x) y[i] = x[i]; }\n\
         void f(const float* x, float* y, int n) { cudaDeviceProp prop; cudaGetDeviceProperties(&prop, 0);\n\
         int blocks = 2 * prop.multiProcessorCount; k<<<blocks, 64>>>(x, y, n); }\n",
    );
    assert!(text.contains("launch.grid[0] = 2 * device.sms;"), "{text}");
}

#[test]
fn no_macro_of_another_maker_is_defined() {
    let text = kernel(
        "#ifdef USE_ROCM\n__device__ float twice(double x) { return __shfl_down(x, 1); }\n#endif\n\
         #ifdef WITH_SCALE\n__device__ float scaled(float x) { return 2 * x; }\n#endif\n\
         __global__ void k(const float* x, float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = scaled(twice(x[threadIdx.x])); }\n\
         void f(const float* x, float* y, int n) { k<<<1, 64>>>(x, y, n); }\n",
    );
    assert!(!text.contains("#define USE_ROCM"), "{text}");
    assert!(text.contains("#define WITH_SCALE 1"), "{text}");
}

#[test]
fn shared_memory_that_is_a_guess_is_listed() {
    let problem = problem(
        "__global__ void k(const float* x, float* y, int n) { extern __shared__ float s[]; s[threadIdx.x] = x[threadIdx.x];\n\
         __syncthreads(); y[threadIdx.x] = s[n - 1 - threadIdx.x]; }\n\
         void f(const float* x, float* y, int n) { static size_t bytes = asked(); k<<<1, 64, bytes>>>(x, y, n); }\n",
    );
    let note = "kernel.cu: launch.shared_bytes in the launch statement is a guess";
    assert!(
        problem.notes.iter().any(|known| known == note),
        "{:?}",
        problem.notes
    );
    assert!(file(&problem, "kernel.cu").contains("launch.shared_bytes = 16384;  // a guess"));
}

#[test]
fn the_instantiation_of_the_function_that_launches_names_the_types() {
    let text = "#include <cuda_fp16.h>\ntemplate <typename T, int N> __global__ void k(const T* x, T* y, int n) {\n\
         int i = blockIdx.x * N + threadIdx.x; if (i < n) y[i] = x[i] + x[i]; }\n\
         template <typename T> void run(const T* x, T* y, int n) { k<T, 64><<<(n + 63) / 64, 64>>>(x, y, n); }\n\
         template void run<__half>(const __half*, __half*, int);\n";
    assert_eq!(tensors(text), ["in x f16 [n]", "out y f16 [n]"]);
    let text = kernel(text);
    assert!(
        text.contains("k<__half, 64>(x, y, n);") && !text.contains("guess"),
        "{text}"
    );
}

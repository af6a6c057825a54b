//! Published files that need other files of their project, its macros, or CUDA's runtime.

use super::*;

const COPY: &str = "__global__ void copy(const float* x, float* y, int n) {\n\
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i]; }\n";

/// kernel.cu, and the notes.
fn read(text: &str) -> (String, String) {
    let made = problem(text);
    (file(&made, "kernel.cu"), made.notes.join("\n"))
}

#[track_caller]
fn says(text: &str, wanted: &[&str]) {
    for wanted in wanted {
        assert!(text.contains(wanted), "{wanted} is not in {text}");
    }
}

#[test]
fn a_launch_by_the_runtime_is_read_like_any_other() {
    for launch in [
        "void* args[] = {&x, &y, &n}; dim3 grid((n + 191) / 192), block(192);\n\
         cudaLaunchKernel((void*)copy, grid, block, args, 0, 0);",
        "cudaLaunchConfig_t config = {}; config.gridDim = dim3((n + 191) / 192); config.blockDim = dim3(192);\n\
         CHECK(cudaLaunchKernelEx(&config, copy, (const float*)x, y, n));",
    ] {
        let (text, notes) = read(&format!(
            "{COPY}void f(float* x, float* y, int n) {{ {launch} }}\n"
        ));
        says(
            &text,
            &[
                "launch.grid[0] = (dims.n + 191) / 192;",
                "launch.block[0] = 192;",
            ],
        );
        assert!(!notes.contains("launch statement"), "{notes}");
    }
}

#[test]
fn a_function_of_the_host_that_only_computes_takes_part_in_the_launch() {
    let (text, notes) = read(&format!(
        "namespace net {{ const int THREADS = 128; }}\n\
         inline int blocks(const int n, const int threads = 128) {{ const int all = n + threads - 1; return all / threads; }}\n\
         {COPY}void f(float* x, float* y, int n) {{ using namespace net; copy<<<blocks(n), THREADS>>>(x, y, n); }}\n"
    ));
    says(
        &text,
        &[
            "const int THREADS = 128;",
            "dims.n",
            "launch.block[0] = net::THREADS;",
        ],
    );
    assert!(
        !text.contains("blocks(const") && !notes.contains("launch statement"),
        "{text}{notes}"
    );
    // One that does more cannot be called by device code.
    let (_, notes) = read(&format!(
        "int blocks(int n) {{ if (n > 9) n = 9; return n; }}\n{COPY}void f(float* x, float* y, int n) {{ copy<<<blocks(n), 64>>>(x, y, n); }}\n"
    ));
    says(&notes, &["the launch statement is a guess"]);
}

#[test]
fn macros_without_which_a_kernel_or_what_it_needs_is_not_there_are_defined() {
    let (text, notes) = read(&format!("#ifdef WITH_FP8\n{COPY}#endif\n"));
    says(&text, &["#define WITH_FP8 1\n"]);
    says(&notes, &["kernel.cu defines WITH_FP8"]);
    let (text, _) = read(&format!(
        "#ifdef GPU\n#define ZERO 0\n#endif\n#ifdef SLOW\n#define ONE 1\n#else\n#define ONE 2\n#endif\n{}",
        COPY.replace("= x[i]", "= x[i] + ZERO * ONE")
    ));
    says(&text, &["#define GPU 1\n"]);
    assert!(!text.contains("#define SLOW"), "{text}");
}

#[test]
fn a_kernel_that_a_macro_makes_is_a_kernel() {
    let (text, notes) = read(
        "#define MAKE(NAME, OP) \\\n__global__ void NAME(const float* a, float* c, int n) { \\\n    int i = blockIdx.x * blockDim.x + threadIdx.x; \\\n    \
         if (i < n) c[i] = a[i] OP a[i]; \\\n}\nnamespace ops {\nMAKE(twice, +)\n}\nvoid go(float* a, float* c, int n) { ops::twice<<<(n + 127) / 128, 128>>>(a, c, n); }\n",
    );
    says(
        &text,
        &[
            "namespace ops {",
            "    if (i < n) c[i] = a[i] + a[i];\n",
            "launch.block[0] = 128;",
        ],
    );
    assert!(!notes.contains("MAKE"), "{notes}");
    // A macro may only say the arguments of a template.
    let (text, _) = read(
        "template <typename T, int N> __global__ void fill(T* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = N; }\n\
         #define INSTANTIATE(T, N) template __global__ void fill<T, N>(T*, int);\nINSTANTIATE(double, 7)\n",
    );
    says(&text, &["fill<double, 7>(y, n);"]);
}

#[test]
fn old_words_and_macros_of_the_host_s_headers_build() {
    let (text, _) = read(
        "#define STEP(v) { register float t = v; v = t; }\n#if CUDART_VERSION < 3000\nstruct double3 { double x, y, z; };\n#endif\n\
         __global__ void k(const float* x, float* y, int n) { double3 d; register int i = threadIdx.x + C10_WARP_SIZE;\n\
         if (i < n) { float v = x[i]; STEP(v) y[i] = v; } }\n\
         void f(float* x, float* y, int n) { k<<<ceil(n / 64), 64>>>(x, y, n); }\n",
    );
    assert!(!text.contains("register"), "{text}");
    says(
        &text,
        &[
            "#define C10_WARP_SIZE 32",
            "launch.grid[0] = ceil((double)(dims.n / 64));",
        ],
    );
}

#[test]
fn names_that_depend_on_one_another_end() {
    let lines: String = (0..40)
        .map(|i| {
            format!(
                "if (a{i} < a{} + n) a{i} = a{} + a{} + n;\n",
                (i * 7 + 1) % 40,
                (i * 3 + 2) % 40,
                (i + 1) % 40
            )
        })
        .collect();
    let names = (0..40)
        .map(|i| format!("int a{i} = n;\n"))
        .collect::<String>();
    let (text, _) = read(&format!(
        "__global__ void k(float* y, int n) {{ {names}{lines}{lines} y[a1 + a2] = 1; }}\n"
    ));
    says(&text, &["LAB_LAUNCH(k)"]);
}

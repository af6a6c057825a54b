//! Parameters that are structs, enumerations and pointers to what has no name in problem.toml.

use super::*;

/// The kernel of a file with the tensors that it has.
fn is_made(source: &str, wanted: &[&str], lines: &[&str]) {
    assert_eq!(tensors(source), wanted);
    let made = problem(source);
    let text = file(&made, "kernel.cu") + &file(&made, "problem.toml");
    for line in lines {
        assert!(text.contains(line), "{line} is not in {text}");
    }
}

#[test]
fn the_fields_of_a_struct_are_parameters() {
    // The extents of the launch are fields that the host code sets; the host's own field goes.
    is_made(
        "namespace a {\ntypedef struct { const float *x, *w; float* y; int rows, cols; float eps; cudaStream_t s; double unused; } Params;\n\
         __global__ void k(const Params p) { int r = blockIdx.x;\n for (int c = threadIdx.x; c < p.cols; c += blockDim.x)\n\
         p.y[r * p.cols + c] += p.x[r * p.cols + c] * p.w[c] + p.eps; }\n}\n\
         void f(float* x, float* w, float* y, int n, int m) { a::Params q = {x, w, y, n, m, 1e-5f};\n\
         a::k<<<q.rows, 128, 0, q.s>>>(q); }\n",
        &[
            "in x f32 [rows, cols]",
            "in w f32 [cols]",
            "inout y f32 [rows, cols]",
        ],
        &[
            "    a::Params p{};\n    p.x = x;\n    p.w = w;\n    p.y = y;\n    p.cols = cols;\n    p.eps = eps;\n    a::k(p);",
            "launch.grid[0] = dims.rows;",
            "float eps; double unused; } Params;",
        ],
    );
    // A struct in a struct, a field with the struct's name, an alias, and a field as the host passes it.
    is_made(
        "using real = double; struct Grid { int nx, ny; };\nclass Args { public: real* out; const real* p; Grid g; };\n\
         __global__ void k(Args p, int n) { int i = blockIdx.x * 16 + threadIdx.x, j = blockIdx.y;\n\
         if (i >= p.g.nx || j >= p.g.ny) return; p.out[j * p.g.nx + i] = p.p[j * p.g.nx + i] * n; }\n\
         void f(Args* args, int n) { dim3 grid((args->g.nx + 15) / 16, args->g.ny); k<<<grid, 16>>>(*args, n); }\n",
        &["out out f64 [ny, nx]", "in p f64 [ny, nx]"],
        &[
            "    Args p_{};\n    p_.out = out;\n    p_.p = p;\n    p_.g.nx = nx;\n    p_.g.ny = ny;\n    k(p_, n);",
            "launch.grid[0] = (dims.nx + 15) / 16;",
            "launch.grid[1] = dims.ny;",
        ],
    );
}

#[test]
fn vectors_and_members_without_a_name_are_taken_apart() {
    is_made(
        "__global__ void k(float4* out, const float4* in, float4 s, const float2 b, int n) {\n\
         int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n / 4) { float4 v = in[i]; v.x = v.x * s.x + b.x; v.w = dot(v, s); out[i] = v; } }\n\
         void f(float4* a, float4* b, int n) { k<<<(n / 4 + 255) / 256, 256>>>(a, b, make_float4(1, 2, 3, 4), make_float2(1, 2), n); }\n",
        &["out out f32 [n]", "in in f32 [n]"],
        &[
            "    float4 s{};\n    s.x = s_x;\n    s.y = s_y;\n    s.z = s_z;\n    s.w = s_w;\n    float2 b{};\n    b.x = b_x;",
            "k(reinterpret_cast<float4*>(out), reinterpret_cast<const float4*>(in), s, b, n);",
            "multiple_of = { n = 4 }",
        ],
    );
    is_made(
        "struct Args { int n; union { float scale; int bits; }; struct { float lo, hi; } range; union { float f; unsigned u; } both; };\n\
         __global__ void k(float* y, const float* x, Args a) { int i = blockIdx.x * 256 + threadIdx.x;\n\
         if (i < a.n) y[i] = fminf(fmaxf(x[i] * a.scale, a.range.lo), a.range.hi) + a.both.f; }\n\
         void f(float* y, const float* x, Args a) { k<<<(a.n + 255) / 256, 256>>>(y, x, a); }\n",
        &["out y f32 [n]", "in x f32 [n]"],
        &[
            "    Args a{};\n    a.n = n;\n    a.scale = scale;\n    a.range.lo = lo;\n    a.range.hi = hi;\n    a.both.f = f;\n    k(y, x, a);",
        ],
    );
}

#[test]
fn a_struct_keeps_its_fields_through_templates_bases_and_functions() {
    is_made(
        "using bf16 = __nv_bfloat16;\ntemplate <typename T, int W> struct Base { T* q; int n; };\n\
         template <typename T, int W> struct Params : Base<T, W> { void* o; bool flag; };\n\
         template <int W, typename P> __device__ void row(const P& in, int r) {\n\
         float* o = reinterpret_cast<float*>(in.o) + r * W; for (int c = 0; c < W; c++) o[c] = in.flag ? (float)in.q[r * W + c] : 0.f; }\n\
         template <typename T, int W> __global__ void k(Params<T, W> in) { int r = blockIdx.x; if (r < in.n) row<W>(in, r); }\n\
         void f(Params<bf16, 8> p) { k<bf16, 8><<<p.n, 64>>>(p); }\n",
        &["in q bf16 [8 * n]", "out o f32 [8 * n]"],
        &[
            "Params<__nv_bfloat16, 8> in{};",
            "in.o = reinterpret_cast<void*>(o);",
            "k<__nv_bfloat16, 8>(in);",
        ],
    );
}

#[test]
fn a_pointer_to_a_struct_or_to_void_has_the_elements_that_the_kernel_reads() {
    is_made(
        "struct Body { float x, y, z, mass; };\nstruct __align__(8) Block { half d; uint8_t q[9]; };\nenum Mode : int { FAST = 2, SLOW };\n\
         __global__ void k(const Body* b, const void* raw, void* out, Mode mode, int n) {\n\
         int i = blockIdx.x * 256 + threadIdx.x; if (i >= n) return; const Block* x = (const Block*)raw;\n\
         static_cast<double*>(out)[i] = b[i].mass * (mode == FAST ? x[i].q[3] : 1); }\n",
        &["in b f32 [4 * n]", "in raw u8 [16 * n]", "out out f64 [n]"],
        &[
            "k(reinterpret_cast<const Body*>(b), reinterpret_cast<const void*>(raw), reinterpret_cast<void*>(out), (Mode)mode, n);",
            "# A guess: the bytes of Block, 16 in each.",
            "type = \"i32\"\nvalue = 2  # FAST of Mode",
        ],
    );
}

#[test]
fn what_a_parameter_cannot_be_is_refused_with_its_line() {
    let refused = |fields: &str, parameter: &str| {
        let source = format!(
            "struct P {{ float* y;\n{fields};\n}};\n__global__ void k({parameter}) {{ p.y[0] = p.a; }}\n"
        );
        let published = Published::read("a.cu", &source, &|_| Err(Absent::Nowhere));
        let unfit = published.problem(&["k".to_owned()], "a", "a.cu");
        unfit.err().unwrap().to_string()
    };
    for (fields, parameter, wanted) in [
        (
            "float a[4]",
            "P p",
            "line 2: the parameter `p.a` has the type `float[4]`",
        ),
        (
            "float** a",
            "P p",
            "line 2: the parameter `p.a` has the type `float**`",
        ),
        (
            "std::vector<int> a",
            "P p",
            "line 2: the parameter `p.a` has the type `std::vector<int>`",
        ),
        (
            "void (*a)(int)",
            "P p",
            "line 2: the parameter `p.a` has the type `void (*a)(int)`",
        ),
        (
            "void* a",
            "P p",
            "line 2: the parameter `p.a` has the type `void*`",
        ),
        (
            "float* a",
            "P* p",
            "line 4: the parameter `p` has the type `P*`",
        ),
        (
            "int a",
            "void* p",
            "line 4: the parameter `p` has the type `void*`",
        ),
    ] {
        let said = refused(fields, parameter);
        assert!(said.starts_with(wanted), "{said}");
    }
}

//! A small problem whose kernel has a body that the test chooses.

/// One input and one output of 256 cells, compared to within 1e-6.
pub const PROBLEM: &str = r#"
entry = "toy"
dims = ["n"]
ragged = false                  # the launch has 256 threads

[[tensor]]
name = "x"
role = "in"
type = "f32"
shape = ["n"]
values = { uniform = { low = 0.0, high = 1.0 } }

[[tensor]]
name = "y"
role = "out"
type = "f32"
shape = ["n"]

[tolerance.f32]
atol = 1e-6
rtol = 1e-6

[objective]
samples = "n"

[[workload]]
dims = { n = 256 }
"#;

/// A kernel in four blocks of 64 threads, launched cooperatively. `body` begins on line 5.
pub fn kernel(body: &str) -> String {
    format!(
        "#include \"lab.h\"\n#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n\
         extern \"C\" __global__ void toy(const float* x, float* y, int n) {{\n{body}\n}}\n\
         LAB_LAUNCH(toy) {{ launch.grid[0] = 4; launch.block[0] = 64; launch.cooperative = 1; }}\n"
    )
}

/// The first line of most bodies: a block's shared memory, the thread `t` and its cell `i`.
pub const SHARED: &str =
    "__shared__ float s[64]; const int t = threadIdx.x, i = blockIdx.x * 64 + t;";

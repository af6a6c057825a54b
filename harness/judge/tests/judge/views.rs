//! Views: pointers to parts of a tensor, in place of one to the tensor.

use crate::support::{Folder, Judged};
use lab_protocol::Exit;

/// Rows of three parts in one buffer, and rows with room behind them in another.
const PROBLEM: &str = r#"
entry = "attend"
dims = ["n", "width"]
[[tensor]]
name = "qkv"
role = "in"
type = "f32"
shape = ["n", 3, "width"]
values = { normal = {} }
views = [
    { name = "q", slice = ":, 0" },
    { name = "k", slice = ":, 1" },
    { name = "v", slice = ":, 2" },
]
[[tensor]]
name = "rows"
role = "inout"
type = "f32"
shape = ["n", "width + 5"]
values = { normal = {} }
views = [{ name = "y", slice = ":, :width" }]
tolerance = { rtol = 1e-5, atol = 1e-5 }
[objective]
samples = "n"
[[workload]]
dims = { n = 40, width = 7 }
"#;

fn kernel(body: &str) -> String {
    format!(
        "#include \"lab.h\"\n\
         extern \"C\" __global__ void attend(const float* q, const float* k, const float* v, float* y, int n, int width) {{\n\
             int row = blockIdx.x, at = threadIdx.x, from = row * 3 * width + at, to = row * (width + 5) + at;\n\
             {body}\n\
         }}\n\
         LAB_LAUNCH(attend) {{ launch.grid[0] = dims.n; launch.block[0] = dims.width; }}\n"
    )
}

fn judge(problem: &str, body: &str) -> Judged {
    let reference = kernel("y[to] = q[from] * k[from] + v[from];");
    Folder::new(&[
        ("problem.toml", problem),
        ("reference.cu", &reference),
        ("kernel.cu", &kernel(body)),
    ])
    .judge()
}

#[test]
fn a_kernel_gets_the_parts_of_a_buffer() {
    judge(PROBLEM, "y[to] = fmaf(q[from], k[from], v[from]);").expect(Exit::Passed);
    // As if the parts were dense.
    judge(PROBLEM, "y[to] = q[row * width + at] * k[from] + v[from];")
        .expect(Exit::Wrong)
        .expect_in("first_failure", "rows[");
    judge(
        PROBLEM,
        "y[to] = q[from] * k[from] + v[from]; if (at == 0) y[to + width] = 1;",
    )
    .expect(Exit::Wrong)
    .expect_in("first_failure", "rows[0, 7] is 1, expected ");
}

#[test]
fn views_that_cover_an_output_are_written_in_full() {
    let problem = PROBLEM
        .replace("role = \"inout\"", "role = \"out\"")
        .replace("\"width + 5\"]\nvalues = { normal = {} }", "\"width + 5\"]")
        .replace(
            "views = [{ name = \"y\", slice = \":, :width\" }]",
            "views = [{ name = \"y\", slice = \":, :width\" }, { name = \"rest\", slice = \":, width:\" }]",
        );
    let kernel = |body: &str| kernel(body).replace("float* y", "float* y, float* rest");
    let right = "y[to] = q[from]; if (at < 5) rest[to] = v[from];";
    let judge = |body: &str| {
        Folder::new(&[
            ("problem.toml", &problem),
            ("reference.cu", &kernel(right)),
            ("kernel.cu", &kernel(body)),
        ])
        .judge()
    };
    judge(right).expect(Exit::Passed);
    judge("y[to] = q[from]; if (at < 4) rest[to] = v[from];")
        .expect(Exit::Wrong)
        .expect_in("first_failure", "never wrote rows[0, 11]");
}

/// Blocks of 32 weights as ggml's q4_0 has them: a scale in f16, then 16 bytes. Byte i holds weight i
/// in its low half, and weight i + 16 in its high half.
const PACKED: &str = r#"
entry = "dot"
dims = ["rows", "blocks"]
[[tensor]]
name = "w"
role = "in"
type = "u8"
shape = ["rows", "blocks", 18]
values = { packed = [
    { bytes = "0:2", type = "f16", values = { uniform = { low = 0.01, high = 0.1 } } },
    { bytes = "2:18", type = "u8", values = { integers = { low = 0, high = 255 } } },
] }
[[tensor]]
name = "x"
role = "in"
type = "f32"
shape = ["blocks", 32]
values = { normal = {} }
[[tensor]]
name = "y"
role = "out"
type = "f32"
shape = ["rows"]
tolerance = { atol = 1e-4, rtol = 1e-4 }
[objective]
samples = "rows"
[[workload]]
dims = { rows = 33, blocks = 4 }
"#;

#[test]
fn a_packed_format_is_bytes_whose_fields_have_values() {
    let kernel = |scale: &str| {
        format!(
            "#include \"lab.h\"\n#include <cuda_fp16.h>\n\
             struct Block {{ __half scale; unsigned char pairs[16]; }};\n\
             extern \"C\" __global__ void dot(const unsigned char* w, const float* x, float* y, int rows, int blocks) {{\n\
                 int row = blockIdx.x * blockDim.x + threadIdx.x;\n\
                 if (row >= rows) return;\n\
                 const Block* block = (const Block*)w + row * blocks;\n\
                 double sum = 0;\n\
                 for (int b = 0; b < blocks; b++) {{\n\
                     double part = 0;\n\
                     for (int i = 0; i < 16; i++) {{\n\
                         part += ((block[b].pairs[i] & 15) - 8) * x[b * 32 + i];\n\
                         part += ((block[b].pairs[i] >> 4) - 8) * x[b * 32 + i + 16];\n\
                     }}\n\
                     sum += part * {scale};\n\
                 }}\n\
                 y[row] = sum;\n\
             }}\n\
             LAB_LAUNCH(dot) {{ launch.grid[0] = (dims.rows + 31) / 32; launch.block[0] = 32; }}\n"
        )
    };
    let judge = |scale: &str| {
        Folder::new(&[
            ("problem.toml", PACKED),
            ("reference.cu", &kernel("float(block[b].scale)")),
            ("kernel.cu", &kernel(scale)),
        ])
        .judge()
    };
    judge("__half2float(block[b].scale)").expect(Exit::Passed);
    judge("float(block[0].scale)").expect(Exit::Wrong);
}

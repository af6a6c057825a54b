//! Scalars of every type, and constants that are no finite numbers.

use crate::support::{Folder, Judged};
use lab_protocol::Exit;

/// Adds up what a kernel gets as scalars: the names, types and values of these, and the C++ of the
/// sum in the reference and in the kernel.
fn judged(scalars: &[(&str, &str, &str)], sums: [&str; 2]) -> Judged {
    let mut problem = r#"
entry = "sum"
dims = ["T"]
[[tensor]]
name = "y"
role = "out"
type = "f64"
shape = ["T"]
tolerance = {}
[objective]
samples = "T"
[[workload]]
dims = { T = 300 }
"#
    .to_owned();
    let mut parameters = String::from("double* y");
    for (name, dtype, value) in scalars {
        problem += &format!("[[scalar]]\nname = \"{name}\"\ntype = \"{dtype}\"\nvalue = {value}\n");
        let cell = match *dtype {
            "bool" => "bool",
            "u32" => "unsigned int",
            "u64" => "unsigned long long",
            "i16" => "short",
            "f64" => "double",
            _ => "float",
        };
        parameters += &format!(", {cell} {name}");
    }
    let kernel = |sum: &str| {
        format!(
            "#include \"lab.h\"\n\
             extern \"C\" __global__ void sum({parameters}, int T) {{\n\
                 int i = blockIdx.x * blockDim.x + threadIdx.x;\n\
                 if (i < T) y[i] = i + {sum};\n\
             }}\n\
             LAB_LAUNCH(sum) {{ launch.grid[0] = (dims.T + 255) / 256; launch.block[0] = 256; }}\n"
        )
    };
    let [reference, kernel] = sums.map(kernel);
    Folder::new(&[
        ("problem.toml", &problem),
        ("reference.cu", &reference),
        ("kernel.cu", &kernel),
    ])
    .judge()
}

#[test]
fn a_kernel_takes_scalars_of_bools_integers_and_floats() {
    let scalars = [
        ("causal", "bool", "true"),
        ("seed", "u32", "4294967295"),
        ("key", "u64", "\"18446744073709551615\""),
        ("shift", "i16", "-32768"),
        ("eps", "f64", "1e-300"),
    ];
    // The scalar of f64 is another number in the sets of extremes, and no f32 holds it.
    let sum = "(causal ? 1.0 : 0.0) + seed + double(key >> 32) + shift + eps * 1e300";
    judged(&scalars, [sum, sum]).expect(Exit::Passed);
    for wrong in [
        "(causal ? 0.0 : 1.0) + seed + double(key >> 32) + shift + eps * 1e300",
        "(causal ? 1.0 : 0.0) + int(seed) + double(key >> 32) + shift + eps * 1e300",
        "(causal ? 1.0 : 0.0) + seed + double((long long)key >> 32) + shift + eps * 1e300",
        "(causal ? 1.0 : 0.0) + seed + double(key >> 32) + shift + float(eps) * 1e300",
    ] {
        judged(&scalars, [sum, wrong]).expect(Exit::Wrong);
    }
}

#[test]
fn a_scalar_that_is_no_finite_number_reaches_the_kernel() {
    let scalars = [("masked", "f32", "-inf"), ("missing", "f64", "nan")];
    let sum = "(masked < -3.4e38f) + 2 * (missing != missing)";
    judged(&scalars, [sum, sum]).expect(Exit::Passed);
    judged(&scalars, [sum, "(masked < -3.4e38f)"]).expect(Exit::Wrong);
}

#[test]
fn a_running_maximum_starts_at_minus_infinity() {
    let problem = |values: &str| {
        format!(
            r#"
entry = "running"
dims = ["n"]
planted = false  # an infinity and an extreme have no difference to compare
[[tensor]]
name = "x"
role = "in"
type = "f16"
shape = ["n"]
values = {{ normal = {{}} }}
[[tensor]]
name = "m"
role = "inout"
type = "f16"
shape = ["n"]
values = {{ constant = {values} }}
tolerance = {{}}
[objective]
samples = "n"
[[workload]]
dims = {{ n = 300 }}
"#
        )
    };
    let kernel = "#include \"lab.h\"\n#include <cuda_fp16.h>\n\
        extern \"C\" __global__ void running(const __half* x, __half* m, int n) {\n\
            int i = blockIdx.x * blockDim.x + threadIdx.x;\n\
            if (i < n && (i % 2 || float(x[i]) < float(m[i]))) return;\n\
            if (i < n) m[i] = x[i];\n\
        }\n\
        LAB_LAUNCH(running) { launch.grid[0] = (dims.n + 255) / 256; launch.block[0] = 256; }\n";
    let judge = |values: &str, kernel: &str, reference: &str| {
        Folder::new(&[
            ("problem.toml", &problem(values)),
            ("reference.cu", reference),
            ("kernel.cu", kernel),
        ])
        .judge()
    };
    judge("-inf", kernel, kernel).expect(Exit::Passed);
    let finite = kernel.replace("m[i] = x[i]", "m[i] = fmaxf(float(x[i]), -0.5f)");
    judge("-inf", &finite, kernel)
        .expect(Exit::Wrong)
        .expect_in("first_failure", "m[");
    let replaced = kernel.replace("if (i < n) m[i] = x[i];", "if (i < n) m[i] = -65504.0f;");
    judge("-inf", &replaced, kernel).expect(Exit::Wrong);
}

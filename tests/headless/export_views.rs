//! `lab export` of a problem whose kernel gets views of a tensor, and whose weights are packed.

use crate::export::{is_python, run_program};
use crate::lab::Lab;

const PROBLEM: &str = r#"name = "parts"
entry = "parts"
dims = ["n", "heads"]

[[tensor]]
name = "qv"
role = "in"
type = "f32"
shape = ["n", 3, "2 * heads"]
values = { integers = { low = 1, high = 9 } }
views = [
    { name = "q", slice = ":, 0" },
    { name = "v", slice = ":, -1, heads::2" },
]

[[tensor]]
name = "w"
role = "in"
type = "u8"
shape = ["n", 6]
values = { packed = [
    { bytes = "0:4", type = "f32", values = { constant = 0.5 } },
    { bytes = "4:6", type = "u8", values = { integers = { low = 3, high = 7 } } },
] }

[[tensor]]
name = "y"
role = "out"
type = "f32"
shape = ["n", 2]
views = [{ name = "left", slice = ":, :1" }, { name = "right", slice = ":, 1" }]

[tolerance.f32]
atol = 1e-6
rtol = 1e-6

[objective]
samples = "n"

[[workload]]
dims = { n = 5, heads = 2 }
"#;

/// The strides of the views are those of the whole tensor: 12 cells of `qv` to a row, 2 of `y`.
const KERNEL: &str = r#"#include "lab.h"
extern "C" __global__ void parts(const float* q, const float* v, const unsigned char* w, float* left, float* right, int n, int heads) {
    const int i = blockIdx.x;
    float scale;
    for (int byte = 0; byte < 4; byte++) ((unsigned char*)&scale)[byte] = w[6 * i + byte];
    left[2 * i] = scale * q[i * 6 * heads] + v[i * 6 * heads];
    right[2 * i] = w[6 * i + 4] + w[6 * i + 5];
}
LAB_LAUNCH(parts) { launch.grid[0] = dims.n; }
"#;

#[test]
fn views_and_packed_values_are_exported() {
    let lab = Lab::empty();
    lab.write("lab.toml", "device = \"cpu\"\n");
    lab.write("problem.toml", PROBLEM);
    lab.write("kernel.cu", KERNEL);
    lab.write("reference.cu", KERNEL);
    lab.lab("run").is(0).says("PASS");
    lab.lab("export kernel.cu --to standalone --output parts.cu")
        .is(0);
    let program = |file: &str| run_program(&lab, file, "pppppii", 2);
    let (code, said) = program("parts.cu");
    assert_eq!(code, Some(0), "{said}");
    // Each view, and each field, counts.
    for (right, wrong) in [
        ("scale * q", "q"),
        ("v[i * 6 * heads]", "v[i * 6 * heads - 1]"),
        ("w[6 * i + 5]", "w[6 * i + 4]"),
        ("right[2 * i]", "right[2 * i + 1 - i]"),
    ] {
        lab.write("kernel.cu", KERNEL.replace(right, wrong));
        lab.lab("export kernel.cu --to standalone --output parts.cu --force")
            .is(0);
        let (code, said) = program("parts.cu");
        assert!(
            code == Some(1) && said.contains("WRONG  n=5 heads=2: y["),
            "{wrong}: {said}"
        );
    }
    lab.write("kernel.cu", KERNEL);
    lab.lab("export kernel.cu --to torch --output parts.py")
        .is(0);
    is_python(&lab, "parts.py");
    let text = lab.read("parts.py");
    for wanted in [
        "buffer(t_qv.select(1, place(",
        ".slice(2, place(double(d_heads), shape_of_qv[2], \"v\"), shape_of_qv[2], extent(2.0, \"v\"))",
        "(\"v\", 10, (5, 1), (12, 2))",
        "(\"packed\", (0, \"f32\", (5, 1), (\"constant\", 0.5)), (4, \"u8\", (5, 2), (\"integers\", 3, 7)))",
    ] {
        assert!(text.contains(wanted), "{wanted} is not in {text}");
    }
    // A bound that has no C++.
    lab.write("problem.toml", PROBLEM.replace("heads::2", "heads^1^1::2"));
    lab.lab("export kernel.cu --to torch --output parts.py --force")
        .is(1)
        .says("the view v has the bound heads^1^1");
}

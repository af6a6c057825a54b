//! Tensors of indices and offsets, values and scalars that follow from the dimensions, and values
//! from files.

use crate::support::{Folder, Judged};
use lab_protocol::Exit;

/// A problem with a kernel `f` whose parameters and body the test chooses.
struct Sketch<'a> {
    problem: &'a str,
    parameters: &'a str,
    reference: &'a str,
}

impl Sketch<'_> {
    fn kernel(&self, body: &str) -> String {
        format!(
            "#include \"lab.h\"\n#include <cuda_fp8.h>\n\
             extern \"C\" __global__ void f({}) {{\n\
                 const int i = blockIdx.x * blockDim.x + threadIdx.x;\n\
                 {body}\n\
             }}\n\
             LAB_LAUNCH(f) {{ launch.grid[0] = 4; launch.block[0] = 128; }}\n",
            self.parameters
        )
    }

    fn folder(&self, body: &str) -> Folder {
        let (reference, kernel) = (self.kernel(self.reference), self.kernel(body));
        Folder::new(&[
            ("problem.toml", self.problem),
            ("reference.cu", &reference),
            ("kernel.cu", &kernel),
        ])
    }

    /// The verdict on the reference itself as the kernel.
    #[track_caller]
    fn passes(&self) -> Judged {
        let judged = self.folder(self.reference).judge();
        judged.expect(Exit::Passed);
        judged
    }

    #[track_caller]
    fn fails(&self, body: &str, first_failure: &str) {
        let judged = self.folder(body).judge();
        judged
            .expect(Exit::Wrong)
            .expect_in("first_failure", first_failure)
            .expect_no_measure();
    }
}

const GATHER: Sketch = Sketch {
    problem: r#"
entry = "f"
dims = ["rows", "cols", "picks"]
[[tensor]]
name = "table"
role = "in"
type = "f32"
shape = ["rows", "cols"]
values = { uniform = { low = "0 - rows", high = "rows" } }
[[tensor]]
name = "index"
role = "in"
type = "i64"
shape = ["picks"]
values = { integers = { low = 0, high = "rows - 1" } }
[[tensor]]
name = "y"
role = "out"
type = "f32"
shape = ["picks", "cols"]
tolerance = { atol = 0 }
[objective]
samples = "picks"
[[workload]]
dims = { rows = 7, cols = 5, picks = 90 }
[[workload]]
dims = { rows = 1, cols = 3, picks = 20 }
[[held_out]]
dims = { rows = 100, cols = 2, picks = 200 }
values = { index = { constant = "rows - 1" } }
"#,
    parameters: "const float* table, const long long* index, float* y, int rows, int cols, int picks",
    reference: "if (i < picks * cols) y[i] = table[index[i / cols] * cols + i % cols];",
};

#[test]
fn a_gather_reads_indices_within_the_rows_of_each_workload() {
    GATHER.passes();
    GATHER.fails(
        "if (i < picks * cols) y[i] = table[min(index[i / cols], 5ll) * cols + i % cols];",
        "y[",
    );
    // Only the held-out workload has more than 50 rows.
    GATHER.fails(
        "if (i < picks * cols) y[i] = table[min(index[i / cols], 50ll) * cols + i % cols];",
        "rows=100 cols=2 picks=200",
    );
}

const SCATTER: Sketch = Sketch {
    problem: r#"
entry = "f"
dims = ["rows", "n"]
[[tensor]]
name = "x"
role = "in"
type = "i8"
shape = ["rows", "n"]
values = { integers = { low = -100, high = 100 } }
[[tensor]]
name = "place"
role = "in"
type = "i32"
shape = ["rows", "n"]
values = { permutation = true }
[[tensor]]
name = "y"
role = "out"
type = "i8"
shape = ["rows", "n"]
[objective]
samples = "n"
[[workload]]
dims = { rows = 3, n = 120 }
"#,
    parameters: "const signed char* x, const int* place, signed char* y, int rows, int n",
    reference: "if (i < rows * n) y[i / n * n + place[i]] = x[i];",
};

#[test]
fn a_scatter_by_a_permutation_writes_each_cell_once() {
    SCATTER.passes();
    SCATTER.fails(
        "if (i < rows * n && place[i] != n - 1) y[i / n * n + place[i]] = x[i];",
        "never wrote y[0, 119]",
    );
    SCATTER.fails("if (i < rows * n) y[i] = x[i];", "y[0, ");
}

const SEGMENTS: Sketch = Sketch {
    problem: r#"
entry = "f"
dims = ["segments", "n"]
[[tensor]]
name = "x"
role = "in"
type = "f32"
shape = ["n"]
values = { uniform = { low = 0.5, high = 1.0 } }
[[tensor]]
name = "offsets"
role = "in"
type = "i32"
shape = ["segments + 1"]
values = { ascending = { low = 0, high = "n" } }
[[tensor]]
name = "y"
role = "out"
type = "f32"
shape = ["segments"]
tolerance = { atol = "1e-6 * n", rtol = "1e-6 * sqrt(n)" }
[objective]
samples = "segments"
[[workload]]
dims = { segments = 60, n = 90 }
[[workload]]
dims = { segments = 1, n = 300 }
"#,
    parameters: "const float* x, const int* offsets, float* y, int segments, int n",
    reference: "if (i < segments) { double s = 0; for (int k = offsets[i]; k < offsets[i + 1]; k++) s += x[k]; y[i] = s; }",
};

#[test]
fn segments_between_ascending_offsets_cover_all_cells_and_some_are_empty() {
    SEGMENTS.passes();
    let body = "if (i < segments) { float s = 0; int k = offsets[i]; do s += x[min(k, n - 1)]; \
                while (++k < offsets[i + 1]); y[i] = s; }";
    SEGMENTS.fails(body, "y[");
    // The kernel leaves out the last cell of the last segment.
    let body = "if (i < segments) { float s = 0; for (int k = offsets[i]; k < min(offsets[i + 1], n - 1); k++) \
                s += x[k]; y[i] = s; }";
    SEGMENTS.fails(body, "y[");
}

const SCALED: Sketch = Sketch {
    problem: r#"
entry = "f"
planted = false
dims = ["k"]
[[tensor]]
name = "x"
role = "in"
type = "f32"
shape = ["k"]
values = { normal = { mean = 1.0, std = "1 / k" } }
[[tensor]]
name = "y"
role = "out"
type = "f32"
shape = ["k"]
tolerance = { atol = "1e-6 * k" }
[[scalar]]
name = "scale"
type = "f32"
value = "1 / sqrt(k)"
[[scalar]]
name = "last"
type = "i64"
value = "k - 1"
[tolerance.f32]
atol = 1e9
[objective]
samples = "k"
[[workload]]
dims = { k = 4 }
[[workload]]
dims = { k = 100 }
"#,
    parameters: "const float* x, float* y, float scale, long long last, int k",
    reference: "if (i < k) y[i] = i == last ? 0.0f : scale * x[i];",
};

#[test]
fn scalars_and_tolerances_follow_from_the_dimensions_of_each_workload() {
    SCALED.passes();
    SCALED.fails("if (i < k) y[i] = i == last ? 0.0f : 0.5f * x[i];", "k=100");
    // The tensor's own tolerance is 4e-6 at k = 4 and 1e-4 at k = 100, and the tolerance of its
    // type does not count.
    SCALED.fails(
        "if (i < k) y[i] = (i == last ? 0.0f : scale * x[i]) + 5e-5f;",
        "k=4",
    );
}

const FP8_SCALE: Sketch = Sketch {
    problem: r#"
entry = "f"
dims = ["rows", "k"]
[[tensor]]
name = "x"
role = "in"
type = "f8e4m3"
shape = ["rows", "k"]
values = { normal = { std = 50.0 } }
[[tensor]]
name = "row_scale"
role = "in"
type = "f32"
shape = ["rows"]
values = { uniform = { low = 0.5, high = "2 / sqrt(k) + 1" } }
[[tensor]]
name = "sum"
role = "out"
type = "f32"
shape = ["rows"]
tolerance = { atol = "1e-3 * k", rtol = 1e-4 }
[[tensor]]
name = "halved"
role = "out"
type = "f8e5m2"
shape = ["rows", "k"]
tolerance = {}
[[scalar]]
name = "scale"
type = "f32"
value = "1 / sqrt(k)"
[objective]
samples = "rows"
[[workload]]
dims = { rows = 5, k = 80 }
[[workload]]
dims = { rows = 2, k = 17 }
"#,
    parameters: "const __nv_fp8_e4m3* x, const float* row_scale, float* sum, __nv_fp8_e5m2* halved, float scale, \
                 int rows, int k",
    reference: "if (i < rows * k) halved[i] = __nv_fp8_e5m2(0.5f * float(x[i])); \
                if (i < rows) { double s = 0; for (int j = 0; j < k; j++) s += float(x[i * k + j]); \
                sum[i] = s * row_scale[i] * scale; }",
};

#[test]
fn fp8_is_scaled_by_row_and_written_as_another_fp8() {
    FP8_SCALE.passes();
    // Computed without the scale of the row.
    let reference = FP8_SCALE.reference;
    FP8_SCALE.fails(&reference.replace("* row_scale[i] ", ""), "sum[");
    // Read as the other format.
    let other = "float(*(const __nv_fp8_e5m2*)&x[i * k + j])";
    FP8_SCALE.fails(&reference.replace("float(x[i * k + j])", other), "sum[");
    // One bit of a result is wrong.
    FP8_SCALE.fails(
        &reference.replace(
            "if (i < rows) {",
            "if (i == 3) halved[i].__x ^= 1; if (i < rows) {",
        ),
        "halved[0, 3]",
    );
}

#[test]
fn a_workload_may_have_values_of_its_own() {
    let problem = r#"
entry = "f"
dims = ["n"]
[[tensor]]
name = "x"
role = "in"
type = "f32"
shape = ["n"]
values = { uniform = { low = 1.0, high = 2.0 } }
[[tensor]]
name = "y"
role = "out"
type = "f32"
shape = ["n"]
[tolerance.f32]
rtol = 1e-6
[objective]
samples = "n"
[[workload]]
dims = { n = 100 }
[[workload]]
dims = { n = 50 }
values = { x = { constant = 0.0 } }
"#;
    let sketch = Sketch {
        problem,
        parameters: "const float* x, float* y, int n",
        reference: "if (i < n) y[i] = x[i] == 0 ? 7.0f : 1 / x[i];",
    };
    sketch.passes();
    sketch.fails("if (i < n) y[i] = 1 / x[i];", "n=50");
}

/// The bytes of an .npy file of these numbers.
fn npy(shape: &str, values: &[f32]) -> Vec<u8> {
    let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = (text.len() as u16).to_le_bytes();
    let cells: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    [
        b"\x93NUMPY\x01\x00".as_slice(),
        &length,
        text.as_bytes(),
        &cells,
    ]
    .concat()
}

const FROM_A_FILE: Sketch = Sketch {
    problem: r#"
entry = "f"
dims = ["n"]
[[tensor]]
name = "x"
role = "in"
type = "f32"
shape = [2, "n"]
values = { npy = "data/x.npy" }
[[tensor]]
name = "y"
role = "out"
type = "f32"
shape = [2, "n"]
[tolerance.f32]
[objective]
samples = "n"
[[workload]]
dims = { n = 3 }
"#,
    parameters: "const float* x, float* y, int n",
    reference: "if (i < 2 * n) y[i] = x[i];",
};

fn with_file(body: &str, bytes: &[u8]) -> Folder {
    let folder = FROM_A_FILE.folder(body);
    std::fs::create_dir(folder.path().join("data")).unwrap();
    std::fs::write(folder.path().join("data/x.npy"), bytes).unwrap();
    folder
}

#[test]
fn values_from_a_file_are_those_of_the_file_and_a_caveat_says_so() {
    let values = [1.5, -2.0, 3.0, 4.0, 5.0, 1e-40];
    let bytes = npy("(2, 3)", &values);
    let judged = with_file(FROM_A_FILE.reference, &bytes).judge();
    judged.expect(Exit::Passed);
    let caveat = format!(
        "fixed inputs: x is data/x.npy (blake3 {})",
        &blake3::hash(&bytes).to_hex()[..12]
    );
    assert!(
        judged.report.caveats().iter().any(|c| c.contains(&caveat)),
        "{}",
        judged.log
    );
    let judged = with_file("if (i < 2 * n) y[i] = i == 1 ? 0.0f : x[i];", &bytes).judge();
    judged
        .expect(Exit::Wrong)
        .expect_in("first_failure", "y[0, 1] is 0, expected -2");
}

#[test]
fn a_file_that_does_not_fit_is_refused_at_its_line() {
    let error = |bytes: &[u8]| {
        let judged = with_file(FROM_A_FILE.reference, bytes).judge();
        judged.expect(Exit::NOT_JUDGED);
        judged.value("stopped").to_owned()
    };
    let shape = error(&npy("(3, 2)", &[0.0; 6]));
    assert!(
        shape.ends_with(
            "problem.toml:9:18: error: workload 1 (n=3): tensor 'x': values: data/x.npy has the shape [3, 2], \
             and the tensor has [2, 3]"
        ),
        "{shape}"
    );
    assert!(
        error(&npy("(2, 3)", &[0.0; 5]))
            .contains("data/x.npy is truncated: it has 20 bytes of cells")
    );
    assert!(error(b"").contains("data/x.npy is no .npy file"));
}

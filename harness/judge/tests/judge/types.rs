//! Tensors of every type: each cell is compared as its type, and an unwritten cell is found
//! whatever its value would be.

use crate::support::Folder;
use lab_protocol::Exit;

/// A problem that copies `x` to `y`, both of this type, with the values of `x` and the tolerance.
fn copy_problem(dtype: &str, values: &str, tolerance: &str) -> String {
    format!(
        r#"
entry = "copy"
dims = ["n"]
[[tensor]]
name = "x"
role = "in"
type = "{dtype}"
shape = ["n"]
values = {values}
[[tensor]]
name = "y"
role = "out"
type = "{dtype}"
shape = ["n"]
{tolerance}
[objective]
samples = "n"
[[workload]]
dims = {{ n = 1001 }}
"#
    )
}

/// A kernel that copies cells of this C type. `store` replaces the statement that stores.
fn copy_kernel(cell: &str, store: &str) -> String {
    format!(
        "#include \"lab.h\"\n\
         extern \"C\" __global__ void copy(const {cell}* x, {cell}* y, int n) {{\n\
             int i = blockIdx.x * blockDim.x + threadIdx.x;\n\
             if (i < n) {{ {store} }}\n\
         }}\n\
         LAB_LAUNCH(copy) {{ launch.grid[0] = (dims.n + 255) / 256; launch.block[0] = 256; }}\n"
    )
}

const COPY: &str = "y[i] = x[i];";

fn folder(problem: &str, cell: &str, store: &str) -> Folder {
    let (reference, kernel) = (copy_kernel(cell, COPY), copy_kernel(cell, store));
    Folder::new(&[
        ("problem.toml", problem),
        ("reference.cu", &reference),
        ("kernel.cu", &kernel),
    ])
}

/// Each: the type, the C type of a cell, and values.
type Columns<'a> = [(&'a str, &'a str, String)];

/// A problem and a kernel that copy one tensor to another for each of these. `store` is the
/// condition of a store.
fn copies(columns: &Columns, store: &str) -> Folder {
    let mut problem = "entry = \"copy\"\ndims = [\"n\"]\n[objective]\nsamples = \"n\"\n".to_owned();
    problem += "[[workload]]\ndims = { n = 1001 }\n";
    let (mut parameters, mut plain, mut changed) = (String::new(), String::new(), String::new());
    for (i, (dtype, cell, values)) in columns.iter().enumerate() {
        let tensor = |name: &str, role: &str, rest: &str| {
            format!(
                "[[tensor]]\nname = \"{name}{i}\"\nrole = \"{role}\"\ntype = \"{dtype}\"\nshape = [\"n\"]\n{rest}\n"
            )
        };
        problem += &tensor("x", "in", &format!("values = {values}"));
        problem += &tensor("y", "out", "tolerance = {}");
        parameters += &format!("const {cell}* x{i}, {cell}* y{i}, ");
        plain += &format!("y{i}[i] = x{i}[i];");
        changed += &format!("if ({store}) y{i}[i] = x{i}[i];");
    }
    let kernel = |store: &str| {
        format!(
            "#include \"lab.h\"\n#include <cuda_fp8.h>\n\
             extern \"C\" __global__ void copy({parameters} int n) {{\n\
                 int i = blockIdx.x * blockDim.x + threadIdx.x;\n\
                 if (i < n) {{ {store} }}\n\
             }}\n\
             LAB_LAUNCH(copy) {{ launch.grid[0] = (dims.n + 255) / 256; launch.block[0] = 256; }}\n"
        )
    };
    Folder::new(&[
        ("problem.toml", &problem),
        ("reference.cu", &kernel(&plain)),
        ("kernel.cu", &kernel(&changed)),
    ])
}

/// Checks that a copy passes, and that each output lacks a cell where cells 3 and 1000 are not
/// stored.
fn copies_are_judged(columns: &Columns) {
    copies(columns, "true").judge().expect(Exit::Passed);
    for left_out in [3, 1000] {
        let judged = copies(columns, &format!("i != {left_out}")).judge();
        judged
            .expect(Exit::Wrong)
            .expect_in("first_failure", "never wrote y");
        for (i, column) in columns.iter().enumerate() {
            let unwritten = judged.value(&format!("y{i}_unwritten"));
            assert!(
                !unwritten.starts_with("0 "),
                "{column:?} in\n{}",
                judged.log
            );
        }
    }
}

#[test]
fn a_copy_of_every_type_passes_and_an_unwritten_cell_is_found() {
    // TOML has no number beyond an i64, so the largest u64 stands in quotes.
    let integers =
        |low: i128, high: i128| format!("{{ integers = {{ low = {low}, high = \"{high}\" }} }}");
    copies_are_judged(&[
        ("f64", "double", "{ normal = {} }".into()),
        ("f32", "float", "{ normal = {} }".into()),
        ("f16", "__half", "{ normal = {} }".into()),
        ("bf16", "__nv_bfloat16", "{ normal = {} }".into()),
        (
            "f8e4m3",
            "__nv_fp8_e4m3",
            "{ normal = { std = 100.0 } }".into(),
        ),
        (
            "f8e5m2",
            "__nv_fp8_e5m2",
            "{ normal = { std = 10000.0 } }".into(),
        ),
        ("i8", "signed char", integers(-128, 127)),
        ("u8", "unsigned char", integers(0, 255)),
        ("i16", "short", integers(i16::MIN.into(), i16::MAX.into())),
        ("u16", "unsigned short", integers(0, u16::MAX.into())),
        ("i32", "int", integers(i32::MIN.into(), i32::MAX.into())),
        ("u32", "unsigned int", integers(0, u32::MAX.into())),
        (
            "i64",
            "long long",
            integers(i64::MIN.into(), i64::MAX.into()),
        ),
        ("u64", "unsigned long long", integers(0, u64::MAX.into())),
        ("bool", "bool", integers(0, 1)),
    ]);
}

/// The values are those that outputs are filled with before a launch, and those that a saturating
/// kernel writes.
#[test]
fn whatever_the_right_value_is_it_counts_as_written_and_its_lack_is_found() {
    let mut columns = Vec::new();
    for (dtype, cell, values) in [
        ("u8", "unsigned char", [0xa5_i64, 0x9a, 127, 255].as_slice()),
        ("i8", "signed char", &[-91, -102, 127, -128]),
        ("i16", "short", &[0x7fa5, 0x7f9a]),
        ("u16", "unsigned short", &[0x7fa5, 0x7f9a, 0xffff]),
        ("i32", "int", &[0x7fa5_7fa5, 0x7f9a_7f9a]),
        ("u32", "unsigned int", &[0x7fa5_7fa5, 0xffff_ffff]),
        (
            "i64",
            "long long",
            &[0x7fa5_7fa5_7fa5_7fa5, 0x7f9a_7f9a_7f9a_7f9a],
        ),
        ("u64", "unsigned long long", &[0x7fa5_7fa5_7fa5_7fa5]),
        ("f8e4m3", "unsigned char", &[448, 0]),
    ] {
        columns.extend(
            values
                .iter()
                .map(|value| (dtype, cell, format!("{{ constant = {value} }}"))),
        );
    }
    copies_are_judged(&columns);
}

#[test]
fn a_value_within_the_tolerance_is_right_also_where_it_equals_a_pattern() {
    let values = "{ integers = { low = 166, high = 166 } }";
    let problem = copy_problem("u8", values, "[tolerance.u8]\natol = 1");
    folder(&problem, "unsigned char", "y[i] = 165;")
        .judge()
        .expect(Exit::Passed);
    let judged = folder(&problem, "unsigned char", "y[i] = 164;").judge();
    judged
        .expect(Exit::Wrong)
        .expect_in("first_failure", "y[0] is 164, expected 166");
}

#[test]
fn an_i64_is_compared_beyond_the_range_of_a_double() {
    let values = "{ integers = { low = 9007199254740993, high = 9007199254740993 } }";
    let judged = folder(
        &copy_problem("i64", values, ""),
        "long long",
        "y[i] = x[i] - (i == 7);",
    )
    .judge();
    judged.expect(Exit::Wrong);
    judged.expect_in(
        "first_failure",
        "y[7] is 9007199254740992, expected 9007199254740993",
    );
}

#[test]
fn a_u64_is_compared_beyond_the_range_of_an_i64() {
    let values = "{ constant = \"18446744073709551615\" }";
    let judged = folder(
        &copy_problem("u64", values, ""),
        "unsigned long long",
        "y[i] = x[i] - (i == 7);",
    )
    .judge();
    judged.expect(Exit::Wrong);
    judged.expect_in(
        "first_failure",
        "y[7] is 18446744073709551614, expected 18446744073709551615",
    );
}

#[test]
fn an_f64_is_compared_with_all_its_digits() {
    let problem = copy_problem(
        "f64",
        "{ uniform = { low = 1.0, high = 2.0 } }",
        "[tolerance.f64]\nrtol = 1e-15",
    );
    folder(&problem, "double", "y[i] = x[i];")
        .judge()
        .expect(Exit::Passed);
    let judged = folder(&problem, "double", "y[i] = x[i] * (1 + (i == 7) * 3e-15);").judge();
    judged
        .expect(Exit::Wrong)
        .expect_in("first_failure", "y[7] is 1.");
}

#[test]
fn a_bool_is_compared_as_its_byte() {
    let problem = copy_problem("bool", "{ constant = 1 }", "");
    let judged = folder(&problem, "bool", "((unsigned char*)y)[i] = 2;").judge();
    judged
        .expect(Exit::Wrong)
        .expect_in("first_failure", "y[0] is 2, expected 1");
}

/// State that each launch adds to.
const STATE: &str = r#"
entry = "add"
dims = ["n"]
steps = 4
[[tensor]]
name = "x"
role = "in"
type = "f32"
shape = ["n"]
values = { constant = 1.0 }
[[tensor]]
name = "state"
role = "inout"
type = "f32"
shape = ["n"]
values = { uniform = { low = -0.5, high = 0.5 } }
[[tensor]]
name = "last"
role = "out"
type = "f32"
shape = ["n"]
[tolerance.f32]
atol = 1e-5
[objective]
samples = "n"
[[workload]]
dims = { n = 300 }
"#;

fn state(store: &str) -> Folder {
    let kernel = |store: &str| {
        format!(
            "#include \"lab.h\"\n\
             extern \"C\" __global__ void add(const float* x, float* state, float* last, int n) {{\n\
                 int i = blockIdx.x * blockDim.x + threadIdx.x;\n\
                 if (i < n) {{ {store} }}\n\
             }}\n\
             LAB_LAUNCH(add) {{ launch.grid[0] = (dims.n + 255) / 256; launch.block[0] = 256; }}\n"
        )
    };
    let right = kernel("last[i] = state[i]; state[i] += x[i];");
    Folder::new(&[
        ("problem.toml", STATE),
        ("reference.cu", &right),
        ("kernel.cu", &kernel(store)),
    ])
}

#[test]
fn state_is_compared_after_several_launches_in_a_row() {
    state("last[i] = state[i]; state[i] = x[i] + state[i];")
        .judge()
        .expect(Exit::Passed);
    // Right after one launch: no state is above 2 before the third one.
    let judged = state("last[i] = state[i]; state[i] = fminf(state[i] + x[i], 2.0f);").judge();
    judged
        .expect(Exit::Wrong)
        .expect_in("first_failure", "state[");
    judged.expect_in(
        "first_failure",
        "threads in order, after 4 launches in a row",
    );
}

#[test]
fn an_output_that_only_the_first_launch_writes_is_found() {
    let judged = state("if (state[i] < 0.5f) last[i] = state[i]; state[i] += x[i];").judge();
    judged
        .expect(Exit::Wrong)
        .expect_in("first_failure", "never wrote last[0], expected ");
    judged.expect_in("first_failure", "after 4 launches in a row");
}

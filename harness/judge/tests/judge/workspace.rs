//! Outputs that are workspace: `compare = false`.

use crate::support::{Folder, Judged};
use lab_protocol::Exit;

const PROBLEM: &str = r#"
entry = "square"
dims = ["n"]
[[tensor]]
name = "x"
role = "in"
type = "f32"
shape = ["n"]
values = { normal = {} }
[[tensor]]
name = "partial"
role = "out"
type = "f32"
shape = ["n"]
compare = false
[[tensor]]
name = "y"
role = "out"
type = "f32"
shape = ["n"]
tolerance = { rtol = 1e-6 }
[objective]
samples = "n"
[[workload]]
dims = { n = 300 }
"#;

fn kernel(body: &str) -> String {
    format!(
        "#include \"lab.h\"\n\
         extern \"C\" __global__ void square(const float* x, float* partial, float* y, int n) {{\n\
             int i = blockIdx.x * blockDim.x + threadIdx.x;\n\
             if (i < n) {{ {body} }}\n\
         }}\n\
         LAB_LAUNCH(square) {{ launch.grid[0] = (dims.n + 255) / 256; launch.block[0] = 256; }}\n"
    )
}

fn judge(problem: &str, body: &str) -> Judged {
    // The reference leaves the workspace alone.
    let reference = kernel("y[i] = x[i] * x[i];");
    Folder::new(&[
        ("problem.toml", problem),
        ("reference.cu", &reference),
        ("kernel.cu", &kernel(body)),
    ])
    .judge()
}

#[test]
fn a_workspace_may_hold_anything_and_is_guarded_all_the_same() {
    let judged = judge(PROBLEM, "partial[i] = 7 * x[i]; y[i] = x[i] * x[i];");
    judged.expect(Exit::Passed);
    assert_eq!(judged.report.value("partial_error"), None, "{}", judged.log);
    judge(PROBLEM, "y[i] = x[i] * x[i];").expect(Exit::Passed);
    judge(
        PROBLEM,
        "partial[i] = x[i]; y[i] = partial[i] * partial[i];",
    )
    .expect(Exit::Passed);
    // Nothing may be expected in it.
    judge(PROBLEM, "y[i] = x[i] * x[i] + 0 * partial[i];").expect(Exit::Wrong);
    judge(PROBLEM, "partial[i + 1] = 1; y[i] = x[i] * x[i];")
        .expect(Exit::Wrong)
        .expect_in(
            "first_failure",
            "wrote out of bounds: into cell 1 behind the last one of partial",
        );
}

#[test]
fn a_state_that_is_not_compared_still_goes_from_launch_to_launch() {
    let problem = PROBLEM
        .replace(
            "role = \"out\"\ntype = \"f32\"\nshape = [\"n\"]\ncompare",
            "role = \"inout\"\ntype = \"f32\"\nshape = [\"n\"]\nvalues = { constant = 2 }\ncompare",
        )
        .replace(
            "dims = [\"n\"]\n",
            "dims = [\"n\"]\nsteps = 3\nplanted = false\n",
        );
    let body = "y[i] = (partial[i] - 2) + x[i] * x[i]; partial[i] = 2;";
    judge(&problem, body).expect(Exit::Passed);
    judge(&problem, &body.replace("partial[i] = 2", "partial[i] = 3"))
        .expect(Exit::Wrong)
        .expect_in("first_failure", "after 3 launches in a row");
}

//! `lab export`: the files that it writes build and check themselves; what cannot be exported is
//! refused. There is no GPU here: the C++ compiler compiles the program with the headers in
//! `fake_cuda`, which run simple kernels on the host.

use crate::lab::Lab;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const PROBLEM: &str = r#"name = "shift"
entry = "shift_{T}"
types = ["f32", "i32"]
dims = ["rows", "cols"]
steps = 2

[[tensor]]
name = "x"
role = "in"
type = "T"
shape = ["rows", "cols"]
values = { integers = { low = -9, high = 9 } }

[[tensor]]
name = "place"
role = "in"
type = "i64"
shape = ["cols"]
values = { permutation = true }

[[tensor]]
name = "y"
role = "out"
type = "T"
shape = ["rows", "2 * cols"]

[[tensor]]
name = "state"
role = "inout"
type = "f32"
shape = ["rows", "cols"]
values = { normal = { std = 2.0 } }

[[scalar]]
name = "a"
type = "f32"
value = "1 / cols"

[tolerance.f32]
atol = 1e-6
rtol = 1e-6

[objective]
samples = "rows"

[[workload]]
dims = { rows = 3, cols = 8 }

[[workload]]
dims = { rows = 2, cols = 5 }
values = { x = { constant = 7 } }

[[held_out]]
dims = { rows = 1, cols = 1 }
"#;

/// Kernel and reference define the same names, include the same header, and their macros mean
/// different things.
const KERNEL: &str = r#"#include "lab.h"
#include "parts.cuh"
#define WIDTH 1

template <class T>
__device__ void shifted(const T* x, const long long* place, T* y, float* state, float a, int rows, int cols) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column >= cols) return;
    for (int half = 0; half < 2; half++) {
        y[row * 2 * cols + half * cols + place[column]] = twice(x[row * cols + column]) + T(half);
    }
    state[row * cols + column] += a * WIDTH;
}

extern "C" __global__ void shift_f32(const float* x, const long long* place, float* y, float* state, float a, int rows,
                                     int cols) {
    shifted(x, place, y, state, a, rows, cols);
}
extern "C" __global__ void shift_i32(const int* x, const long long* place, int* y, float* state, float a, int rows,
                                     int cols) {
    shifted(x, place, y, state, a, rows, cols);
}
#define LAUNCH(name)                                \
    LAB_LAUNCH(name) {                              \
        launch.grid[0] = (unsigned(dims.cols) + 3) / 4; \
        launch.grid[1] = dims.rows;                 \
        launch.block[0] = 4;                        \
    }
LAUNCH(shift_f32)
LAUNCH(shift_i32)
"#;

const HEADER: &str =
    "#pragma once\ntemplate <class T>\n__device__ T twice(T value) { return value + value; }\n";

fn reference() -> String {
    KERNEL
        .replace("WIDTH 1", "WIDTH(n) (n)")
        .replace("a * WIDTH", "WIDTH(a)")
}

/// A repository with the problem in a folder, without a keep.
fn problem() -> Lab {
    let lab = Lab::empty();
    lab.write(
        "lab.toml",
        "device = \"cpu\"\n[compile]\noptions = [\"--use_fast_math\", \"-DX=1\"]\n",
    );
    fs::create_dir_all(lab.path("kernels/shift")).unwrap();
    lab.write("kernels/shift/problem.toml", PROBLEM);
    lab.write("kernels/shift/kernel.cu", KERNEL);
    lab.write("kernels/shift/reference.cu", reference());
    lab.write("kernels/shift/parts.cuh", HEADER);
    lab
}

fn run(program: &str, arguments: &[&str], folder: &Path) -> Output {
    Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

#[track_caller]
fn text_of(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// Compiles an exported program for the host, runs it, and returns its exit code and what it
/// prints.
#[track_caller]
pub fn run_program(lab: &Lab, file: &str, kinds: &str, dims: usize) -> (Option<i32>, String) {
    let headers = concat!(
        "-I",
        env!("CARGO_MANIFEST_DIR"),
        "/tests/headless/fake_cuda"
    );
    let (kinds, dims) = (
        format!("-DFAKE_KINDS=\"{kinds}\""),
        format!("-DFAKE_DIMS={dims}"),
    );
    // Functions of a kernel's file are found by their names, as in a module of the device.
    let arguments = [
        "-std=c++17",
        "-O0",
        "-rdynamic",
        headers,
        &kinds,
        &dims,
        "-x",
        "c++",
        file,
        "-o",
        "program",
        "-ldl",
    ];
    let built = run("c++", &arguments, &lab.repo);
    assert!(built.status.success(), "{}", text_of(&built));
    let done = run("./program", &[], &lab.repo);
    (done.status.code(), text_of(&done))
}

#[track_caller]
pub fn is_python(lab: &Lab, file: &str) {
    let compiled = run("python3", &["-m", "py_compile", file], &lab.repo);
    assert!(compiled.status.success(), "{}", text_of(&compiled));
}

#[test]
fn an_exported_program_verifies_its_kernel() {
    let lab = problem();
    lab.lab("export kernels/shift/kernel.cu --to standalone").is(0).says("wrote shift.cu (standalone)").says("no run has judged it (`lab run`)").says(
        "next: `nvcc -O3 -arch=native -std=c++17 --use_fast_math -DX=1 shift.cu -o shift && ./shift` verifies and times it",
    );
    let (code, said) = run_program(&lab, "shift.cu", "ppppfii", 2);
    assert_eq!(code, Some(0), "{said}");
    for line in [
        "ok     rows=3 cols=8 T=f32  ",
        "ok     rows=2 cols=5 T=i32  ",
        "ok     rows=1 cols=1 T=f32  not timed",
    ] {
        assert!(said.contains(line), "{said}");
    }
    assert!(said.ends_with("all 6 workloads are right\n"), "{said}");
}

#[test]
fn an_exported_program_is_no_kernel_of_its_folder() {
    let lab = problem();
    let only = "this is about kernels/shift/kernel.cu, the only kernel of the repository";
    lab.lab("log").says(only);
    lab.lab("export kernels/shift/kernel.cu --to standalone")
        .is(0);
    for command in ["log", "run", "keep -m x"] {
        lab.lab(command).says(only);
    }
}

#[test]
fn an_exported_program_finds_a_wrong_kernel() {
    for (right, wrong, found) in [
        // A wrong cell, a cell that is never written, a state that is wrong only after two
        // launches, a changed input.
        ("+ T(half)", "+ T(half) + T(column == 2)", "y[0, "),
        (
            "if (column >= cols)",
            "if (column >= cols - (cols == 5))",
            "y[",
        ),
        (
            "+= a * WIDTH",
            "+= state[0] > 1e30f ? 0 : a + a * 1e-4f",
            "state[",
        ),
        (
            "state[row",
            "const_cast<T*>(x)[0] = T(1); state[row",
            "the kernel changed its input x",
        ),
    ] {
        let lab = problem();
        let kernel = KERNEL.replace(right, wrong);
        assert_ne!(kernel, KERNEL, "{right}");
        lab.write("kernels/shift/kernel.cu", kernel);
        lab.lab("export kernels/shift/kernel.cu --to standalone")
            .is(0);
        let (code, said) = run_program(&lab, "shift.cu", "ppppfii", 2);
        assert_eq!(code, Some(1), "{wrong}: {said}");
        assert!(
            said.contains("WRONG  ") && said.contains(found),
            "{wrong}: {said}"
        );
    }
}

/// A list with scratch. One kernel gets its name from a macro; the reference has the same names
/// without a macro.
#[test]
fn a_launch_list_is_exported() {
    let lab = Lab::empty();
    lab.write("lab.toml", "device = \"cpu\"\n");
    lab.write(
        "problem.toml",
        "name = \"sums\"\nentry = \"sums\"\ndims = [\"n\"]\n[[tensor]]\nname = \"x\"\nrole = \"in\"\ntype = \"f16\"\nshape = [\"n\"]\nvalues = \
         { uniform = { low = -1, high = 1 } }\n[[tensor]]\nname = \"y\"\nrole = \"out\"\ntype = \"f16\"\nshape = \
         [\"n\"]\n[tolerance.f16]\natol = 0\n[objective]\nsamples = \"n\"\n[[workload]]\ndims = { n = 33 }\n",
    );
    let kernel = "#include \"lab.h\"\n#define TEXT(name) #name\n#define NAME(name) TEXT(name)\n#define FIRST first\n\
        extern \"C\" __global__ void FIRST(const short* x, short*, int n, short* scratch) {\n    scratch[blockIdx.x] = x[blockIdx.x];\n}\n\
        extern \"C\" __global__ void second(const short*, short* y, int n, const short* scratch) {\n    y[blockIdx.x] = scratch[blockIdx.x];\n}\n\
        LAB_LAUNCHES(sums) {\n    launches.scratch_bytes = 2 * dims.n;\n    launches.zeroed = 1;\n    launches.add(NAME(FIRST)).grid[0] = dims.n;\n    \
        launches.add(\"second\").grid[0] = dims.n;\n}\n";
    lab.write("kernel.cu", kernel);
    lab.write("reference.cu", kernel);
    lab.lab("export kernel.cu --to standalone --output sums.cu")
        .is(1)
        .says("reference.cu: FIRST is the name of a macro and of a kernel");
    lab.write(
        "reference.cu",
        kernel
            .replace("#define FIRST first\n", "")
            .replace("FIRST", "first"),
    );
    lab.lab("export kernel.cu --to standalone --output sums.cu")
        .is(0);
    let (code, said) = run_program(&lab, "sums.cu", "ppip", 1);
    assert_eq!(
        (code, said.lines().last()),
        (Some(0), Some("all 1 workloads are right")),
        "{said}"
    );
    lab.write(
        "kernel.cu",
        kernel.replace("x[blockIdx.x];", "x[blockIdx.x] + (blockIdx.x == 7);"),
    );
    lab.lab("export kernel.cu --to standalone --output sums.cu --force")
        .is(0);
    let (code, said) = run_program(&lab, "sums.cu", "ppip", 1);
    assert!(
        code == Some(1) && said.contains("WRONG  n=33: y[7] is "),
        "{said}"
    );
}

#[test]
fn the_kept_kernel_is_exported_with_its_commit_and_its_figure() {
    let lab = problem();
    lab.write("LICENSE", "mine\n");
    lab.git("add LICENSE kernels/shift/parts.cuh");
    lab.git("commit -qm start");
    let before = lab
        .lab("export --json kernels/shift --to torch")
        .is(1)
        .json();
    let why = before["error"].as_str().unwrap();
    assert!(
        why.contains("HEAD holds no kernels/shift/kernel.cu, so no kernel has been kept yet"),
        "{why}"
    );
    lab.lab("run kernels/shift").is(0);
    lab.lab("keep kernels/shift -m kept").is(0);
    // The bytes decide, not the name of the file.
    let commit = lab.git("rev-parse HEAD").trim().to_owned();
    let of_file = || {
        lab.lab("export kernels/shift/kernel.cu --json --to torch --force")
            .is(0)
            .json()
    };
    let answer = of_file();
    assert_eq!(
        (&answer["commit"], &answer["run"]),
        (&json!(commit), &json!(1))
    );
    let text = lab.read("shift.py");
    let words = format!(
        "of the commit {} (kept), and the files beside it are those on disk",
        &commit[..7]
    );
    assert!(text.contains(&words) && text.contains("(run 1)"), "{text}");
    // Its record was changed since, so somebody else's lab may have written it.
    let record = lab.read(".lab/runs/1/record.json");
    lab.write(
        ".lab/runs/1/record.json",
        record.replace("\"kept\"", "\"Kept\""),
    );
    of_file();
    assert!(
        lab.read("shift.py").contains("(run 1, foreign: "),
        "{}",
        lab.read("shift.py")
    );
    lab.write(".lab/runs/1/record.json", record);
    // Another kernel was judged, and then discarded.
    lab.write("kernels/shift/kernel.cu", format!("{KERNEL}// another\n"));
    of_file();
    assert!(
        lab.read("shift.py")
            .contains("; no run here judged these bytes."),
        "{}",
        lab.read("shift.py")
    );
    lab.lab("run kernels/shift").is(0);
    let answer = of_file();
    assert_eq!(
        (&answer["commit"], &answer["run"]),
        (&Value::Null, &json!(2))
    );
    assert!(
        lab.read("shift.py")
            .contains("; run 2 judged these bytes: PASS, not kept.")
    );
    lab.lab("discard kernels/shift -m slow").is(0);
    lab.lab("restore 2").is(0);
    of_file();
    assert!(
        lab.read("shift.py")
            .contains("; run 2 judged these bytes: PASS, discarded (slow).")
    );
    // The command names the project's interpreter.
    let mut command = lab.lab_command("export kernels/shift --json --to torch --force");
    command.env("LAB_PYTHON", "/opt/my python");
    let answer = crate::lab::finish(command.spawn().unwrap()).is(0).json();
    assert_eq!(answer["next"], "'/opt/my python' shift.py");
    fs::remove_file(lab.path("shift.py")).unwrap();
    // The bytes on disk are not the kept ones.
    lab.write("kernels/shift/kernel.cu", "not a kernel");
    lab.write("kernels/shift/problem.toml", "not a problem");
    lab.write("kernels/shift/parts.cuh", "not a header");
    for (form, file, next) in [
        ("torch", "shift.py", "python3 shift.py"),
        (
            "standalone",
            "out/one file.cu",
            "nvcc -O3 -arch=native -std=c++17 --use_fast_math -DX=1 'one file.cu' -o 'one file' && './one file'",
        ),
    ] {
        fs::create_dir_all(lab.path("out")).unwrap();
        let mut command = lab.lab_command(&format!("export kernels/shift --json --to {form}"));
        command.args(["--output", file]);
        let answer = crate::lab::finish(command.spawn().unwrap()).is(0).json();
        let wanted = json!(["kernels/shift/kernel.cu", form, file, commit, 1, next]);
        let found: Vec<Value> = ["kernel", "to", "file", "commit", "run", "next"]
            .iter()
            .map(|key| answer[*key].clone())
            .collect();
        assert_eq!(Value::from(found), wanted);
        let text = lab.read(file);
        assert!(
            text.contains(&format!(
                "kernels/shift/kernel.cu of the commit {} (kept)",
                &commit[..7]
            )),
            "{text}"
        );
        assert!(
            text.contains("on cpu (")
                && text.contains("which is emulated")
                && text.contains("(run 1)"),
            "{text}"
        );
        assert!(
            text.contains("that of their repository (LICENSE)"),
            "{text}"
        );
        assert!(
            text.contains("T twice(T value)") && !text.contains("parts.cuh\""),
            "the header is in place"
        );
    }
    is_python(&lab, "shift.py");
}

/// The whole files, so that a change of them is seen.
#[test]
fn the_files_are_as_before() {
    let lab = problem();
    for (form, ending) in [("standalone", "cu"), ("torch", "py")] {
        lab.lab(&format!("export kernels/shift/kernel.cu --to {form}"))
            .is(0);
        insta::assert_snapshot!(
            format!("export-shift-{ending}"),
            lab.read(&format!("shift.{ending}"))
        );
    }
    is_python(&lab, "shift.py");
}

#[test]
fn a_python_kernel_is_exported_as_it_is() {
    let lab = problem();
    let kernel = "\"\"\"A kernel.\"\"\"\nfrom __future__ import annotations\n\n\ndef shift_f32(x, place, y, state, a, **_):\n    y.copy_(x)\n";
    lab.write("kernels/shift/kernel.py", kernel);
    lab.lab("export kernels/shift/kernel.py --to torch").is(0);
    let text = lab.read("shift.py");
    assert!(
        text.contains(kernel) && text.contains("_LAB_REFERENCE = r"),
        "{text}"
    );
    is_python(&lab, "shift.py");
    // The reference may be Python too. This one holds the quotes that end a text of Python.
    fs::remove_file(lab.path("kernels/shift/reference.cu")).unwrap();
    lab.write(
        "kernels/shift/reference.py",
        "def shift_f32(x, y, **_):\n    \"\"\"Plain.\\n\"\"\"\n    y.copy_(x)\n",
    );
    lab.lab("export kernels/shift/kernel.py --to torch --force")
        .is(0);
    is_python(&lab, "shift.py");
    assert!(
        !lab.read("shift.py").contains("_LAB_BINDING ="),
        "nothing is to be built"
    );
    lab.lab("export kernels/shift/kernel.cu --to torch --force")
        .is(0);
    is_python(&lab, "shift.py");
    let refused = lab
        .lab("export kernels/shift/kernel.py --to standalone")
        .is(1);
    refused.says(
        "kernels/shift/kernel.py is a Python kernel, which cannot stand in a .cu: `lab export --to torch`",
    );
    lab.lab("export kernels/shift/kernel.cu --to standalone")
        .is(1)
        .says("the reference is kernels/shift/reference.py");
    lab.write("kernels/shift/tiles.py", "");
    lab.write(
        "kernels/shift/kernel.py",
        format!("{kernel}\nimport os, tiles\n"),
    );
    let refused = lab
        .lab("export kernels/shift/kernel.py --to torch --force")
        .is(1);
    refused.says("kernels/shift/kernel.py:8: tiles.py lies beside the kernel");
}

#[test]
fn what_cannot_be_exported_is_named() {
    let lab = problem();
    let export = |arguments: &str| lab.lab(&format!("export kernels/shift/kernel.cu {arguments}"));
    export("").is(64).says("--to");
    export("--to c").is(64).says("standalone");
    lab.write("shift.cu", "mine");
    export("--to standalone")
        .is(1)
        .says("shift.cu exists: name another file with --output FILE, or replace it with --force");
    assert_eq!(lab.read("shift.cu"), "mine");
    export("--to standalone --force").is(0);
    for own in ["kernel.cu", "reference.cu"] {
        export(&format!(
            "--to standalone --force --output kernels/shift/{own}"
        ))
        .is(1)
        .says("is a file of the problem");
    }
    assert_eq!(lab.read("kernels/shift/kernel.cu"), KERNEL);
    export("--to torch --output math.py")
        .is(1)
        .says("would hide the module math");
    export("--to torch --output x.cu")
        .is(1)
        .says("must end in .py");
    export("--to torch --output kernels")
        .is(1)
        .says("it is a folder");
    export("--to torch --output nowhere/x.py")
        .is(1)
        .says("there is no folder nowhere");
    lab.lab("export ../home/kernel.cu --to torch").is(1);
    lab.lab("export kernels/shift/none.cu --to torch")
        .is(1)
        .says("there is no kernels/shift/none.cu");
    lab.write(
        "kernels/shift/kernel.cu",
        KERNEL.replace("\"parts.cuh\"", "PARTS"),
    );
    export("--to torch")
        .is(1)
        .says("kernels/shift/kernel.cu: an #include names the macro PARTS");
    lab.write("kernels/shift/kernel.cu", b"// \xff\n");
    export("--to torch")
        .is(1)
        .says("kernels/shift/kernel.cu on disk is not UTF-8 text");
    lab.write("kernels/shift/kernel.cu", KERNEL);
    fs::remove_file(lab.path("kernels/shift/reference.cu")).unwrap();
    export("--to torch")
        .is(1)
        .says("the problem has no reference.cu and no reference.py");
    lab.write("kernels/shift/reference.cu", "");
    let accept = format!("{PROBLEM}\n[[accept]]\nname = \"gap\"\nleast = 0\n");
    lab.write("kernels/shift/problem.toml", accept);
    export("--to torch")
        .is(1)
        .says("has the key accept, which an export cannot write yet");
    lab.write(
        "kernels/shift/problem.toml",
        PROBLEM.replace("rows = 3", "rows = 0"),
    );
    lab.write("kernels/shift/reference.cu", "");
    export("--to torch")
        .is(1)
        .says("kernels/shift/problem.toml:")
        .says("an extent must be from 1");
    assert!(!lab.path("shift.py").exists());
}

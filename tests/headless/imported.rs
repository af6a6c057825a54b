//! Problems from the files of flashinfer-bench: a definition or a solution in, a folder out that the
//! judge takes, and a solution back.

use crate::lab::{CommandOutput, Lab, finish};
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

/// Judges a kernel on the cpu device with the Python that LAB_TEST_PYTHON names. `None` if that
/// Python lacks a package: then the run says which.
pub fn judged(lab: &Lab, folder: &str, package: &str) -> Option<CommandOutput> {
    let python = std::env::var("LAB_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut run = lab.plain_lab_command(&format!("run {folder} --device cpu"));
    run.env("LAB_PYTHON", &python);
    let run = finish(run.spawn().unwrap());
    let import = format!("import numpy, {package}");
    let answer = Command::new(&python).args(["-c", &import]).output();
    match answer.is_ok_and(|answer| answer.status.success()) {
        true => Some(run),
        false => {
            assert_ne!(run.code, 0, "{run:?}");
            None
        }
    }
}

/// A data set of flashinfer-bench: C = A + b, with one workload.
fn data_set() -> Lab {
    let lab = Lab::empty();
    for folder in ["definitions", "workloads", "solutions"] {
        fs::create_dir_all(lab.path(&format!("set/{folder}/add"))).unwrap();
    }
    let definition = json!({
        "name": "add_d8", "op_type": "add", "description": "C = A + b",
        "axes": { "M": { "type": "var" }, "D": { "type": "const", "value": 8 } },
        "inputs": { "A": { "shape": ["M", "D"], "dtype": "float32" }, "b": { "shape": null, "dtype": "float32" } },
        "outputs": { "C": { "shape": ["M", "D"], "dtype": "float32" } },
        "reference": "def run(A, b):\n    return A + b",
    });
    lab.write("set/definitions/add/add_d8.json", definition.to_string());
    lab.write(
        "set/workloads/add/add_d8.jsonl",
        "{\"definition\": \"add_d8\", \"workload\": {\"uuid\": \"a\", \"axes\": {\"M\": 5}, \"inputs\": {\"A\": {\"type\": \"random\"}, \
         \"b\": {\"type\": \"scalar\", \"value\": 2.5}}}}\n",
    );
    lab
}

/// A solution of the data set's definition, with its entry first among the sources.
fn solution(language: &str, entry: &str, sources: &[(&str, &str)]) -> Value {
    let sources: Vec<Value> = sources
        .iter()
        .map(|(path, content)| json!({ "path": path, "content": content }))
        .collect();
    json!({
        "name": "fast_add", "definition": "add_d8", "author": "somebody",
        "spec": { "language": language, "target_hardware": ["NVIDIA_H100"], "entry_point": entry },
        "sources": sources,
    })
}

/// A definition as flashinfer-bench publishes it, with its workloads where the data set has them.
#[test]
fn a_definition_of_flashinfer_bench_becomes_a_problem_in_python() {
    let lab = data_set();
    lab.lab("init set/definitions/add/add_d8.json")
        .is(0)
        .says("wrote add_d8/kernel.py for add_d8 of set/definitions/add/add_d8.json: problem.toml, kernel.py, reference.py, workloads.jsonl")
        .says("next: `lab trust`, then `lab run add_d8`");
    lab.lab("trust --yes").is(0);
    if let Some(run) = judged(&lab, "add_d8", "numpy") {
        run.is(0).says("PASS");
    }
    // The folder of the data set means its only definition.
    lab.lab("init set --name again").is(0).says("add_d8");
    assert_eq!(
        lab.read("again/reference.py"),
        lab.read("add_d8/reference.py")
    );
    lab.write("set/definitions/second.json", "{}");
    lab.lab("init set").is(1).says(
        "set holds 2 definitions: name one, as in `lab init set/definitions/add/add_d8.json`",
    );
    lab.write("broken.json", "{}");
    lab.lab("init broken.json")
        .is(1)
        .says("no problem can be written for broken.json: it is no definition of flashinfer-bench");
}

#[test]
fn a_solution_in_python_becomes_the_kernel_with_its_modules() {
    let lab = data_set();
    let main = "from tools.sums import total\n\ndef run(A, b, C):\n    C[...] = total(A, b)\n";
    let sums = "def total(a, b):\n    return a + b\n";
    let mut right = solution(
        "python",
        "main.py::run",
        &[("main.py", main), ("tools/sums.py", sums)],
    );
    lab.write("set/solutions/add/fast.json", right.to_string());
    lab.lab("init set/solutions/add/fast.json --name fast")
        .is(0)
        .says("wrote fast/kernel.py for add_d8 of set/solutions/add/fast.json: problem.toml, kernel.py, tools/sums.py");
    assert_eq!(lab.read("fast/tools/sums.py"), sums);
    assert!(
        lab.read("fast/kernel.py")
            .contains("solution fast_add by somebody"),
        "{}",
        lab.read("fast/kernel.py")
    );
    // One that returns its output, and forgets b.
    right["spec"]["destination_passing_style"] = json!(false);
    right["sources"][0]["content"] = json!("def run(A, b):\n    return A\n");
    lab.write("wrong.json", right.to_string());
    lab.lab("init set/definitions/add/add_d8.json --solution wrong.json --name wrong")
        .is(0);
    lab.lab("trust --yes").is(0);
    if let Some(run) = judged(&lab, "fast", "numpy") {
        run.is(0).says("PASS");
        judged(&lab, "wrong", "numpy").unwrap().is(1).says("FAIL");
    }
}

/// The kernel of an extension, without its host code and with the names of the definition.
const CUDA: &str = "#include <tvm/ffi/container/tensor.h>\n#include \"shapes.h\"\n\n\
    __global__ void add_kernel(const float* A, float* C, float b, int m) {\n    \
    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < m * WIDTH) C[i] = A[i] + b;\n}\n\n\
    void run(tvm::ffi::TensorView A, float b, tvm::ffi::TensorView C) {\n    int m = A.size(0);\n    \
    add_kernel<<<(m * WIDTH + 255) / 256, 256>>>((float*)A.data_ptr(), (float*)C.data_ptr(), b, m);\n}\n";

#[test]
fn a_solution_in_cuda_becomes_kernel_cu_with_the_definition_s_reference() {
    let lab = data_set();
    let sources = [("kernel.cu", CUDA), ("shapes.h", "#define WIDTH 8\n")];
    let cuda = solution("cuda", "kernel.cu::run", &sources).to_string();
    lab.write("set/solutions/add/cuda.json", &cuda);
    lab.lab("init set/solutions/add/cuda.json")
        .is(0)
        .says("wrote add_d8/kernel.cu for add_kernel of set/solutions/add/cuda.json: problem.toml, kernel.cu, reference.py");
    let kernel = lab.read("add_d8/kernel.cu");
    assert!(
        kernel.contains("dims.M") && !kernel.contains("tvm"),
        "{kernel}"
    );
    let problem = lab.read("add_d8/problem.toml");
    assert!(problem.contains("shape = [\"M\", 8]"), "{problem}");
    lab.lab("trust --yes").is(0);
    if let Some(run) = judged(&lab, "add_d8", "numpy") {
        run.is(0).says("PASS");
        lab.write("add_d8/kernel.cu", kernel.replace("+ b;", "- b;"));
        judged(&lab, "add_d8", "numpy").unwrap().is(1).says("FAIL");
    }
}

#[test]
fn what_of_a_solution_cannot_become_a_kernel_is_named_and_nothing_is_written() {
    let lab = data_set();
    let refused = |solution: Value, why: &str| {
        lab.write("s.json", solution.to_string());
        lab.lab("init set/definitions/add/add_d8.json --solution s.json --name s")
            .is(1)
            .says(why);
        assert!(!lab.path("s").exists());
    };
    let cpp = solution("cpp", "main.cpp::run", &[("main.cpp", "void run() {}\n")]);
    refused(
        cpp,
        "s.json cannot become a kernel: it is written in cpp, and a kernel of lab is CUDA C++ or Python",
    );
    let outside = [
        ("main.py", "def run(A, b, C):\n    pass\n"),
        ("../x.py", ""),
    ];
    refused(
        solution("python", "main.py::run", &outside),
        "its source \"../x.py\" cannot be a file beside the kernel",
    );
    let stranger = CUDA.replace("float b, int m)", "float b, int m, int stride)");
    refused(
        solution("cuda", "kernel.cu::run", &[("kernel.cu", &stranger)]),
        "add_kernel of its kernel.cu cannot become kernel.cu: its parameter stride has the name of no",
    );
    let mut other = solution("python", "main.py::run", &outside[..1]);
    other["definition"] = json!("mul_d8");
    refused(other.clone(), "s.json is for the definition mul_d8");
    lab.write("s.json", other.to_string());
    lab.lab("init s.json")
        .is(1)
        .says("is a solution of mul_d8, and there is no mul_d8.json beside it");
}

#[test]
fn a_kernel_for_a_definition_is_exported_as_a_solution_and_comes_back() {
    let lab = data_set();
    let main = "def run(A, b, C):\n    C[...] = A + b\n";
    let first = solution("python", "main.py::run", &[("main.py", main)]);
    lab.write("first.json", first.to_string());
    lab.lab("init set/definitions/add/add_d8.json --solution first.json")
        .is(0);
    lab.lab("export add_d8/kernel.py --to flashinfer-bench --output second.json")
        .is(0)
        .says("flashinfer-bench run --local DATA_SET --definitions add_d8 --solutions add_d8");
    let second: Value = serde_json::from_str(&lab.read("second.json")).unwrap();
    assert_eq!(second["spec"]["entry_point"], "kernel.py::lab_solution");
    assert_eq!(second["definition"], "add_d8");
    lab.lab("init set/definitions/add/add_d8.json --solution second.json --name back")
        .is(0);
    lab.lab("trust --yes").is(0);
    if let Some(run) = judged(&lab, "back", "numpy") {
        run.is(0).says("PASS");
    }
    // A problem that comes from nowhere.
    lab.lab("new plain --template python").is(0);
    lab.lab("export plain/kernel.py --to flashinfer-bench")
        .is(1)
        .says("a solution is for a definition of flashinfer-bench, and there is no plain/definition.json");
    lab.lab("export plain/kernel.py --to gpu-mode")
        .is(1)
        .says("a submission is for a task of GPU MODE, and there is no plain/task.yml");
    lab.write("add_d8/helper.py", "x = 1\n");
    lab.write(
        "add_d8/kernel.py",
        "import helper\n".to_owned() + &lab.read("add_d8/kernel.py"),
    );
    lab.lab("export add_d8/kernel.py --to flashinfer-bench --force")
        .is(1)
        .says("add_d8/helper.py lies beside add_d8/kernel.py, and an export is one file");
}

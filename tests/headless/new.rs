//! `lab new`: a problem from a template that builds and passes at once, and the names that are
//! refused.

use crate::lab::Lab;
use serde_json::{Value, json};
use std::fs;

fn device_cpu() -> Lab {
    let lab = Lab::empty();
    lab.write("lab.toml", "device = \"cpu\"\n");
    lab
}

#[track_caller]
fn passes_and_is_kept(template: &str) {
    let lab = device_cpu();
    fs::create_dir(lab.path("kernels")).unwrap();
    lab.lab(&format!("new my-{template} --template {template}"))
        .is(0)
        .says(&format!(
            "wrote kernels/my-{template} ({template}): problem.toml, reference.cu, kernel.cu, README.md"
        ))
        .says(&format!(
            "next: `lab run kernels/my-{template}` judges it once, `lab kernels/my-{template}` opens"
        ));
    let run = lab
        .lab(&format!("run --json kernels/my-{template}"))
        .is(0)
        .json();
    assert_eq!(
        (&run["outcome"], &run["kernel"]),
        (
            &json!("pass"),
            &json!(format!("kernels/my-{template}/kernel.cu"))
        )
    );
    // The first keep commits the rules too.
    lab.lab(&format!("keep kernels/my-{template} -m first"))
        .is(0);
    let committed = lab.git("ls-files");
    for file in ["kernel.cu", "problem.toml", "reference.cu"] {
        assert!(
            committed.contains(&format!("kernels/my-{template}/{file}")),
            "{committed}"
        );
    }
    // A wrong kernel is found at once.
    let kernel = format!("kernels/my-{template}/kernel.cu");
    let text = lab.read(&kernel);
    let wrong = text
        .replace("i < n)", "i < n - 1)")
        .replace("c < cols;", "c < cols - 1;")
        .replace("i < TILE;", "i < TILE - 1;");
    assert_ne!(text, wrong);
    lab.write(&kernel, wrong);
    lab.lab(&format!("run kernels/my-{template}")).is(1);
}

#[test]
fn a_new_elementwise_problem_passes_and_is_kept() {
    passes_and_is_kept("elementwise");
}

#[test]
fn a_new_reduction_passes_and_is_kept() {
    passes_and_is_kept("reduction");
}

#[test]
fn a_new_matrix_product_passes_and_is_kept() {
    passes_and_is_kept("matmul");
}

#[test]
fn a_script_gets_the_paths_and_the_next_commands() {
    let lab = device_cpu();
    let made = lab.lab("new softmax --json").is(0).json();
    assert_eq!(
        (&made["folder"], &made["kernel"]),
        (&json!("softmax"), &json!("softmax/kernel.cu"))
    );
    assert_eq!(
        (&made["template"], &made["name"]),
        (&json!("elementwise"), &json!("softmax"))
    );
    assert_eq!(
        made["files"],
        json!(["problem.toml", "reference.cu", "kernel.cu", "README.md"])
    );
    assert_eq!(made["next"], json!(["lab run softmax", "lab softmax"]));
    let again = lab.lab("new softmax --json").is(1).json();
    assert!(
        again["error"]
            .as_str()
            .unwrap()
            .contains("softmax exists already and was not changed"),
        "{again}"
    );
    assert_eq!(again["kernel"], Value::Null);
    let unknown = lab.lab("new a --template conv --json").is(64).json();
    assert!(
        unknown["error"]
            .as_str()
            .unwrap()
            .contains("elementwise, reduction, matmul"),
        "{unknown}"
    );
    assert!(
        lab.lab("new --json").is(64).json()["error"]
            .as_str()
            .unwrap()
            .contains("<NAME>")
    );
    for name in ["2d", "'a b'", "tests", "../../outside", ".hidden"] {
        assert!(
            lab.lab(&format!("new {name} --json")).is(1).json()["error"].is_string(),
            "{name}"
        );
    }
}

#[test]
fn the_path_in_the_answer_fits_the_folder_of_the_command() {
    let lab = device_cpu();
    fs::create_dir_all(lab.path("a/kernels")).unwrap();
    lab.sh("cd a && $LAB new one")
        .is(0)
        .says("`lab run kernels/one`");
    lab.sh("cd a/kernels && $LAB new two && $LAB run two")
        .is(0)
        .says("wrote a/kernels/two")
        .says("● PASS  run 1 of a/kernels/two/kernel.cu");
    lab.sh("cd a/kernels/two && $LAB new ../three")
        .is(0)
        .says("wrote a/kernels/three")
        .says("`lab run ../three`");
    // In its folder a problem needs no argument.
    lab.sh("cd a/kernels/three && $LAB run").is(0);
}

#[test]
fn beside_a_harness_of_the_users_own_the_built_in_one_judges_a_new_problem() {
    let lab = Lab::new();
    lab.lab("new softmax")
        .is(0)
        .says("lab.toml names a harness of your own");
    let run = lab.lab("run softmax --device cpu --json").is(0).json();
    assert_eq!(
        (&run["external"], &run["outcome"]),
        (&json!(false), &json!("pass"))
    );
    // The user's own kernel is judged as before.
    assert_eq!(lab.lab("run --json").is(0).json()["external"], json!(true));
}

#[test]
fn the_kernels_of_the_repository_are_named_without_those_of_tests() {
    let lab = Lab::empty();
    for name in ["kernels/softmax", "kernels/gemm"] {
        lab.lab(&format!("new {name}")).is(0);
    }
    fs::create_dir_all(lab.path("tests/wrong")).unwrap();
    lab.write("tests/wrong/kernel.cu", "");
    let said = lab.lab("run").is(64);
    assert!(
        said.err
            .contains("  kernels/gemm\n       kernels/softmax\n     `lab"),
        "{said:?}"
    );
    assert!(!said.err.contains("tests/wrong"), "{said:?}");
    lab.write(
        "lab.toml",
        "[project]\nkernels = [\"tests\", \"kernels/s*\"]\n",
    );
    let said = lab.lab("run").is(64);
    assert!(
        said.err
            .contains(":\n       kernels/softmax\n       tests/wrong\n     `lab"),
        "{said:?}"
    );
    lab.write("lab.toml", "[project]\nkernels = [\"../x\"]\n");
    lab.lab("run")
        .is(64)
        .says("project.kernels = [\"../x\"]: it names folders below that of lab.toml");
    // If the list of kernels leaves out the new problem, a note says so.
    lab.write("lab.toml", "[project]\nkernels = [\"tests\"]\n");
    lab.lab("new other")
        .is(0)
        .says("the list of kernels leaves kernels/other out");
}

/// With a Python that has NumPy, which LAB_TEST_PYTHON names; with another one the judge says what
/// is missing.
#[test]
fn a_new_problem_in_python_passes_and_is_kept() {
    let lab = device_cpu();
    lab.lab("new scaled --template python")
        .is(0)
        .says("wrote scaled (python): problem.toml, reference.py, kernel.py, README.md");
    lab.git("add -A");
    lab.git("commit -qm start");
    lab.lab("trust --yes").is(0);
    let python = std::env::var("LAB_TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let command = |args: &str| {
        let mut command = lab.plain_lab_command(args);
        command.env("LAB_PYTHON", &python);
        crate::lab::finish(command.spawn().unwrap())
    };
    let has_numpy = std::process::Command::new(&python)
        .args(["-c", "import numpy, ml_dtypes"])
        .output();
    if !has_numpy.is_ok_and(|answer| answer.status.success()) {
        // The run says so and claims nothing about the kernel.
        assert_ne!(command("run scaled").code, 0);
        return;
    }
    lab.write(
        "scaled/kernel.py",
        lab.read("scaled/kernel.py") + "\n# changed\n",
    );
    let run = command("run --json scaled").is(0).json();
    assert_eq!(
        (&run["outcome"], &run["kernel"]),
        (&json!("pass"), &json!("scaled/kernel.py")),
        "{run}"
    );
    command("keep scaled -m first").is(0);
    // A wrong kernel is found, and an error is shown at its line.
    let text = lab.read("scaled/kernel.py");
    lab.write(
        "scaled/kernel.py",
        text.replace("z[...] = a * x + y", "z[...] = a * x + y\n    z[-1] = 0"),
    );
    command("run scaled").is(1);
    lab.write("scaled/tiles.py", "SCALE = 1\n");
    lab.write(
        "scaled/kernel.py",
        format!("import tiles\n{text}")
            .replace("z[...] = a * x + y", "z[...] = a * x * tiles.SCALE + y"),
    );
    command("run scaled").is(0);
    // A warning names the line as an error does.
    lab.write(
        "scaled/kernel.py",
        format!("import warnings\nwarnings.warn('a guess')\n{text}"),
    );
    command("run scaled")
        .is(0)
        .says("scaled/kernel.py:2: UserWarning: a guess");
    command("harness scaled --trusted --device cpu").is(0);
    lab.write(
        "scaled/kernel.py",
        text.replace("z[...] = a * x + y", "z[...] = b * x + y"),
    );
    command("run scaled")
        .says("scaled/kernel.py:")
        .says("NameError: name 'b' is not defined");
}

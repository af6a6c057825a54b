//! What `lab init`, `lab doctor` and `lab trust` say about a project in Python: its interpreter,
//! its packages, its harness.

use crate::lab::{Lab, finish};
use std::fs;

/// A Python without NumPy, as a shell script: it prints what the probe of `lab doctor` would print.
fn python_without_numpy(lab: &Lab, path: &str) {
    let found = "{\"version\": \"3.12.1\", \"packages\": {\"torch\": {\"version\": \"2.6.0\", \"cuda\": null}}}";
    lab.script(path, &format!("echo; echo 'lab-doctor: {found}'"));
}

/// The finding about Python.
fn finding(output: crate::lab::CommandOutput) -> serde_json::Value {
    let answer: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    let findings = answer["findings"].as_array().unwrap();
    findings
        .iter()
        .find(|finding| finding["what"] == "python")
        .unwrap()
        .clone()
}

#[test]
fn doctor_names_the_interpreter_and_what_is_missing_in_it() {
    let lab = Lab::empty();
    lab.write("kernel.py", "import triton\n");
    lab.write(
        "lab.toml",
        "python = \".venv/bin/python\"\ndevice = \"cpu\"\n",
    );
    fs::create_dir_all(lab.path(".venv/bin")).unwrap();
    let doctor = |variable: Option<&str>| {
        let mut command = lab.plain_lab_command("doctor --json");
        command.envs(variable.map(|named| ("LAB_PYTHON", named)));
        finding(finish(command.spawn().unwrap()))
    };
    let text = |finding: &serde_json::Value, key: &str| finding[key].as_str().unwrap().to_owned();
    // A program of a folder that is not trusted is not started.
    lab.script(".venv/bin/python", "touch ran");
    let found = doctor(None);
    assert!(
        text(&found, "says")
            .contains("a program of this folder, which is not trusted: it was not started"),
        "{found}"
    );
    assert!(!found["ok"].as_bool().unwrap() && !lab.path("ran").exists());
    lab.lab("trust --yes").is(0);
    python_without_numpy(&lab, ".venv/bin/python");
    let found = doctor(None);
    assert!(
        text(&found, "says").contains(
            ".venv/bin/python (lab.toml), Python 3.12.1: torch 2.6.0 (without CUDA); no NumPy"
        ),
        "{found}"
    );
    let remedy = text(&found, "remedy");
    assert!(
        remedy.contains("every kernel in Python needs NumPy: `")
            && remedy.contains("kernel.py imports triton, which is not there: `"),
        "{found}"
    );
    assert!(!found["ok"].as_bool().unwrap());
    // An interpreter that fails is a finding.
    lab.script(".venv/bin/python", "echo 'no library' >&2; exit 3");
    let found = doctor(None);
    assert!(
        text(&found, "says").ends_with("does not run (exit status: 3): no library"),
        "{found}"
    );
    let found = doctor(Some("/no/such/python"));
    assert!(
        text(&found, "says").starts_with("/no/such/python (LAB_PYTHON) cannot be started: "),
        "{found}"
    );
    // A package that no kernel needs is not a fault.
    lab.write("kernel.cu", "// x\n");
    lab.write("lab.toml", "kernel = \"kernel.cu\"\n");
    assert!(doctor(Some("/no/such/python"))["ok"].as_bool().unwrap());
}

#[test]
fn init_recognises_python_and_says_what_to_write() {
    let lab = Lab::empty();
    let kernel = "import triton\nimport triton.language as tl\n\n@triton.jit\ndef add_kernel(x, y, n, B: tl.constexpr):\n    pass\n";
    lab.write("add.py", kernel);
    lab.write("peer.py", kernel);
    lab.write("mul.py", kernel);
    lab.lab("init")
        .is(1)
        .says("several kernels are here: add.py, mul.py. Name one: `lab init add.py`");
    fs::remove_file(lab.path("mul.py")).unwrap();
    lab.lab("init")
        .is(0)
        .says("wrote lab.toml: kernel add.py")
        .says("next: write problem.toml and a reference (`lab help problems`), then `lab trust`, then `lab` opens the screen")
        .says("add.py imports triton: lab calls a Python function, which states the grid, as `def add(x, y, n): add_kernel[grid](x, y, n, …)`")
        .says("problem.toml: `entry = \"add\"`")
        .says("Python runs with your rights: `lab trust`");
    fs::remove_file(lab.path("lab.toml")).unwrap();
    fs::rename(lab.path("add.py"), lab.path("kernel.py")).unwrap();
    fs::create_dir_all(lab.path(".venv/bin")).unwrap();
    lab.write(".venv/bin/python", "");
    let notes = lab.lab("init --json").is(0).json();
    assert_eq!(
        (&notes["kernel"], &notes["harness"]),
        (&"kernel.py".into(), &serde_json::Value::Null)
    );
    lab.lab("doctor")
        .says(".venv/bin/python (the virtual environment here)");
    fs::remove_file(lab.path("lab.toml")).unwrap();
    lab.write("kernel.cu", "");
    lab.lab("init").is(1).says(
        "kernel.cu and kernel.py are both here. Name one: `lab init kernel.cu` or `lab init kernel.py`",
    );
    // Who names a file wants the kernel in it, and gets no lab.toml instead.
    lab.lab("init kernel.py")
        .is(1)
        .says("no problem can be written for kernel.py");
    // A script that builds CUDA C++.
    assert!(!lab.path("lab.toml").exists());
    for file in ["kernel.py", "kernel.cu"] {
        fs::remove_file(lab.path(file)).unwrap();
    }
    lab.write(
        "fused.py",
        "from torch.utils.cpp_extension import load_inline\nm = load_inline(name='m', cuda_sources='')\n",
    );
    lab.lab("init")
        .is(0)
        .says("wrote lab.toml: kernel fused.py")
        .says("fused.py builds CUDA C++ with load_inline: put the CUDA C++ into kernel.cu");
}

/// A harness.py runs in the project's interpreter; uv runs a script that names its packages itself.
#[test]
fn init_has_the_projects_interpreter_run_a_harness() {
    let lab = Lab::empty();
    lab.write("kernel.cu", "// x\n");
    lab.write("harness.py", "import numpy\n");
    fs::create_dir_all(lab.path(".venv/bin")).unwrap();
    lab.write(".venv/bin/python", "");
    let answer = lab.lab("init --json").is(0).json();
    assert_eq!(answer["harness"], "python harness.py");
    let text = lab.read("lab.toml");
    assert!(
        text.contains("\nharness = { python = \"harness.py\" }\n"),
        "{text}"
    );
    assert!(
        !text.contains("\npython = ") && !text.contains("\nextra = "),
        "{text}"
    );
    lab.lab("doctor")
        .says(".venv/bin/python (the virtual environment here)");
    fs::remove_file(lab.path("lab.toml")).unwrap();
    lab.passing(1000.0);
    lab.lab("init")
        .is(0)
        .says("harness: `uv run harness.py`, which runs with your rights once you trust it");
}

/// A script that is missing or fails is not the kernel's fault.
#[test]
fn a_harness_in_python_that_cannot_run_is_named() {
    let lab = Lab::empty();
    lab.write("kernel.cu", "// x\n");
    lab.write("lab.toml", "harness = { python = \"tools/judge.py\" }\n");
    lab.git("add -A");
    lab.git("commit -qm start");
    lab.lab("trust --yes").is(0);
    let missing = "lab.toml names tools/judge.py as the harness, and there is no such file";
    lab.lab("run").is(64).says(missing);
    let of_doctor = |what: &str| {
        let answer: serde_json::Value =
            serde_json::from_str(&lab.lab("doctor --json").out).unwrap();
        let findings = answer["findings"].as_array().unwrap().clone();
        findings
            .into_iter()
            .find(|finding| finding["what"] == what)
            .unwrap()
    };
    let found = of_doctor("project");
    assert!(
        !found["ok"].as_bool().unwrap()
            && found["says"]
                .as_str()
                .unwrap()
                .contains("and there is no such file"),
        "{found}"
    );
    assert!(!lab.path(".lab/runs").exists());
    fs::create_dir(lab.path("tools")).unwrap();
    lab.write("tools/beside.py", "");
    lab.write("tools/judge.py", "import json, beside\nfrom lab_harness import report\nimport no_such_package_here.part\ntry:\n    import nor_this_one\nexcept ImportError:\n    pass\n");
    lab.lab("run")
        .is(64)
        .says("NOT JUDGED")
        .says("tools/judge.py failed before its first result line (exit code 1): ModuleNotFoundError: No module named 'no_such_package_here'");
    let found = of_doctor("python");
    assert!(!found["ok"].as_bool().unwrap(), "{found}");
    let remedy = found["remedy"].as_str().unwrap();
    assert!(
        remedy.starts_with("tools/judge.py imports no_such_package_here, which is not there: `"),
        "{found}"
    );
    assert!(
        !remedy.contains("nor_this_one") && !remedy.contains("beside"),
        "{found}"
    );
    lab.write("tools/judge.py", "x = = 1\n");
    let found = of_doctor("python");
    assert_eq!(
        found["remedy"], "tools/judge.py:1: invalid syntax",
        "{found}"
    );
    lab.write("tools/judge.py", "import json\n");
    assert!(
        of_doctor("python")["ok"].as_bool().unwrap(),
        "{}",
        of_doctor("python")
    );
    // After a result line, an exception may be the kernel's fault.
    lab.write("tools/judge.py", "print('stage: verify')\n1 / 0\n");
    lab.lab("run")
        .is(3)
        .says("tools/judge.py printed no correctness: line (exit code 1): ZeroDivisionError");
}

/// Somebody with a kernel.py and nothing else is told all that is to do, once, and trust is asked for what
/// can run.
#[test]
fn one_refusal_names_all_that_a_bare_kernel_in_python_needs() {
    let lab = Lab::empty();
    lab.write(
        "kernel.py",
        "import numpy as np\n\ndef softplus(x, y):\n    y[:] = np.log1p(np.exp(x))\n",
    );
    lab.script("../bin/without", "echo 'lab-numpy: False'");
    lab.script("../bin/with", "echo 'lab-numpy: True'");
    let run = |python: &str| {
        let mut command = lab.lab_command("run");
        command.env("LAB_PYTHON", python);
        finish(command.spawn().unwrap()).is(64).err
    };
    let place = lab.repo.display();
    let program = lab.path("../bin").canonicalize().unwrap().join("without");
    let program = program.display();
    let trust = |program: &str| {
        format!(
            "kernel.py is Python, which {program} would run with your rights, and {place} is not trusted: look at it, then `lab trust`"
        )
    };
    let problem = "kernel.py has no problem.toml beside it, and there is no lab.toml that names a harness: write a problem.toml \
                   (`lab help kernels`)";
    let numpy =
        format!("every kernel in Python needs NumPy: `{program} -m pip install numpy ml_dtypes`");
    let all = [problem, &numpy, &trust(&program.to_string())];
    let shown = format!(
        "lab: this kernel cannot run yet:\n     1. {}\n     2. {}\n     3. {}\n",
        all[0], all[1], all[2]
    );
    assert_eq!(run("without"), shown);
    lab.write("problem.toml", "");
    let shown = format!(
        "lab: this kernel cannot run yet:\n     1. {}\n     2. {}\n",
        all[1], all[2]
    );
    assert_eq!(run("without"), shown);
    let last = trust(&program.to_string().replace("without", "with"));
    assert_eq!(run("with"), format!("lab: {last}\n"));
}

#[test]
fn trust_names_the_python_of_every_kernel_that_it_is_about() {
    let lab = Lab::empty();
    lab.lab("new first --template python")
        .is(0)
        .says("next: `lab trust` lets its Python run with your rights, `lab run first`");
    lab.lab("new second --template python --json").is(0);
    fs::create_dir_all(lab.path("own")).unwrap();
    lab.write("own/kernel.py", "");
    lab.write("own/lab.toml", "");
    let trusted = lab.lab("trust --yes --json").is(0).json();
    assert_eq!(trusted["python"]["source"], "first/kernel.py");
    assert_eq!(
        trusted["python"]["others"],
        serde_json::json!([
            "first/reference.py",
            "second/kernel.py",
            "second/reference.py"
        ])
    );
    let text = trusted["text"].as_str().unwrap();
    assert!(
        text.contains("    first/kernel.py\n    first/reference.py\n    second/kernel.py\n    second/reference.py\nThey run"),
        "{text}"
    );
    let next = &lab.lab("new third --template python --json").is(0).json()["next"];
    assert_eq!(
        *next,
        serde_json::json!(["lab run third", "lab third"]),
        "the folder is trusted"
    );
}

#[test]
fn doctor_says_what_to_do_about_a_lab_toml_and_about_several_kernels() {
    let lab = Lab::empty();
    lab.lab("new first --template python").is(0);
    let project = |arguments: &str| {
        let output = lab.lab(&format!("doctor --json {arguments}"));
        let answer: serde_json::Value = serde_json::from_str(&output.out).unwrap();
        answer["findings"]
            .as_array()
            .unwrap()
            .iter()
            .find(|finding| finding["what"] == "project")
            .unwrap()
            .clone()
    };
    let found = project("");
    assert!(
        found["says"]
            .as_str()
            .unwrap()
            .starts_with("first/kernel.py by built-in harness"),
        "the only one: {found}"
    );
    lab.lab("new second").is(0);
    let found = project("");
    assert_eq!(
        found["says"],
        "2 kernels, and this folder means none of them: first/kernel.py, second/kernel.cu"
    );
    assert_eq!(
        (&found["ok"], &found["remedy"]),
        (&true.into(), &"`lab doctor KERNEL` looks at one".into())
    );
    assert!(
        project("second")["says"]
            .as_str()
            .unwrap()
            .starts_with("second/kernel.cu by"),
        "{}",
        project("second")
    );
    lab.write("lab.toml", "pyton = \"x\"\n");
    let found = project("");
    assert!(
        found["says"]
            .as_str()
            .unwrap()
            .ends_with("lab.toml:1:1: unknown key 'pyton' (did you mean 'python'?)"),
        "{found}"
    );
    assert_eq!(
        found["remedy"],
        "correct that line: `lab help configuration` lists the keys and their values"
    );
}

//! A kernel in Python: how it is found, recorded, kept and put back. A harness of the user's own judges it, so that no Python has
//! to be installed.

use crate::lab::{Lab, finish};
use std::fs;

/// A repository with a committed kernels/k/kernel.py, which a harness of its own judges.
fn with_kernel() -> Lab {
    let lab = Lab::empty();
    fs::create_dir_all(lab.path("kernels/k")).unwrap();
    lab.passing(1000.0);
    lab.write("lab.toml", "harness = \"sh harness.py\"\n");
    lab.write("kernels/k/kernel.py", "# the first\n");
    lab.git("add -A");
    lab.git("commit -qm start");
    lab.lab("trust").is(0);
    lab
}

fn record(lab: &Lab, run: u32) -> serde_json::Value {
    serde_json::from_str(&lab.read(&format!(".lab/runs/{run}/record.json"))).unwrap()
}

/// The paths of a run's inputs.
fn inputs(lab: &Lab, run: u32) -> Vec<String> {
    let record = record(lab, run);
    let files = record["inputs"].as_array().unwrap();
    files.iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn it_is_judged_kept_discarded_undone_and_put_back() {
    let lab = with_kernel();
    lab.write("kernels/k/kernel.py", "x = 1\n");
    lab.lab("run kernels/k").is(0).says("kernels/k/kernel.py");
    assert_eq!(lab.read(".lab/runs/1/kernel.py"), "x = 1\n");
    assert!(!lab.path(".lab/runs/1/kernel.cu").exists());
    lab.lab("keep kernels/k -m faster").is(0);
    assert_eq!(lab.git("show HEAD:kernels/k/kernel.py"), "x = 1\n");
    assert!(lab.git("show --stat HEAD").contains("kernels/k/kernel.py"));
    assert!(lab.rows()[0].ends_with("| keep | faster"), "{:?}", lab.rows());

    lab.write("kernels/k/kernel.py", "x = 2\n");
    lab.lab("run kernels/k").is(0);
    lab.lab("discard kernels/k -m tried").is(0);
    assert_eq!(lab.read("kernels/k/kernel.py"), "x = 1\n");
    lab.lab("restore 2").is(0).says("kernels/k/kernel.py now holds the bytes of");
    assert_eq!(lab.read("kernels/k/kernel.py"), "x = 2\n");
    lab.lab("undo kernels/k").is(0);
    lab.lab("log kernels/k").is(0).says("faster");

    // The folder means the kernel also when its file is gone, because HEAD holds it.
    fs::remove_file(lab.path("kernels/k/kernel.py")).unwrap();
    lab.lab("run kernels/k")
        .is(2)
        .says("kernels/k/kernel.py is not there")
        .says("`lab restore HEAD kernels/k`");
    lab.lab("restore HEAD kernels/k").is(0);
    assert_eq!(lab.read("kernels/k/kernel.py"), "x = 1\n");
}

#[test]
fn it_is_found_where_nobody_names_it() {
    let lab = with_kernel();
    lab.lab("run").is(64).says("The kernels of this repository:\n").says("  kernels/k\n");
    let here = |args: &str| {
        let mut command = lab.lab_command(args);
        command.current_dir(lab.path("kernels/k"));
        finish(command.spawn().unwrap())
    };
    here("run").is(0).says("kernels/k/kernel.py");
    lab.lab("log --all").is(0);
    // A rename of the folder keeps the history.
    lab.write("kernels/k/kernel.py", "# the second, which is long enough to be recognised\n");
    lab.lab("run kernels/k").is(0);
    lab.lab("keep kernels/k -m second").is(0);
    lab.git("mv kernels/k kernels/moved");
    lab.git("commit -qm moved");
    lab.lab("log kernels/moved").is(0).says("second");
    lab.lab("run kernels/moved").is(0);
}

#[test]
fn beside_a_kernel_in_cuda_a_command_names_one_of_the_two() {
    let lab = with_kernel();
    lab.write("kernels/k/kernel.cu", "// in CUDA\n");
    let both = "kernels/k holds kernel.cu and kernel.py: name one of them, kernels/k/kernel.cu or kernels/k/kernel.py";
    for command in ["run kernels/k", "keep kernels/k -m x", "log kernels/k", "restore HEAD kernels/k"] {
        let output = lab.lab(command);
        assert_ne!(output.code, 0, "{output:?}");
        output.says(both);
    }
    assert!(!lab.path(".lab/runs").exists());
    lab.lab("run").is(64).says("  kernels/k/kernel.cu\n").says("  kernels/k/kernel.py\n");
    lab.lab("harness kernels/k").is(64).says("name one of them with --kernel kernels/k/kernel.cu");
    lab.lab("run kernels/k/kernel.py").is(0);
    lab.lab("run kernels/k/kernel.cu").is(0);
    assert_eq!(record(&lab, 1)["kernel"], "kernels/k/kernel.py");
    assert_eq!(record(&lab, 2)["kernel"], "kernels/k/kernel.cu");
    // lab.toml can say which one the folder means.
    lab.write("lab.toml", "harness = \"sh harness.py\"\nkernel = \"kernels/k/kernel.py\"\n");
    lab.lab("trust").is(0);
    lab.lab("run kernels/k").is(0);
    assert_eq!(record(&lab, 3)["kernel"], "kernels/k/kernel.py");
}

#[test]
fn the_modules_that_it_imports_are_inputs() {
    let lab = with_kernel();
    for folder in ["shared/deep", "kernels/k/pkg"] {
        fs::create_dir_all(lab.path(folder)).unwrap();
    }
    lab.write("kernels/k/tiles.py", "from shared.deep import low\n");
    lab.write("shared/deep/low.py", "import json\n");
    lab.write("kernels/k/pkg/__init__.py", "from . import inner\n");
    lab.write("kernels/k/pkg/inner.py", "");
    lab.write("kernels/k/unused.py", "");
    lab.write("kernels/k/reference.py", "import tolerances\n");
    lab.write("kernels/k/tolerances.py", "");
    lab.write("kernels/k/json.py.txt", "");
    lab.git("add -A");
    lab.git("commit -qm modules");
    let kernel = "# #include \"unused.py\"\ntry:\n    import tiles, numpy\nexcept ImportError:\n    import pkg.inner\n";
    lab.write("kernels/k/kernel.py", kernel);
    lab.lab("run kernels/k").is(0);
    let wanted = [
        "kernels/k/kernel.py",
        "kernels/k/tiles.py",
        "kernels/k/pkg/__init__.py",
        "kernels/k/pkg/inner.py",
        "shared/deep/low.py",
        "kernels/k/reference.py",
        "kernels/k/tolerances.py",
        "lab.toml",
    ];
    assert_eq!(inputs(&lab, 1), wanted);
    // An experiment changes the kernel alone.
    lab.write("shared/deep/low.py", "x = 1\n");
    lab.lab("run kernels/k").is(0);
    lab.lab("keep kernels/k -m x").is(1).says("shared/deep/low.py is not as in HEAD");
    lab.git("checkout shared");
    lab.write("kernels/k/tolerances.py", "x = 1\n");
    lab.lab("run kernels/k").is(0);
    lab.lab("keep kernels/k -m x").is(1).says("kernels/k/tolerances.py is not as in HEAD").says("lab rules");
}

#[test]
fn its_folder_needs_trust_before_the_built_in_harness_runs_it() {
    let lab = Lab::empty();
    lab.write("kernel.py", "import os\nos.mkdir('ran')\n");
    lab.write("problem.toml", "entry = \"k\"\n");
    lab.script("../bin/python3", "touch ../ran; exit 1");
    lab.git("add -A");
    lab.git("commit -qm start");
    let plain = |args: &str| finish(lab.plain_lab_command(args).spawn().unwrap());
    let found = lab.path("../bin/python3").canonicalize().unwrap().display().to_string();
    for command in ["run", "check", "measure", "run --json"] {
        let output = plain(command).is(64);
        output.says("kernel.py is Python, which ").says(&found).says("`lab trust`");
    }
    assert!(!lab.path("../ran").exists() && !lab.path(".lab").exists());
    // An interpreter of the folder is named as such, and LAB_PYTHON goes before it.
    lab.write("lab.toml", "python = \".venv/bin/python\"\n");
    fs::create_dir_all(lab.path(".venv/bin")).unwrap();
    let venv = lab.path(".venv/bin/python").display().to_string();
    plain("run").is(64).says(&format!("{venv}, a program of this folder, would run with your rights"));
    let mut command = lab.plain_lab_command("run");
    command.env("LAB_PYTHON", "/opt/other/python");
    finish(command.spawn().unwrap()).is(64).says("which /opt/other/python would run with your rights");
    let trusted = plain("trust --json").is(0).json();
    assert_eq!(trusted["python"]["source"], "kernel.py");
    assert_eq!(
        (&trusted["python"]["interpreter"], &trusted["python"]["is_inside"]),
        (&venv.into(), &true.into())
    );
    let text = trusted["text"].as_str().unwrap();
    assert!(text.contains("wants to run Python that you have not trusted yet:\n    kernel.py\n"), "{text}");
    // Another lab.toml may name another interpreter.
    lab.write("lab.toml", "python = \".venv/bin/python3\"\n");
    plain("run").is(64).says(".venv/bin/python3, a program of this folder");
}

#[test]
fn a_reference_in_python_needs_trust_too_and_one_beside_another_kind_does_not() {
    let lab = Lab::empty();
    lab.write("kernel.cu", "// x\n");
    lab.write("reference.py", "");
    lab.write("problem.toml", "entry = \"k\"\n");
    let plain = |args: &str| finish(lab.plain_lab_command(args).spawn().unwrap());
    plain("run").is(64).says("reference.py is Python, which ");
    let asks = |lab: &Lab| {
        let project = lab_core::project::Project::open(&lab.repo, None).unwrap();
        lab_core::project::python::source(&project)
    };
    assert_eq!(asks(&lab).as_deref(), Some("reference.py"));
    lab.write("problem.toml", "kind = \"wavegru\"\n");
    assert_eq!(asks(&lab), None);
    lab.write("problem.toml", "entry = \"k\"\n");
    lab.write("reference.cu", "");
    assert_eq!(asks(&lab), None);
}

/// A Python without NumPy, as a shell script: it prints what the probe of `lab doctor` would print.
fn python_without_numpy(lab: &Lab, path: &str) {
    let found =
        "{\"version\": \"3.12.1\", \"packages\": {\"torch\": {\"version\": \"2.6.0\", \"cuda\": null}}}";
    lab.script(path, &format!("echo; echo 'lab-doctor: {found}'"));
}

/// The finding about Python.
fn finding(output: crate::lab::CommandOutput) -> serde_json::Value {
    let answer: serde_json::Value = serde_json::from_str(&output.out).unwrap();
    let findings = answer["findings"].as_array().unwrap();
    findings.iter().find(|finding| finding["what"] == "python").unwrap().clone()
}

#[test]
fn doctor_names_the_interpreter_and_what_is_missing_in_it() {
    let lab = Lab::empty();
    lab.write("kernel.py", "import triton\n");
    lab.write("lab.toml", "python = \".venv/bin/python\"\ndevice = \"cpu\"\n");
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
        text(&found, "says").contains("a program of this folder, which is not trusted: it was not started"),
        "{found}"
    );
    assert!(!found["ok"].as_bool().unwrap() && !lab.path("ran").exists());
    lab.lab("trust").is(0);
    python_without_numpy(&lab, ".venv/bin/python");
    let found = doctor(None);
    assert!(
        text(&found, "says")
            .contains(".venv/bin/python (lab.toml), Python 3.12.1: torch 2.6.0 (without CUDA); no NumPy"),
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
    assert!(text(&found, "says").ends_with("does not run (exit status: 3): no library"), "{found}");
    let found = doctor(Some("/no/such/python"));
    assert!(text(&found, "says").starts_with("/no/such/python (LAB_PYTHON) cannot be started: "), "{found}");
    // What no kernel needs is no fault.
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
    lab.lab("init").is(1).says("several kernels are here: add.py, mul.py. Name one: `lab init add.py`");
    fs::remove_file(lab.path("mul.py")).unwrap();
    lab.lab("init")
        .is(0)
        .says("wrote lab.toml: kernel add.py")
        .says("next: write problem.toml and a reference (docs/problems.md), then `lab trust`, then `lab` opens the screen")
        .says("add.py imports triton: lab calls a Python function, which states the grid, as `def add(x, y, n): add_kernel[grid](x, y, n, …)`")
        .says("problem.toml: `entry = \"add\"`")
        .says("Python runs with your rights: `lab trust`");
    fs::remove_file(lab.path("lab.toml")).unwrap();
    fs::rename(lab.path("add.py"), lab.path("kernel.py")).unwrap();
    fs::create_dir_all(lab.path(".venv/bin")).unwrap();
    lab.write(".venv/bin/python", "");
    let notes = lab.lab("init --json").is(0).json();
    assert_eq!((&notes["kernel"], &notes["harness"]), (&"kernel.py".into(), &serde_json::Value::Null));
    assert!(lab.read("lab.toml").contains("\npython = \".venv/bin/python\"\n"), "{}", lab.read("lab.toml"));
    fs::remove_file(lab.path("lab.toml")).unwrap();
    lab.write("kernel.cu", "");
    lab.lab("init").is(1).says(
        "kernel.cu and kernel.py are both here. Name one: `lab init kernel.cu` or `lab init kernel.py`",
    );
    lab.lab("init kernel.py").is(0);
    // A script that builds CUDA C++.
    fs::remove_file(lab.path("lab.toml")).unwrap();
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

/// A harness.py runs in the project's interpreter; one that names its packages itself is run by uv.
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
    assert!(text.contains("\nharness = { python = \"harness.py\" }\n"), "{text}");
    assert!(text.contains("\npython = \".venv/bin/python\"\n") && !text.contains("\nextra = "), "{text}");
    fs::remove_file(lab.path("lab.toml")).unwrap();
    lab.passing(1000.0);
    lab.lab("init").is(0).says("harness: `uv run harness.py`, trusted because this command wrote it");
}

/// A script that is missing or fails is not the kernel's fault.
#[test]
fn a_harness_in_python_that_cannot_run_is_named() {
    let lab = Lab::empty();
    lab.write("kernel.cu", "// x\n");
    lab.write("lab.toml", "harness = { python = \"tools/judge.py\" }\n");
    lab.git("add -A");
    lab.git("commit -qm start");
    lab.lab("trust").is(0);
    let missing = "lab.toml names tools/judge.py as the harness, and there is no such file";
    lab.lab("run").is(64).says(missing);
    let of_doctor = |what: &str| {
        let answer: serde_json::Value = serde_json::from_str(&lab.lab("doctor --json").out).unwrap();
        let findings = answer["findings"].as_array().unwrap().clone();
        findings.into_iter().find(|finding| finding["what"] == what).unwrap()
    };
    let found = of_doctor("project");
    assert!(
        !found["ok"].as_bool().unwrap()
            && found["says"].as_str().unwrap().contains("and there is no such file"),
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
    assert!(!remedy.contains("nor_this_one") && !remedy.contains("beside"), "{found}");
    lab.write("tools/judge.py", "x = = 1\n");
    let found = of_doctor("python");
    assert_eq!(found["remedy"], "tools/judge.py:1: invalid syntax", "{found}");
    lab.write("tools/judge.py", "import json\n");
    assert!(of_doctor("python")["ok"].as_bool().unwrap(), "{}", of_doctor("python"));
    // After a result line nobody knows whose fault an exception is.
    lab.write("tools/judge.py", "print('stage: verify')\n1 / 0\n");
    lab.lab("run").is(3).says("tools/judge.py printed no correctness: line (exit code 1): ZeroDivisionError");
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
    let trusted = lab.lab("trust --json").is(0).json();
    assert_eq!(trusted["python"]["source"], "first/kernel.py");
    assert_eq!(trusted["python"]["others"], serde_json::json!(["second/kernel.py"]));
    let text = trusted["text"].as_str().unwrap();
    assert!(text.contains("    first/kernel.py\n    second/kernel.py\nThey run with your rights"), "{text}");
    let next = &lab.lab("new third --template python --json").is(0).json()["next"];
    assert_eq!(*next, serde_json::json!(["lab run third", "lab third"]), "the folder is trusted");
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
        found["says"].as_str().unwrap().starts_with("first/kernel.py by built-in harness"),
        "the only one: {found}"
    );
    lab.lab("new second").is(0);
    let found = project("");
    assert_eq!(
        found["says"],
        "2 kernels, and this folder means none of them: first/kernel.py, second/kernel.cu"
    );
    assert_eq!((&found["ok"], &found["remedy"]), (&true.into(), &"`lab doctor KERNEL` looks at one".into()));
    assert!(
        project("second")["says"].as_str().unwrap().starts_with("second/kernel.cu by"),
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
    assert_eq!(found["remedy"], "correct that line: docs/configuration.md lists the keys and their values");
}

#[test]
fn a_harness_in_python_runs_in_the_projects_interpreter() {
    let lab = Lab::empty();
    fs::create_dir(lab.path("tools")).unwrap();
    lab.write("kernel.cu", "// x\n");
    lab.write("lab.toml", "harness = { python = \"tools/judge it.py\" }\npython = \"./py\"\n");
    lab.write("tools/helper.py", "DEVICE = 'Test GPU'\n");
    lab.write(
        "tools/judge it.py",
        "import os, helper\nfrom lab_harness import report\nreport.device(helper.DEVICE)\nreport.gate('y_error', 0.5, 1.0)\n\
         print('kernel:', open(os.environ['LAB_KERNEL']).read())\nreport.throughput(1000.0)\nreport.finish()\n",
    );
    lab.script("py", "echo \"own interpreter: $1\"; exec python3 \"$@\"");
    lab.git("add -A");
    lab.git("commit -qm start");
    let plain = |args: &str| finish(lab.plain_lab_command(args).spawn().unwrap());
    plain("run")
        .is(64)
        .says("wants to run `")
        .says("/py 'tools/judge it.py'`, and you have not trusted it yet");
    plain("trust").is(0).says("The interpreter is a program of this folder:");
    lab.write("kernel.cu", "// y\n");
    let run = plain("run --json").is(0).json();
    assert_eq!((&run["outcome"], &run["external"]), (&"pass".into(), &true.into()), "{run}");
    let log = lab.read(".lab/runs/1/run.log");
    assert!(log.contains("own interpreter: tools/judge it.py") && log.contains("kernel: // y"), "{log}");
    assert_eq!(record(&lab, 1)["command"], "python tools/judge it.py");
    let inputs = inputs(&lab, 1);
    assert!(
        inputs.contains(&"tools/judge it.py".into()) && inputs.contains(&"tools/helper.py".into()),
        "{inputs:?}"
    );
    lab.lab("keep -m y").is(0);
}

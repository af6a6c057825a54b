//! A kernel in Python: finding, recording, keeping and restoring it. A harness of the user's own
//! judges it, so that no Python has to be installed.

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
    lab.lab("trust --yes").is(0);
    lab
}

fn record(lab: &Lab, run: u32) -> serde_json::Value {
    serde_json::from_str(&lab.read(&format!(".lab/runs/{run}/record.json"))).unwrap()
}

/// The paths of a run's inputs.
fn inputs(lab: &Lab, run: u32) -> Vec<String> {
    let record = record(lab, run);
    let files = record["inputs"].as_array().unwrap();
    files
        .iter()
        .map(|file| file["path"].as_str().unwrap().to_owned())
        .collect()
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
    assert!(
        lab.rows()[0].ends_with("| keep | faster"),
        "{:?}",
        lab.rows()
    );

    lab.write("kernels/k/kernel.py", "x = 2\n");
    lab.lab("run kernels/k").is(0);
    lab.lab("discard kernels/k -m tried").is(0);
    assert_eq!(lab.read("kernels/k/kernel.py"), "x = 1\n");
    lab.lab("restore 2")
        .is(0)
        .says("kernels/k/kernel.py now holds the bytes of");
    assert_eq!(lab.read("kernels/k/kernel.py"), "x = 2\n");
    lab.lab("undo kernels/k").is(0);
    lab.lab("log kernels/k").is(0).says("faster");

    // The folder means the kernel even if its file is gone, because HEAD holds it.
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
    lab.lab("run")
        .is(0)
        .says("this is about kernels/k/kernel.py, the only kernel of the repository");
    let here = |args: &str| {
        let mut command = lab.lab_command(args);
        command.current_dir(lab.path("kernels/k"));
        finish(command.spawn().unwrap())
    };
    here("run").is(0).says("kernels/k/kernel.py");
    lab.lab("log --all").is(0);
    // A rename of the folder keeps the history.
    lab.write(
        "kernels/k/kernel.py",
        "# the second, which is long enough to be recognised\n",
    );
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
    for command in [
        "run kernels/k",
        "keep kernels/k -m x",
        "log kernels/k",
        "restore HEAD kernels/k",
    ] {
        let output = lab.lab(command);
        assert_ne!(output.code, 0, "{output:?}");
        output.says(both);
    }
    assert!(!lab.path(".lab/runs").exists());
    lab.lab("run")
        .is(64)
        .says("  kernels/k/kernel.cu\n")
        .says("  kernels/k/kernel.py\n");
    lab.lab("harness kernels/k")
        .is(64)
        .says("name one of them with --kernel kernels/k/kernel.cu");
    lab.lab("run kernels/k/kernel.py").is(0);
    lab.lab("run kernels/k/kernel.cu").is(0);
    assert_eq!(record(&lab, 1)["kernel"], "kernels/k/kernel.py");
    assert_eq!(record(&lab, 2)["kernel"], "kernels/k/kernel.cu");
    // lab.toml can say which kernel the folder means.
    lab.write(
        "lab.toml",
        "harness = \"sh harness.py\"\nkernel = \"kernels/k/kernel.py\"\n",
    );
    lab.lab("trust --yes").is(0);
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
    lab.lab("keep kernels/k -m x")
        .is(1)
        .says("shared/deep/low.py is not as in HEAD");
    lab.git("checkout shared");
    lab.write("kernels/k/tolerances.py", "x = 1\n");
    lab.lab("run kernels/k").is(0);
    lab.lab("keep kernels/k -m x")
        .is(1)
        .says("kernels/k/tolerances.py is not as in HEAD")
        .says("lab rules");
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
    let found = lab
        .path("../bin/python3")
        .canonicalize()
        .unwrap()
        .display()
        .to_string();
    for command in ["run", "check", "bench --verdict", "run --json"] {
        let output = plain(command).is(64);
        output
            .says("kernel.py is Python, which ")
            .says(&found)
            .says("`lab trust`");
    }
    assert!(!lab.path("../ran").exists() && !lab.path(".lab").exists());
    // An interpreter of the folder is named as such, and LAB_PYTHON goes before it.
    lab.write("lab.toml", "python = \".venv/bin/python\"\n");
    fs::create_dir_all(lab.path(".venv/bin")).unwrap();
    let venv = lab.path(".venv/bin/python").display().to_string();
    plain("run").is(64).says(&format!(
        "{venv}, a program of this folder, would run with your rights"
    ));
    let mut command = lab.plain_lab_command("run");
    command.env("LAB_PYTHON", "/opt/other/python");
    finish(command.spawn().unwrap())
        .is(64)
        .says("which /opt/other/python would run with your rights");
    let trusted = plain("trust --yes --json").is(0).json();
    assert_eq!(trusted["python"]["source"], "kernel.py");
    assert_eq!(
        (
            &trusted["python"]["interpreter"],
            &trusted["python"]["is_inside"]
        ),
        (&venv.into(), &true.into())
    );
    let text = trusted["text"].as_str().unwrap();
    assert!(
        text.contains("wants to run Python that you have not trusted yet:\n    kernel.py\n"),
        "{text}"
    );
    // Another lab.toml may name another interpreter.
    lab.write("lab.toml", "python = \".venv/bin/python3\"\n");
    plain("run")
        .is(64)
        .says(".venv/bin/python3, a program of this folder");
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
        let project = lab_project::Project::open(&lab.repo, None).unwrap();
        lab_project::python::sources(&project)
    };
    assert_eq!(asks(&lab), ["reference.py"]);
    lab.write("problem.toml", "entry = \"k\"\n");
    lab.write("reference.cu", "");
    assert!(asks(&lab).is_empty());
    // Of a kernel in Python both are named.
    fs::remove_file(lab.path("reference.cu")).unwrap();
    fs::remove_file(lab.path("kernel.cu")).unwrap();
    lab.write("kernel.py", "");
    assert_eq!(asks(&lab), ["kernel.py", "reference.py"]);
}

#[test]
fn a_harness_in_python_runs_in_the_projects_interpreter() {
    let lab = Lab::empty();
    fs::create_dir(lab.path("tools")).unwrap();
    lab.write("kernel.cu", "// x\n");
    lab.write(
        "lab.toml",
        "harness = { python = \"tools/judge it.py\" }\npython = \"./py\"\n",
    );
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
    plain("trust --yes")
        .is(0)
        .says("The interpreter is a program of this folder:");
    lab.write("kernel.cu", "// y\n");
    let run = plain("run --json").is(0).json();
    assert_eq!(
        (&run["outcome"], &run["external"]),
        (&"pass".into(), &true.into()),
        "{run}"
    );
    let log = lab.read(".lab/runs/1/run.log");
    assert!(
        log.contains("own interpreter: tools/judge it.py") && log.contains("kernel: // y"),
        "{log}"
    );
    assert_eq!(record(&lab, 1)["command"], "python tools/judge it.py");
    let inputs = inputs(&lab, 1);
    assert!(
        inputs.contains(&"tools/judge it.py".into()) && inputs.contains(&"tools/helper.py".into()),
        "{inputs:?}"
    );
    lab.lab("keep -m y").is(0);
}

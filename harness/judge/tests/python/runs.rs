//! Runs of Python kernels with other options than those of a save, and with other references.

use crate::cases::problem_folder;
use crate::python;
use crate::support::{self, Judged};
use lab_protocol::plan::Discipline;
use lab_protocol::{Exit, Tool};
use lab_protocol::{JudgeKind, JudgeRequest};
use libtest_mimic::{Failed, Trial};
use std::path::Path;
use std::time::Duration;

const RIGHT: &str = "def axpy(x, y, a):\n    y[:] = x * a + 1\n";

const IN_CUDA: &str = r#"#include "lab.h"

extern "C" __global__ void axpy(const float* x, float* y, float a, int n) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) y[i] = x[i] * a + 1;
}

LAB_LAUNCH(axpy) {
    launch.grid[0] = (dims.n + 127) / 128;
    launch.block[0] = 128;
}
"#;

type NamedTest = (&'static str, fn() -> Result<(), Failed>);

pub fn trials() -> Vec<Trial> {
    let tests: [NamedTest; 11] = [
        ("reference_in_cuda", reference_in_cuda),
        ("cuda_kernel_judged_by_python", cuda_kernel_judged_by_python),
        ("two_references", two_references),
        ("broken_reference", broken_reference),
        ("reference_that_hangs", reference_that_hangs),
        (
            "reference_that_the_machine_ended",
            reference_that_the_machine_ended,
        ),
        ("check_is_not_for_python", check_is_not_for_python),
        ("wavegru_is_not_for_python", wavegru_is_not_for_python),
        ("dump", dump),
        ("bench", bench),
        ("named_kernel", named_kernel),
    ];
    tests
        .into_iter()
        .map(|(name, test)| Trial::test(format!("run/{name}"), test))
        .collect()
}

fn expect(judged: &Judged, exit: Exit, words: &[&str]) -> Result<(), Failed> {
    if judged.exit != exit {
        return Err(format!(
            "ended as {:?}, not as {exit:?}, in\n{}",
            judged.exit, judged.log
        )
        .into());
    }
    match words.iter().find(|words| !judged.log.contains(*words)) {
        Some(missing) => Err(format!("without '{missing}' in\n{}", judged.log).into()),
        None => Ok(()),
    }
}

fn write(folder: &Path, name: &str, text: &str) -> Result<(), Failed> {
    Ok(std::fs::write(folder.join(name), text)?)
}

fn reference_in_cuda() -> Result<(), Failed> {
    let folder = problem_folder("axpy", RIGHT);
    std::fs::remove_file(folder.path().join("reference.py"))?;
    write(folder.path(), "reference.cu", IN_CUDA)?;
    let judged = support::run(python::options(folder.path()));
    expect(
        &judged,
        Exit::Passed,
        &[
            "compiler: ",
            "device: cpu (emulated, NumPy",
            "sandbox: none",
        ],
    )?;
    write(
        folder.path(),
        "kernel.py",
        "def axpy(x, y, a):\n    y[:] = x * a\n",
    )?;
    expect(
        &support::run(python::options(folder.path())),
        Exit::Wrong,
        &["y_error"],
    )
}

fn cuda_kernel_judged_by_python() -> Result<(), Failed> {
    let folder = problem_folder("axpy", RIGHT);
    std::fs::remove_file(folder.path().join("kernel.py"))?;
    write(folder.path(), "kernel.cu", IN_CUDA)?;
    let judged = support::run(python::options(folder.path()));
    expect(
        &judged,
        Exit::Passed,
        &["compiler: ", "device: cpu (emulated", "races: 0"],
    )?;
    write(folder.path(), "kernel.cu", &IN_CUDA.replace("+ 1;", "+ 2;"))?;
    expect(
        &support::run(python::options(folder.path())),
        Exit::Wrong,
        &["y_error"],
    )
}

fn two_references() -> Result<(), Failed> {
    let folder = problem_folder("axpy", RIGHT);
    write(folder.path(), "reference.cu", IN_CUDA)?;
    let judged = support::run(python::options(folder.path()));
    expect(
        &judged,
        Exit::NOT_JUDGED,
        &[
            "fault: problem",
            "reference.cu and reference.py are both there",
        ],
    )
}

/// A mistake in the reference is not the kernel's fault.
fn broken_reference() -> Result<(), Failed> {
    for (reference, words) in [
        (
            "import nothing_of_this_name\n",
            "reference.py:1: error: ModuleNotFoundError",
        ),
        ("def axpy(x, y, a):\n    y[:3] = 1\n", "never wrote y[3]"),
        (
            "def axpy(x, y, a):\n    raise ValueError('no')\n",
            "reference.py:2: error: ValueError: no",
        ),
        (
            "def axpby(x, y, a):\n    pass\n",
            "there is no function axpy",
        ),
        (
            "import random\ndef axpy(x, y, a):\n    y[:] = x * random.random()\n",
            "reference.py: the reference is not deterministic: a second launch on the same inputs gives another y[0] (n=",
        ),
        (
            "calls = []\ndef axpy(x, y, a):\n    calls.append(1)\n    y[:] = len(calls)\n",
            "the reference is not deterministic",
        ),
        (
            "import os\ndef axpy(x, y, a):\n    os._exit(3)\n",
            "reference.py: the reference crashed: its process",
        ),
        (
            "import threading\ndef axpy(x, y, a):\n    threading.Thread(target=g, daemon=True).start()\ndef g():\n    \
             threading.Event().wait()\n",
            "error: the reference left 1 thread running after its launch, in g",
        ),
        (
            "def axpy(x, y, a):\n    raise ValueError('the kernel size must be odd')\n",
            "error: ValueError: the kernel size must be odd",
        ),
    ] {
        let folder = problem_folder("axpy", RIGHT);
        write(folder.path(), "reference.py", reference)?;
        let judged = support::run(python::options(folder.path()));
        expect(&judged, Exit::NOT_JUDGED, &["fault: problem", words])?;
    }
    Ok(())
}

/// What the machine ends is no fault of the file.
fn reference_that_the_machine_ended() -> Result<(), Failed> {
    for (signal, said) in [
        ("SIGTERM", "ended from outside"),
        (
            "SIGKILL",
            "ended from outside, or the machine ran out of memory",
        ),
    ] {
        let folder = problem_folder("axpy", RIGHT);
        let ends = format!("os.kill(os.getpid(), signal.{signal})");
        let how = format!("its process was ended by {signal} ({said}); judge again");
        for (reference, words) in [
            (
                format!("import os, signal\ndef axpy(x, y, a):\n    {ends}\n"),
                format!("reference.py: the reference crashed: {how}"),
            ),
            (
                format!("import os, signal\n{ends}\n"),
                format!("reference.py: the source crashed while it was loaded: {how}"),
            ),
        ] {
            write(folder.path(), "reference.py", &reference)?;
            let judged = support::run(python::options(folder.path()));
            expect(&judged, Exit::NOT_JUDGED, &["fault: lab", &words])?;
        }
    }
    Ok(())
}

fn reference_that_hangs() -> Result<(), Failed> {
    let folder = problem_folder("axpy", RIGHT);
    write(
        folder.path(),
        "reference.py",
        "def axpy(x, y, a):\n    while True:\n        pass\n",
    )?;
    let options = JudgeRequest {
        time_limit: Duration::from_secs(1),
        ..python::options(folder.path())
    };
    let words = "reference.py: the reference did not end within 1 s: it hangs, or is far too slow";
    expect(
        &support::run(options),
        Exit::NOT_JUDGED,
        &["fault: problem", words],
    )
}

fn check_is_not_for_python() -> Result<(), Failed> {
    let folder = problem_folder("axpy", RIGHT);
    let options = JudgeRequest {
        kind: JudgeKind::Check {
            tools: vec![Tool::Race],
            sanitizer: None,
        },
        ..python::options(folder.path())
    };
    expect(
        &support::run(options),
        Exit::NOT_JUDGED,
        &["kernels/a/kernel.py is Python, and `lab check`"],
    )
}

fn wavegru_is_not_for_python() -> Result<(), Failed> {
    let folder = problem_folder("axpy", RIGHT);
    let problem = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels/wavegru/problem.toml"),
    )?;
    write(folder.path(), "problem.toml", &problem)?;
    let judged = support::run(python::options(folder.path()));
    expect(
        &judged,
        Exit::NOT_JUDGED,
        &[
            "fault: problem",
            " judges kernels in CUDA C++ (kernel.cu): problem.toml has struct",
        ],
    )
}

fn dump() -> Result<(), Failed> {
    let folder = problem_folder("axpy", RIGHT);
    let dump = folder.path().join("dumped");
    let options = JudgeRequest {
        dump: Some(dump.clone()),
        ..python::options(folder.path())
    };
    expect(&support::run(options), Exit::Passed, &[])?;
    for name in ["n1000-x.npy", "n1000-y_reference.npy", "n1000-y_kernel.npy"] {
        if !dump.join(name).is_file() {
            return Err(format!("there is no {name}").into());
        }
    }
    Ok(())
}

/// Each trial is a further process of the kernel.
fn bench() -> Result<(), Failed> {
    let folder = problem_folder("axpy", RIGHT);
    let kind = JudgeKind::Bench(Discipline {
        warm_up: 1,
        iterations: 2,
        trials: 2,
    });
    let judged = support::run(JudgeRequest {
        kind,
        ..python::options(folder.path())
    });
    expect(
        &judged,
        Exit::Passed,
        &[
            "discipline: 0/1/2",
            "workload: n=1000 kernel_us=",
            "mean_us: ",
        ],
    )
}

fn named_kernel() -> Result<(), Failed> {
    let folder = problem_folder("axpy", "this is not Python");
    write(folder.path(), "other.py", RIGHT)?;
    let kernel = Some(folder.path().join("other.py"));
    let options = JudgeRequest {
        kernel,
        shown_as: Some("a/other.py".into()),
        ..python::options(folder.path())
    };
    expect(&support::run(options.clone()), Exit::Passed, &[])?;
    write(
        folder.path(),
        "other.py",
        "def axpy(x, y, a):\n    y[:] = x * b\n",
    )?;
    let judged = support::run(options);
    expect(
        &judged,
        Exit::Crashed,
        &["a/other.py:2: error: NameError: name 'b' is not defined"],
    )?;
    let found = judged.report.diagnostics();
    match found.first() {
        Some(first) if (first.file.as_str(), first.line) == ("a/other.py", 2) => Ok(()),
        _ => Err(format!("no message at its line: {found:?}").into()),
    }
}

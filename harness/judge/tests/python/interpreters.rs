//! Interpreters that cannot be a worker. Scripts replace them, so that the tests need no NumPy.

use crate::cases::folder;
use crate::python::{self, WITHOUT};
use crate::support::{self, Folder, Judged, write_script};
use lab_protocol::Exit;
use lab_protocol::JudgeRequest;
use libtest_mimic::{Failed, Trial};
use std::time::Duration;

/// Runs a problem with a script as its interpreter.
fn judge_with(script: &str, change: impl FnOnce(&mut JudgeRequest)) -> Judged {
    let problem = folder().join("problems/axpy");
    let text = |name: &str| std::fs::read_to_string(problem.join(name)).unwrap();
    let folder = Folder::new(&[
        ("problem.toml", &text("problem.toml")),
        ("reference.py", &text("reference.py")),
        ("kernel.py", "def axpy(x, y):\n    y[:] = x\n"),
    ]);
    let python = folder.path().join("python");
    write_script(&python, script);
    let mut options = JudgeRequest {
        python,
        ..python::options(folder.path())
    };
    change(&mut options);
    support::run(options)
}

fn expect(judged: &Judged, words: &[&str]) -> Result<(), Failed> {
    if judged.exit != Exit::NOT_JUDGED || judged.report.value("fault") != Some("lab") {
        return Err(format!("ended as {:?} in\n{}", judged.exit, judged.log).into());
    }
    match words
        .iter()
        .find(|words| !judged.value("stopped").contains(*words))
    {
        Some(missing) => Err(format!("stopped without '{missing}' in\n{}", judged.log).into()),
        None => Ok(()),
    }
}

type Change = fn(&mut JudgeRequest);

pub fn trials() -> Vec<Trial> {
    let as_it_is: Change = |_| {};
    let cases: [(&'static str, &'static str, Change, &'static [&'static str]); 8] = [
        (
            "without_numpy",
            "#!/bin/sh\necho 'lab: 3.11'\necho \"ModuleNotFoundError: No module named 'numpy'\" >&2\nexit 1\n",
            as_it_is,
            &["has no NumPy", "/python -m pip install numpy", "LAB_PYTHON"],
        ),
        (
            "too_old",
            "#!/bin/sh\necho 'lab: 3.6'\necho 'lab: numpy'\nexit 1\n",
            as_it_is,
            &["is Python 3.6, and Python kernels need 3.9 or newer"],
        ),
        (
            "ends_at_once",
            "#!/bin/sh\nexit 7\n",
            as_it_is,
            &["ended with exit code 7 before it was ready"],
        ),
        (
            "is_killed",
            "#!/bin/sh\nkill -9 $$\n",
            as_it_is,
            &["was ended by SIGKILL"],
        ),
        (
            "hangs",
            "#!/bin/sh\nexec sleep 600\n",
            |options| options.load_limit = Duration::from_secs(1),
            &["was not ready within 1 s", "LAB_PYTHON"],
        ),
        (
            "is_not_there",
            "#!/bin/sh\n",
            |options| options.python = "/nowhere/python".into(),
            &["/nowhere/python cannot be started", "LAB_PYTHON"],
        ),
        (
            "is_no_program",
            "no program",
            as_it_is,
            &["cannot be started"],
        ),
        (
            "answers_nonsense",
            "#!/bin/sh\nprintf 'GET / HTTP/1.1\\r\\n\\r\\n' >&0\nsleep 600\n",
            as_it_is,
            &["sent an invalid answer"],
        ),
    ];
    let mut trials: Vec<Trial> = cases
        .into_iter()
        .map(|(name, script, change, words)| {
            Trial::test(format!("interpreter/{name}"), move || {
                expect(&judge_with(script, change), words)
            })
            .with_kind(WITHOUT)
        })
        .collect();
    trials.push(Trial::test("interpreter/prints_a_flood", prints_a_flood).with_kind(WITHOUT));
    trials.push(Trial::test("interpreter/needs_trust", needs_trust).with_kind(WITHOUT));
    trials
}

fn prints_a_flood() -> Result<(), Failed> {
    let judged = judge_with("#!/bin/sh\nexec yes correctness: pass\n", |_| {});
    expect(&judged, &["too much output"])?;
    if judged.report.value("correctness").is_some() {
        return Err(format!("a printed line counts in\n{}", judged.log).into());
    }
    Ok(())
}

/// The interpreter may be a program of the folder, so it is not started.
fn needs_trust() -> Result<(), Failed> {
    let judged = judge_with("#!/bin/sh\necho started\n", |options| {
        options.trusted = false;
    });
    expect(
        &judged,
        &[
            "kernels/a/kernel.py is Python, which runs with your rights",
            "`lab trust`",
        ],
    )?;
    let judged_by_python = judge_with("#!/bin/sh\necho started\n", |options| {
        options.trusted = false;
        std::fs::write(options.folder.join("kernel.cu"), "x").unwrap();
        options.shown_as = Some("kernels/a/kernel.cu".into());
    });
    expect(&judged_by_python, &["reference.py is Python"])?;
    if judged.log.contains("started") || judged_by_python.log.contains("started") {
        return Err("the interpreter was started".into());
    }
    Ok(())
}

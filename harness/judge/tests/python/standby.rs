//! Judges whose workers a Python on standby forks.

use crate::cases::problem_folder;
use crate::python;
use crate::support::{self, Judged};
use lab_protocol::Exit;
use lab_protocol::{JudgeKind, JudgeRequest};
use libtest_mimic::{Failed, Trial};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A parent on standby that is ready. Dropping it closes its stdin, which ends it, and waits for
/// its end.
pub struct Parent {
    _repository: tempfile::TempDir,
    /// Where the lab puts it: below `.lab`.
    folder: PathBuf,
    process: Child,
}

impl Parent {
    pub fn start() -> Result<Parent, Failed> {
        let repository = tempfile::tempdir()?;
        let folder = repository.path().join(".lab/python/k");
        lab_python::write(&folder)?;
        let mut process = Command::new(python::interpreter())
            .args(["-m", "lab_harness.standby"])
            .arg(folder.join("socket"))
            .env("PYTHONPATH", &folder)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().ok_or("no stdout")?).read_line(&mut line)?;
        if !line.contains("\"ready\"") {
            return Err(format!("it is not ready: '{line}'").into());
        }
        Ok(Parent {
            _repository: repository,
            folder,
            process,
        })
    }

    pub fn socket(&self) -> Option<PathBuf> {
        Some(self.folder.join("socket"))
    }

    fn judge(&self, kernel: &str, change: impl FnOnce(&mut JudgeRequest)) -> Judged {
        let folder = problem_folder("axpy", kernel);
        let mut options = JudgeRequest {
            python_standby: self.socket(),
            ..python::options(folder.path())
        };
        change(&mut options);
        support::run(options)
    }
}

impl Drop for Parent {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// A kernel whose first line says which process is its parent.
fn with_parent(body: &str) -> String {
    format!(
        "import os\n\nprint('the parent is', os.getppid())\n\n\ndef axpy(x, y, a):\n    y[:] = x * a + 1\n    {body}\n"
    )
}

fn expect(judged: &Judged, exit: Exit, words: &str) -> Result<(), Failed> {
    if judged.exit == exit && judged.log.contains(words) {
        return Ok(());
    }
    Err(format!("{:?}, or without '{words}' in\n{}", judged.exit, judged.log).into())
}

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("standby/runs_one_after_the_other", runs_one_after_the_other),
        Trial::test("standby/without_a_parent", without_a_parent),
    ]
}

/// Whatever a kernel does to its process, the next run gets a worker from the same parent.
fn runs_one_after_the_other() -> Result<(), Failed> {
    let parent = Parent::start()?;
    let parents_line = format!("the parent is {}", parent.process.id());
    let right = with_parent("");
    let cases: [(&str, Exit, &str); 8] = [
        ("", Exit::Passed, "sandbox: none"),
        // Python looks for the module in each folder of its search path, as for those of Triton.
        ("import colorsys", Exit::Passed, "sandbox: none"),
        (
            "os._exit(3)",
            Exit::Crashed,
            "its process ended with exit code 3",
        ),
        (
            "os.kill(os.getpid(), 9)",
            Exit::Crashed,
            "was ended by SIGKILL",
        ),
        ("os.abort()", Exit::Crashed, "was ended by SIGABRT"),
        (
            "while True: pass",
            Exit::Crashed,
            "the kernel did not end within",
        ),
        (
            "while True: print('x' * 4000)",
            Exit::Crashed,
            "too much output",
        ),
        (
            "import subprocess; subprocess.Popen(['sleep', '600'], start_new_session=True)",
            Exit::Crashed,
            "left 1 process running after its launch",
        ),
    ];
    for (body, exit, words) in cases {
        let judged = parent.judge(&with_parent(body), |options| {
            if words.contains("did not end") {
                options.time_limit = Duration::from_secs(2);
            }
        });
        expect(&judged, exit, words)?;
        expect(&judged, exit, &parents_line)?;
    }
    let kind = JudgeKind::Bench(lab_protocol::plan::Discipline {
        warm_up: 0,
        iterations: 1,
        trials: 3,
    });
    let judged = parent.judge(&right, |options| options.kind = kind);
    expect(&judged, Exit::Passed, &parents_line)
}

/// A parent that is gone, and a socket of another kind of process: the worker is a child of the
/// judge.
fn without_a_parent() -> Result<(), Failed> {
    let gone = Parent::start()?;
    let socket = gone.socket();
    drop(gone);
    let own = format!("the parent is {}", std::process::id());
    for python_standby in [socket, Some("/nowhere/socket".into())] {
        let folder = problem_folder("axpy", &with_parent(""));
        let options = JudgeRequest {
            python_standby,
            ..python::options(folder.path())
        };
        expect(&support::run(options), Exit::Passed, &own)?;
    }
    Ok(())
}

//! Python kernels, each judged by the whole judge on the cpu device, and the tests of the Python
//! package. README.md describes the files of this folder.
//!
//! Every test needs a Python with NumPy. Where there is none, the tests are reported as ignored,
//! with the reason.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a developer reads its output"
)]
#![allow(clippy::unwrap_used)]

mod cases;
#[path = "../kernels/expected.rs"]
mod expected;
mod interpreters;
mod package;
mod peers;
mod python;
mod runs;
mod standby;
#[allow(dead_code, unused_imports)]
#[path = "../judge/support.rs"]
mod support;
mod wavegru;

use lab_judge::{compiler, worker};
use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

/// The roles of this program as a child of the judge, by its first argument.
const COMPILER: &str = "play-compiler";
const WORKER: &str = "play-worker";

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(COMPILER) => return compiler::main(),
        Some(WORKER) => return worker::main(),
        _ => {}
    }
    let arguments = Arguments::from_args();
    let missing = python::missing();
    let mut trials = cases::trials();
    trials.extend(interpreters::trials());
    trials.extend(runs::trials());
    trials.extend(standby::trials());
    trials.extend(package::trials());
    trials.extend(peers::trials());
    trials.extend(wavegru::trials());
    if let Some(why) = &missing {
        // The tests that need no NumPy run all the same.
        trials = trials
            .into_iter()
            .map(|trial| {
                if trial.kind() == python::WITHOUT {
                    trial
                } else {
                    ignored(trial, why)
                }
            })
            .collect();
        eprintln!("the tests with Python are ignored: {why}");
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The same test, which does not run. The list of tests shows the reason.
fn ignored(trial: Trial, why: &str) -> Trial {
    let name = format!("{} (ignored: {why})", trial.name());
    let why = why.to_owned();
    Trial::test(name, move || Err(why.into()))
        .with_kind(trial.kind())
        .with_ignored_flag(true)
}

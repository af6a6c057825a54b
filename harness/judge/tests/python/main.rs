//! Python kernels, each judged by the whole judge on the cpu device, and the tests of the Python
//! package.
//!
//! Every test needs a Python with NumPy. Without it, the tests are reported as ignored, with the
//! reason.
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
#[path = "../../../device/tests/support/trials.rs"]
mod trials;
mod wavegru;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = trials::arguments();
    let missing = python::missing();
    let mut trials = cases::trials();
    trials.extend(interpreters::trials());
    trials.extend(runs::trials());
    trials.extend(standby::trials());
    trials.extend(package::trials());
    trials.extend(peers::trials());
    trials.extend(wavegru::trials());
    if let Some(why) = &missing {
        // The tests that need no NumPy run in any case.
        trials = trials
            .into_iter()
            .map(|trial| {
                if trial.kind() == python::WITHOUT {
                    trial
                } else {
                    trials::ignored(&trial, why)
                }
            })
            .collect();
        eprintln!("the tests with Python are ignored: {why}");
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

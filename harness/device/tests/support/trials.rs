//! Tests that this machine may be unable to run. libtest decides before a program starts which
//! tests it ignores; libtest-mimic can report a test as ignored once the program knows why.

use libtest_mimic::{Arguments, Failed, Trial};

/// What the command line asks for. As with libtest, RUST_TEST_THREADS says how many tests run at a time.
pub fn arguments() -> Arguments {
    let mut arguments = Arguments::from_args();
    let threads = std::env::var("RUST_TEST_THREADS").ok();
    let threads = threads.and_then(|number| number.parse().ok());
    arguments.test_threads = arguments.test_threads.or(threads);
    arguments
}

/// A test. If something is `missing` for it, the test is reported as ignored, with the reason in
/// its name.
#[allow(dead_code)]
pub fn trial(
    name: &str,
    missing: Option<&str>,
    test: impl FnOnce() -> Result<(), Failed> + Send + 'static,
) -> Trial {
    let trial = Trial::test(name, test);
    match missing {
        Some(why) => ignored(&trial, why),
        None => trial,
    }
}

/// The same test, which is ignored for this reason, and fails if it is run all the same.
pub fn ignored(trial: &Trial, why: &str) -> Trial {
    let name = format!("{} (ignored: {why})", trial.name());
    let why = why.to_owned();
    Trial::test(name, move || Err(why.into()))
        .with_kind(trial.kind())
        .with_ignored_flag(true)
}

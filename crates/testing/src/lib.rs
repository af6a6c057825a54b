//! What the tests of several crates share. No production code uses this crate.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used)]

use lab_run::record::Record;
use lab_run::{Fingerprint, Reason, RunId, RunStart};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// How long a test waits for something that must come. A test that waits in vain fails then, and
/// not earlier: beside a build, each step takes many times what it takes alone.
/// `LAB_TEST_PATIENCE_S` sets it, in seconds.
pub fn patience() -> Duration {
    let seconds = std::env::var("LAB_TEST_PATIENCE_S")
        .ok()
        .and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(300))
}

/// Waits until something holds, looking often.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < patience(), "it never came: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Writes an executable shell script. Another process writes the file: Linux runs no file that is
/// open for writing, and a child that another test starts in that moment would have the file open
/// until it runs its own program.
#[track_caller]
pub fn write_script(path: &Path, text: &str) {
    let write = "rm -f \"$0\" && printf %s \"$1\" > \"$0\" && chmod 755 \"$0\"";
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", write])
        .arg(path)
        .arg(format!("#!/bin/sh\n{text}\n"));
    assert!(
        shell.status().unwrap().success(),
        "{} was not written",
        path.display()
    );
}

/// How a script that stands for the judge begins: it reads its request. `field KEY` prints a text of
/// the request; the words are the kernel's folder, its file and its shown path, as $2, $4 and $6.
pub const READ_REQUEST: &str = r#"read -r request; export request
field() { printf '%s' "$request" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
set -- harness "$(field folder)" --kernel "$(field kernel)" --shown-as "$(field shown_as)"
"#;

/// The record of a run that has begun and has no verdict.
pub fn record(id: RunId) -> Record {
    let start = RunStart {
        id,
        reason: Reason::Command,
        kernel: "kernel.cu".into(),
        blob: "0".repeat(40),
        fingerprint: Fingerprint("f".into()),
        started: jiff::Timestamp::UNIX_EPOCH,
        external: true,
    };
    Record::begun(start, Vec::new(), "true".into())
}

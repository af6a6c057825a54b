//! A harness in Python with the package `lab_harness`, and the package's own tests.

use crate::lab::Lab;
use std::path::Path;
use std::process::Command;

/// A harness that times two kernels on the processor, in turns. `{faster}` is the candidate's share
/// of the incumbent's time.
const HARNESS: &str = r#"
from lab_harness import compare, report, turns

report.device("Test GPU")
report.stage("verify")
compare.gate("y_error", [1.0, 2.0, {last}], [1.0, 2.0, 3.0], atol=0.1, rtol=0)
report.stage("measure")
times = turns.abba(1.0, {faster}, blocks=8, clock=lambda kernel, _: 0.01 * kernel)
report.throughput(1 / times[1])
report.finish()
"#;

fn with_harness(last: &str, faster: &str) -> Lab {
    let lab = Lab::new();
    lab.write(
        "bench.py",
        HARNESS.replace("{last}", last).replace("{faster}", faster),
    );
    lab.harness("exec python3 bench.py");
    lab.write("kernel.cu", "// newer\n");
    lab
}

#[test]
fn a_python_harness_imports_the_package_without_an_installation() {
    let lab = with_harness("3.01", "0.5");
    let run = lab.lab("run --json").is(0).json();
    assert_eq!(
        (&run["outcome"], &run["speed"]),
        (&"pass".into(), &"faster".into()),
        "{run}"
    );
    assert!(
        lab.read("run.log")
            .contains("y_error: 0.1 limit=1 at=cell~2"),
        "{}",
        lab.read("run.log")
    );
    assert!(
        !lab.path(".lab/runs/1/python").exists(),
        "every run finds the one copy in .lab/harness"
    );
}

#[test]
fn a_gate_that_fails_there_fails_the_run() {
    let lab = with_harness("4.0", "0.5");
    lab.lab("run")
        .is(1)
        .says("y_error: cell 2 is 4, expected 3");
}

#[test]
fn a_package_of_that_name_of_the_users_own_comes_first() {
    let lab = with_harness("3.0", "1.0");
    std::fs::create_dir_all(lab.path("own/lab_harness")).unwrap();
    lab.write(
        "own/lab_harness/__init__.py",
        "raise SystemExit('this is the user\\'s own')\n",
    );
    lab.harness("PYTHONPATH=$PWD/own:$PYTHONPATH exec python3 bench.py");
    lab.lab("run").is(3).says("this is the user's own");
}

/// The unit tests of the package.
#[test]
fn the_package_prints_what_lab_reads() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("harness/python");
    let mut tests = Command::new("python3");
    // No files are left in the source folder.
    tests
        .arg("-B")
        .args(["-m", "unittest", "discover", "-s", "tests", "-t", "."])
        .current_dir(folder);
    let done = tests.output().expect("the tests need python3: install it");
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
}

//! The check before a keep: the kernel must pass on inputs that no run has shown.

use crate::lab::Lab;
use crate::sweep::{PROBLEM, REFERENCE};
use std::fs;
use std::process::Stdio;

/// The cells of the workload that only a keep judges.
const UNSEEN: &str = "n == 400";

const KERNEL: &str = r#"
#include "lab.h"
constexpr int THREADS = 128;
extern "C" __global__ void scale(const float* x, float* y, int n) {
    for (int i = threadIdx.x; i < n; i += THREADS) {
        y[i] = 2 * x[i];
    }
}
LAB_LAUNCH(scale) { launch.block[0] = THREADS; }
"#;

/// The line of the kernel that the tests change.
pub const STORE: &str = "y[i] = 2 * x[i];";

/// A small problem whose kernel is right, committed; on the cpu device. A keep also checks a
/// workload of 400 cells, which a save does not.
pub fn doubling() -> Lab {
    let lab = Lab::empty();
    let fixed = PROBLEM.replace("dims = [\"n\"]", "dims = [\"n\"]\nragged = false");
    let unseen = "[[held_out]]\ndims = { n = 400 }\nwhen = \"keep\"\n";
    lab.write("problem.toml", fixed + unseen);
    lab.write("reference.cu", REFERENCE);
    lab.write("kernel.cu", KERNEL);
    lab.write("lab.toml", "device = \"cpu\"\n");
    lab.git("add -A");
    lab.git("commit -qm plain");
    lab
}

#[track_caller]
pub fn edit(lab: &Lab, from: &str, to: &str) {
    let before = lab.git("show HEAD:kernel.cu");
    assert!(before.contains(from), "the kernel has no '{from}' any more");
    lab.write("kernel.cu", before.replace(from, to));
}

/// A condition that is true for the launches of a save, and for none of the workload that only a
/// keep judges.
pub fn is_of_a_save() -> String {
    format!("!({UNSEEN})")
}

/// Right for the workloads that a save judges.
fn knows_the_save(lab: &Lab) {
    edit(
        lab,
        STORE,
        &format!("y[i] = {} ? 2 * x[i] : x[i];", is_of_a_save()),
    );
}

fn record(lab: &Lab, run: u32) -> serde_json::Value {
    serde_json::from_str(&lab.read(&format!(".lab/runs/{run}/record.json"))).unwrap()
}

#[test]
fn a_kernel_that_is_right_for_a_save_only_is_refused_by_the_gate() {
    let lab = doubling();
    let before = lab.head();
    lab.lab("run").is(0).says("● PASS");
    knows_the_save(&lab);
    lab.lab("run").is(0).says("● PASS");
    let refused = lab.lab("keep -m 'knows the save'").is(1);
    assert!(
        refused.err.contains("keep refused: y_error is "),
        "{refused:?}"
    );
    assert!(
        refused
            .err
            .contains(", its limit 1, on held-out inputs (y["),
        "{refused:?}"
    );

    // Nothing is committed and no row is written; the run is undecided and remembers.
    assert_eq!(lab.head(), before);
    assert!(!lab.path("results.cpu.tsv").exists());
    let of_run = record(&lab, 2);
    assert!(of_run["decision"].is_null());
    assert_eq!(of_run["held_out"]["outcome"].as_str(), Some("fail"));
    // The keep is refused again, without another check.
    let again = lab
        .lab("keep -m 'knows the save'")
        .is(1)
        .says("keep refused: y_error is ");
    assert!(
        !again.out.contains("held-out inputs before the keep"),
        "{again:?}"
    );
    lab.lab("discard -m 'knew the save'").is(0);

    edit(
        &lab,
        "constexpr int THREADS = 128;",
        "constexpr int THREADS = 64;",
    );
    lab.lab("run").is(0);
    // The kernel failed a check, so one draw of inputs is not enough any more.
    lab.lab("keep -m 'two warps'")
        .is(0)
        .says("keep run 3")
        .says("passed on held-out inputs: 8 sealed runs");
    assert_eq!(record(&lab, 3)["held_out"]["sealed_runs"].as_u64(), Some(8));
    assert_eq!(
        record(&lab, 3)["held_out"]["outcome"].as_str(),
        Some("pass")
    );
    assert_eq!(lab.git("log -1 --format=%s"), "two warps\n");
}

#[test]
fn a_kernel_that_crashes_on_the_held_out_case_is_refused_and_not_tried_again() {
    let lab = doubling();
    let before = lab.head();
    lab.lab("run").is(0).says("● PASS");
    let known = is_of_a_save();
    edit(
        &lab,
        STORE,
        &format!("if (!({known})) *(volatile int*)nullptr = 1;\n        {STORE}"),
    );
    lab.lab("run").is(0).says("● PASS");
    let refused = lab.lab("keep -m 'crashes'").is(1).says("keep refused: ");
    assert!(
        refused.out.contains("held-out inputs before the keep"),
        "{refused:?}"
    );
    let of_run = record(&lab, 2);
    assert_eq!(of_run["held_out"]["outcome"].as_str(), Some("crash"));
    assert!(of_run["decision"].is_null());
    let again = lab.lab("keep -m 'crashes'").is(1).says("keep refused: ");
    assert!(
        !again.out.contains("held-out inputs before the keep"),
        "a second seed was tried: {again:?}"
    );
    assert_eq!(lab.head(), before);
}

#[test]
fn a_held_out_check_that_could_not_start_is_no_outcome() {
    let lab = doubling();
    edit(
        &lab,
        "constexpr int THREADS = 128;",
        "constexpr int THREADS = 64;",
    );
    lab.lab("run").is(0);
    // Its files cannot be written there.
    lab.write(".lab/runs/1/held-out", "");
    lab.lab("keep -m 'later'")
        .is(1)
        .says("the held-out check could not run: ");
    assert!(record(&lab, 1)["held_out"].is_null());
    fs::remove_file(lab.path(".lab/runs/1/held-out")).unwrap();
    lab.lab("keep -m 'later'").is(0).says("keep run 1");
}

#[test]
fn a_keep_that_is_interrupted_commits_nothing_and_can_be_repeated() {
    let lab = doubling();
    let before = lab.head();
    edit(
        &lab,
        "constexpr int THREADS = 128;",
        "constexpr int THREADS = 96;",
    );
    lab.lab("run").is(0);
    let mut keep = lab
        .lab_command("keep -m 'three warps'")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The check writes this line and continues.
    let mut out = std::io::BufReader::new(keep.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut out, &mut line).unwrap();
    assert!(line.contains("held-out inputs before the keep"), "{line}");
    rustix::process::kill_process(
        rustix::process::Pid::from_child(&keep),
        rustix::process::Signal::INT,
    )
    .unwrap();
    let rest = std::io::read_to_string(out).unwrap();
    let mut err = String::new();
    std::io::Read::read_to_string(&mut keep.stderr.take().unwrap(), &mut err).unwrap();
    assert_eq!(keep.wait().unwrap().code(), Some(1), "{rest}{err}");
    assert!(
        err.contains("cancelled: nothing was kept, and run 1 is open"),
        "{rest}{err}"
    );
    assert_eq!(lab.head(), before);
    assert!(record(&lab, 1)["decision"].is_null());
    lab.lab("keep -m 'three warps'").is(0).says("keep run 1");
}

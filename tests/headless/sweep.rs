//! `lab sweep`: the points of a kernel's tune lines are built, verified, measured and recorded. The
//! built-in harness judges them on the cpu device, unless a story says that a script stands for it.

use crate::lab::{Beside, Lab};
use crate::mcp_wire::Wire;
use crate::schema::faults_by;
use lab_project::Project;
use lab_protocol::Target;
use lab_run::Reason;
use lab_runner::process::Control;
use lab_runner::spec::RunSpec;
use lab_sweep::{Budget, Ended, PointOutcome, Session, Strategy, SweepRequest};
use lab_testing::{READ_REQUEST, until};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;

/// Cells are doubled.
pub const PROBLEM: &str = r#"
entry = "scale"
dims = ["n"]
[[tensor]]
name = "x"
role = "in"
type = "f32"
shape = ["n"]
values = { normal = {} }
[[tensor]]
name = "y"
role = "out"
type = "f32"
shape = ["n"]
tolerance = { atol = 0.0, rtol = 0.0 }
[objective]
samples = "n"
[[workload]]
dims = { n = 333 }
"#;

pub const REFERENCE: &str = r#"
#include "lab.h"
extern "C" __global__ void scale(const float* x, float* y, int n) {
    for (int i = threadIdx.x; i < n; i += 32) y[i] = 2 * x[i];
}
LAB_LAUNCH(scale) { launch.block[0] = 32; }
"#;

/// Blocks of 96 do not build, and two elements a thread are wrong with blocks of 64.
pub const KERNEL: &str = r#"
#include "lab.h"
// lab: tune BLOCK = 32, 64, 96
// lab: tune STEP = 1..2
// lab: require BLOCK * STEP <= 128
#ifndef BLOCK
#define BLOCK 64
#endif
constexpr int STEP = 1;
static_assert(BLOCK != 96, "not so wide");
extern "C" __global__ void scale(const float* x, float* y, int n) {
    const int first = (blockIdx.x * BLOCK + threadIdx.x) * STEP;
    for (int i = first; i < n && i < first + STEP; i++) y[i] = (BLOCK * STEP == 128 ? 3 : 2) * x[i];
}
LAB_LAUNCH(scale) {
    launch.block[0] = BLOCK;
    launch.grid[0] = (dims.n + BLOCK * STEP - 1) / (BLOCK * STEP);
}
"#;

pub fn swept() -> Lab {
    let lab = Lab::empty();
    lab.write("problem.toml", PROBLEM);
    lab.write("reference.cu", REFERENCE);
    lab.write("kernel.cu", KERNEL);
    lab.write("lab.toml", "device = \"cpu\"\n");
    lab.git("add -A");
    lab.git("commit -qm start");
    lab
}

pub fn records(lab: &Lab) -> usize {
    let text = fs::read_to_string(lab.path(".lab/sweep/1/points.jsonl")).unwrap_or_default();
    text.lines().filter(|line| line.ends_with('}')).count()
}

#[test]
fn a_sweep_finds_what_is_right_and_a_point_becomes_one_experiment() {
    let lab = swept();
    let swept = lab.lab("sweep").is(0);
    for text in [
        "lab: sweep 1 of kernel.cu: 5 points of BLOCK, STEP\n",
        // The point that is written comes first.
        "lab: point 1 of 5: BLOCK=64 STEP=1: ",
        " of 5: BLOCK=32 STEP=2: ",
        " of 5: BLOCK=64 STEP=2: wrong: y_error: y[",
        " of 5: BLOCK=96 STEP=1: does not build: kernel.cu:10: static assertion failed: not so wide\n",
    ] {
        assert!(swept.err.contains(text), "{text} is not in {swept:?}");
    }
    for text in [
        "sweep 1 of kernel.cu: 5 of 5 points: 3 passed; 1 wrong; 1 not built  cpu (emulated, ",
        "  BLOCK down, STEP across (✓ correct, ✗ not correct, · not tried, – excluded):\n        1  2\n    32  ✓  ✓\n    64  ✓  ✗\n    96  ✗  –\n",
        "  the device is emulated: these times say nothing about a GPU\n",
        "choose a point: emulated times have no best. `lab sweep --apply N` writes point N\n",
    ] {
        assert!(swept.out.contains(text), "{text} is not in {swept:?}");
    }
    assert_eq!(lab.read("kernel.cu"), KERNEL);
    assert_eq!(lab.git("status --porcelain"), "");
    assert!(!lab.path("results.cpu.tsv").exists() && !lab.path(".lab/runs").exists());
    for left in ["tree", "point-1.log"] {
        assert!(
            !lab.path(".lab/sweep/1").join(left).exists(),
            "{left} is left"
        );
    }
    let shown = lab.lab("sweep --show last --json").is(0).json();
    assert_eq!(
        (&shown["ended"], &shown["best"]),
        (&json!("shown"), &Value::Null)
    );
    assert_eq!(
        (&shown["points_allowed"], &shown["counts"]["passed"]),
        (&json!(5), &json!(3))
    );
    assert_eq!(
        shown["parameters"][1],
        json!({ "name": "STEP", "values": ["1", "2"] })
    );
    assert_eq!(shown["ranked"].as_array().unwrap().len(), 3);
    let of = |values: [&str; 2]| {
        let mut points = shown["points"].as_array().unwrap().iter();
        points
            .find(|point| point["values"] == json!(values))
            .unwrap()
    };
    assert_eq!(of(["64", "1"])["written"], json!(true));
    assert_eq!(of(["96", "1"])["outcome"], json!("build_error"));
    let by = lab.lab("sweep --show 1 --by STEP,BLOCK").is(0).out;
    assert!(
        by.contains("    32  64  96\n    1   ✓   ✓   ✗\n    2   ✓   ✗   –\n"),
        "{by}"
    );
    lab.lab("sweep --show 1 --by BLOK,STEP")
        .is(64)
        .says("--by: sweep 1 has no parameter 'BLOK' (did you mean BLOCK?): it has BLOCK, STEP");
    let (right, wrong) = (&of(["32", "2"])["number"], &of(["64", "2"])["number"]);
    let log = lab.read(&format!(".lab/sweep/1/point-{wrong}.log"));
    assert!(log.contains("correctness: fail"), "{log}");
    by_hand(&lab);
    apply(&lab, right, wrong);
}

/// Values that a person writes are the person's, also where a sweep measured them too.
fn by_hand(lab: &Lab) {
    let before = lab.read("kernel.cu");
    let head = lab.git("rev-parse HEAD");
    lab.write("kernel.cu", before.replace("BLOCK 64\n", "BLOCK 32\n"));
    lab.lab("run").is(0);
    lab.lab("keep -m 'blocks of 32, by hand'").is(0);
    let message = lab.git("log -1 --format=%B");
    assert!(!message.contains("Sweep:"), "{message}");
    lab.lab("undo").is(0);
    assert_eq!(lab.git("rev-parse HEAD"), head);
    lab.write("kernel.cu", before);
}

/// Puts a right point on disk, and keeps it. A wrong one, and one that is not there, are refused.
fn apply(lab: &Lab, right: &Value, wrong: &Value) {
    lab.lab("sweep --apply")
        .is(64)
        .says("has no best point: name one, as in `lab sweep --apply ");
    lab.lab(&format!("sweep --apply {wrong}"))
        .is(64)
        .says(&format!(
            "point {wrong} of sweep 1 is not correct (wrong): y_error"
        ));
    lab.lab("sweep --apply 9")
        .is(64)
        .says("sweep 1 has no point 9: `lab sweep --show 1` lists them");
    let applied = lab
        .lab(&format!("sweep --apply {right} --json"))
        .is(0)
        .json();
    assert_eq!(
        (&applied["applied_point"], &applied["changed"]),
        (right, &json!(true))
    );
    let expected = KERNEL
        .replace("BLOCK 64\n", "BLOCK 32\n")
        .replace("STEP = 1;", "STEP = 2;");
    assert_eq!(lab.read("kernel.cu"), expected);
    // The values that are written are no change: all points are known still.
    lab.lab(&format!("sweep --apply {right}"))
        .is(0)
        .says(&format!(
            "kernel.cu already has BLOCK=32 STEP=2: point {right} of sweep 1"
        ));
    lab.lab("run").is(0).says("● PASS");
    lab.lab("keep -m 'blocks of 32'").is(0);
    let message = lab.git("log -1 --format=%B");
    let trailer = format!("\nSweep: 1, point {right} of 5: BLOCK=32 STEP=2\n");
    assert!(message.contains(&trailer), "{message}");
    assert_eq!(lab.git("rev-list --count HEAD").trim(), "2");
    // The points are with the commit: the folder of the sweep is not needed.
    fs::rename(lab.path(".lab/sweep"), lab.path("moved")).unwrap();
    fs::rename(lab.path(".lab/runs"), lab.path("runs")).unwrap();
    let kept = lab.lab("show HEAD").is(0);
    let kept = kept.says("  the sweep's points (5 of 5 recorded), the best first:\n");
    kept.says("BLOCK=32 STEP=2  pass\n").says("  wrong\n");
    let json = lab.lab("show HEAD --json").is(0).json();
    assert_eq!(&json["sweep"]["point"], right);
    assert_eq!(json["sweep"]["points"].as_array().unwrap().len(), 5);
    fs::rename(lab.path("moved"), lab.path(".lab/sweep")).unwrap();
    fs::rename(lab.path("runs"), lab.path(".lab/runs")).unwrap();
    // What the kernel had when the sweep began may be what it found.
    let had = "kernel.cu now has BLOCK=64 STEP=1: point 1 of sweep 1\n  `lab run` judges it; the commit names the sweep";
    lab.lab("sweep --apply 1").is(0).says(had);
    lab.lab("run").is(0);
    lab.lab("discard -m 'nothing is faster'").is(0);
    let commit = lab.git("log -1 --all --format=%h --grep=nothing");
    let shown = lab.lab(&format!("show {}", commit.trim())).is(0);
    shown.says("  the sweep's points (5 of 5 recorded), the best first:\n");
    lab.write("kernel.cu", expected.replace("2) * x[i]", "2) * x[i] + 0"));
    lab.lab("sweep --apply 3").is(64).says(
        "kernel.cu, its tune lines or its rules changed since sweep 1, so its points are other kernels: `lab sweep` measures",
    );
}

#[test]
fn a_point_of_a_foreign_sweep_is_applied_and_no_keep_names_it() {
    let lab = swept();
    lab.lab("sweep --budget 3").is(0);
    // Somebody else's lab signed it.
    let copied = lab
        .read(".lab/sweep/1/sweep.json")
        .replace("signature", "other");
    lab.write(".lab/sweep/1/sweep.json", copied);
    let foreign = "foreign: somebody else's lab wrote it, or it was changed since";
    lab.lab("sweep --show 1").is(0).says(foreign);
    let shown = lab.lab("sweep --show 1 --json").is(0).json();
    let mut points = shown["ranked"].as_array().unwrap().iter();
    let point = points.find(|point| **point != json!(1)).unwrap();
    lab.lab(&format!("sweep --apply {point}"))
        .is(0)
        .says(&format!(": point {point} of sweep 1\n"))
        .says(&format!(
            "`lab run` judges it; the commit does not name the sweep: it is {foreign}\n"
        ));
    lab.lab("run").is(0);
    lab.lab("keep -m other").is(0);
    let message = lab.git("log -1 --format=%B");
    assert!(!message.contains("Sweep:"), "{message}");
}

#[test]
fn a_new_sweep_takes_no_number_whose_folder_is_there() {
    let lab = swept();
    lab.lab("sweep --budget 2").is(0);
    let points = lab.read(".lab/sweep/1/points.jsonl");
    fs::remove_file(lab.path(".lab/sweep/1/sweep.json")).unwrap();
    lab.lab("sweep --budget 1")
        .is(0)
        .says("sweep 2 of kernel.cu: 1 of 5 points");
    assert_eq!(lab.read(".lab/sweep/1/points.jsonl"), points);
}

#[test]
fn a_sweep_that_was_killed_goes_on_where_it_was() {
    let mut lab = swept();
    // Nothing was built before, and there are many points: the sweep does not end by itself.
    lab.use_own_cache();
    let more =
        "// lab: tune SALT = 1..20\nconstexpr int SALT = 1;\nstatic_assert(SALT > 0, \"\");\n";
    lab.write(
        "kernel.cu",
        KERNEL.replace("#ifndef BLOCK", &format!("{more}#ifndef BLOCK")),
    );
    let child = Beside::spawn(lab.lab_command("sweep --strategy random"));
    until("a point is recorded", || records(&lab) > 0);
    child.signal(Signal::INT);
    let ended = child.finish().is(3);
    assert!(
        ended.out.contains("interrupted: `lab sweep` goes on"),
        "{ended:?}"
    );
    let interrupted = records(&lab);
    let child = Beside::spawn(lab.lab_command("sweep"));
    until("another point is recorded", || records(&lab) > interrupted);
    child.kill();
    let (whole, done) = (lab.read(".lab/sweep/1/points.jsonl"), records(&lab));
    // It may have been killed while it wrote a record.
    let half: String = whole.trim_start().chars().take(300).collect();
    lab.write(".lab/sweep/1/points.jsonl", format!("{whole}\n{half}"));
    lab.lab("sweep --show 1")
        .is(0)
        .says(&format!("sweep 1 of kernel.cu: {done} of 100 points"));
    // A budget counts the points of earlier processes.
    lab.lab(&format!("sweep --budget {}", done - 1))
        .is(0)
        .says(&format!(
            "sweep 1 of kernel.cu goes on after {done}: 100 points of BLOCK, STEP, SALT; these spent the budget, so nothing is \
             to be measured"
        ));
    assert_eq!(records(&lab), done);
    let wanted = done + 2;
    let output = lab.lab(&format!("sweep --budget {wanted}")).is(0);
    let goes_on = format!(
        "sweep 1 of kernel.cu goes on after {done}: 100 points of BLOCK, STEP, SALT; 2 more are to be measured"
    );
    assert!(output.err.contains(&goes_on), "{output:?}");
    assert!(
        output
            .out
            .contains("; `lab sweep` goes on, with a larger budget"),
        "{output:?}"
    );
    assert!(
        lab.read(".lab/sweep/1/points.jsonl").starts_with(&whole),
        "what was recorded stays as it was"
    );
    let shown = lab.lab("sweep --show 1 --json").is(0).json();
    let points = shown["points"].as_array().unwrap();
    let numbers: Vec<u64> = points
        .iter()
        .map(|point| point["number"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (1..=wanted as u64).collect::<Vec<_>>());
    let values: BTreeSet<String> = points
        .iter()
        .map(|point| point["values"].to_string())
        .collect();
    assert_eq!(values.len(), wanted, "no point is measured twice");
}

#[test]
fn a_wrong_tune_line_is_named_and_nothing_is_begun() {
    let lab = swept();
    let tune = "// lab: tune BLOCK = 32, 64, 96";
    for (line, why) in [
        (
            "// nothing",
            "kernel.cu, line 5: 'BLOCK * STEP <= 128' names 'BLOCK', which has no tune line",
        ),
        (
            "// lab: tune BLOCK",
            "kernel.cu, line 3: `lab: tune BLOCK` has no values: write `lab: tune BLOCK = 64, 128`",
        ),
        (
            "// lab: tune BLOCK = 1..10000 step 1",
            "kernel.cu, line 5: 'BLOCK * STEP <= 128'",
        ),
        (
            "// lab: tune BLOCK = 2000..3000",
            "line 5: 'BLOCK * STEP <= 128' is false for all 2,002 combinations: no point is left to try",
        ),
        (
            "// lab: tune BLOCK = 1..1000000000",
            "has more than 10,000 values: write a larger `step`",
        ),
        (
            "// lab: tune WIDTH = 1, 2",
            "kernel.cu, line 3: the source never uses WIDTH: write `constexpr int WIDTH = 1;` and use WIDTH in the kernel",
        ),
        (
            "// lab: tune STEP = 1, 2",
            "kernel.cu, line 4: STEP has a tune line already, line 3: put all its values there",
        ),
        (
            "// lab: tume BLOCK = 1, 2",
            "kernel.cu, line 3: `lab: tume` is unknown: did you mean `lab: tune`?",
        ),
    ] {
        // Ten thousand values are allowed, so that one is wrong in another way.
        let line = line.replace("1..10000 step 1", "300..10000 step 1");
        lab.write("kernel.cu", KERNEL.replace(tune, &line));
        lab.lab("sweep").is(64).says(why);
    }
    lab.write("kernel.cu", KERNEL.replace("// lab:", "//"));
    lab.lab("sweep")
        .is(64)
        .says("kernel.cu has no tune line: write `// lab: tune NAME = 64, 128` for a constant NAME of the kernel");
    lab.lab("sweep --show last")
        .is(64)
        .says("there is no sweep of kernel.cu yet: `lab sweep` makes one");
    lab.lab("sweep --budget soon")
        .is(64)
        .says("'soon' is neither a number of points nor a time such as 90s, 30m or 2h");
    assert!(!lab.path(".lab/sweep").exists());
    // It reads the file on disk, and a sweep judges copies.
    let own = Lab::new();
    own.write("kernel.cu", KERNEL);
    own.lab("sweep")
        .is(64)
        .says("which reads the kernel on disk, and a sweep judges copies");
}

/// A judge that is a script, and judges one point after the other. Blocks of 64 are fast, and others
/// are slow and measured until enough was measured of them. Each judge writes a line into `judges`.
fn with_script(lab: &Lab) -> RunSpec {
    lab.script(
        "../bin/judge",
        &format!(
            "{READ_REQUEST}case \"$request\" in *'\"kind\":\"build\"'*) while read order; do echo 'built: yes'; done; exit;; esac\n\
             echo started >>'{}'\n\
             while read order; do\n\
             echo 'device: Test GPU'; echo 'stage: measure'\n\
             if grep -q 'BLOCK 64' \"$4\"; then echo 'throughput_sps: 1000 low=990 high=1010'\n\
             else echo 'throughput_sps: 500 low=490 high=510'; read enough; echo \"told: $enough\"; fi\n\
             echo 'correctness: pass'; echo 'exit: 0'; done",
            lab.path("judges").display()
        ),
    );
    RunSpec {
        program: lab.path("../bin/judge"),
        ..RunSpec::new(Reason::Command)
    }
}

#[test]
fn one_judge_judges_all_points_and_one_that_is_surely_slower_ends_early() {
    let lab = swept();
    let project = Project::open(&lab.repo, None).unwrap();
    let request = SweepRequest::default();
    let mut session = Session::begin(&project, with_script(&lab), &request).unwrap();
    let control = Control::new().unwrap();
    assert_eq!(session.run(&control, &mut |_| {}).unwrap(), Ended::Complete);
    let points = &session.sweep.points;
    assert_eq!(
        (points[0].values.join(" ").as_str(), points[0].outcome),
        ("64 1", PointOutcome::Pass)
    );
    for point in points {
        let is_fast = point.values[0] == "64";
        let expected = if is_fast {
            PointOutcome::Pass
        } else {
            PointOutcome::Slower
        };
        assert_eq!(point.outcome, expected, "{point:?}");
        let figure = point.figure.as_ref().unwrap().measure.value;
        assert_eq!(figure, if is_fast { 1000.0 } else { 500.0 });
    }
    let judges = fs::read_to_string(lab.path("judges")).unwrap();
    assert_eq!(judges.lines().count(), 1);
    // No device is emulated here: the best is known.
    drop(session);
    lab.lab("sweep --show last")
        .is(0)
        .says("slower, ended early")
        .says("  importance: BLOCK 100 %, STEP ")
        .says("BLOCK down, STEP across (% of the best, ✗ not correct, · not tried, – excluded):")
        .says("`lab sweep --apply` writes point ");
    lab.lab("sweep --apply").is(0).says(" has BLOCK=64 STEP=");
}

#[test]
fn an_agent_sweeps_and_writes_a_point_into_the_kernel() {
    let lab = swept();
    let mut wire = Wire::of(&lab);
    let wrong = wire.call("sweep", json!({ "points": 2, "seconds": 3 }));
    let why = "`points` and `seconds` both end a sweep: give one of them";
    assert_eq!(wrong["summary"], why);
    let wrong = wire.call("sweep", json!({ "point": 2 }));
    assert_eq!(
        wrong["summary"],
        "`point` names the point that `apply` writes"
    );
    let none = wire.call("sweep", json!({ "apply": true }));
    let why = "there is no sweep of kernel.cu yet: `lab sweep` makes one";
    assert_eq!(none["summary"], why);

    let some = wire.call("sweep", json!({ "points": 2, "strategy": "tpe" }));
    assert_eq!(
        (&some["ended"], &some["sweep"]),
        (&json!("budget_spent"), &json!(1))
    );
    let all = wire.call("sweep", json!({}));
    assert_eq!(faults_by(&wire.schema("sweep"), &all), Vec::<String>::new());
    assert_eq!(
        (&all["ended"], &all["counts"]["passed"], &all["sweep"]),
        (&json!("complete"), &json!(3), &json!(1))
    );
    let summary = all["summary"].as_str().unwrap();
    let counted = "sweep 1 of kernel.cu: 5 of 5 points: 3 passed; 1 wrong; 1 not built";
    assert!(summary.starts_with(counted), "{summary}");
    let next = all["next"].as_str().unwrap();
    assert!(next.contains("`apply` with `point`"), "{next}");
    // The points that passed come first.
    let points = all["points"].as_array().unwrap();
    let passed = points.iter().take_while(|point| point["outcome"] == "pass");
    assert_eq!((points.len(), passed.count()), (5, 3));

    let other = points
        .iter()
        .find(|point| point["values"] == json!(["32", "2"]));
    let number = &other.unwrap()["number"];
    let applied = wire.call("sweep", json!({ "apply": true, "point": number }));
    assert_eq!(applied["next"], "Call judge.");
    assert_eq!(
        (&applied["values"], &applied["changed"]),
        (&json!("BLOCK=32 STEP=2"), &json!(true))
    );
    assert_eq!(
        faults_by(&wire.schema("sweep"), &applied),
        Vec::<String>::new()
    );
    assert!(lab.read("kernel.cu").contains("#define BLOCK 32\n"));
    assert_eq!(wire.close(), 0);
}

/// Of the first two judges each waits for the other.
#[test]
fn with_two_devices_two_points_are_judged_at_the_same_time() {
    let lab = swept();
    let meeting = lab.path("../meeting");
    fs::create_dir(&meeting).unwrap();
    lab.script(
        "../bin/judge",
        &format!(
            "{READ_REQUEST}case \"$request\" in *'\"on_standby\":true'*) read order || exit;; esac\n\
             cd '{}'\n\
             if mkdir first 2>/dev/null; then mkfifo meet; mkdir ready; read -r x <meet\n\
             elif mkdir second 2>/dev/null; then until [ -d ready ]; do :; done; echo >meet; fi\n\
             echo 'device: Test GPU'; echo 'throughput_sps: 1000 low=990 high=1010'; echo 'correctness: pass'",
            meeting.display()
        ),
    );
    let spec = RunSpec {
        program: lab.path("../bin/judge"),
        ..RunSpec::new(Reason::Command)
    };
    let request = SweepRequest {
        devices: vec![Target::Cpu, Target::Cpu],
        builders: Some(0),
        ..SweepRequest::default()
    };
    let project = Project::open(&lab.repo, None).unwrap();
    let mut session = Session::begin(&project, spec, &request).unwrap();
    let control = Control::new().unwrap();
    assert_eq!(session.run(&control, &mut |_| {}).unwrap(), Ended::Complete);
    let points = &session.sweep.points;
    let numbers: BTreeSet<u32> = points.iter().map(|point| point.number).collect();
    let values: BTreeSet<String> = points.iter().map(|point| point.values.join(" ")).collect();
    assert_eq!((numbers, values.len()), ((1..=5).collect(), 5));
    drop(session);
    let shown = lab.lab("sweep --show last --json").is(0).json();
    assert_eq!(shown["target"], json!("cpu,cpu"));
    assert!(!lab.path(".lab/sweep/1/tree").exists());

    lab.lab("sweep --device cuda:1,cuda,cuda:1").is(64).says(
        "--device names a GPU twice, and a GPU measures one point after the other: name each once",
    );
    // The built-in judge on two devices, each of which is emulated.
    let both = lab.lab("sweep --device cpu,cpu").is(0);
    both.says(
        "sweep 2 of kernel.cu: 5 of 5 points: 3 passed; 1 wrong; 1 not built  cpu (emulated, ",
    )
    .says(" threads), 2 lanes: cpu, cpu\n");
}

#[test]
fn two_sweeps_of_one_kernel_do_not_go_on_at_once_and_a_budget_ends_one() {
    let lab = swept();
    let project = Project::open(&lab.repo, None).unwrap();
    let request = SweepRequest {
        strategy: Strategy::Tpe,
        budget: Budget::Points(2),
        builders: Some(1),
        ..SweepRequest::default()
    };
    let spec = with_script(&lab);
    let mut session = Session::begin(&project, spec.clone(), &request).unwrap();
    lab.lab("sweep")
        .is(64)
        .says("sweep 1 of kernel.cu goes on in another process: wait for its end");
    let control = Control::new().unwrap();
    assert_eq!(
        session.run(&control, &mut |_| {}).unwrap(),
        Ended::BudgetSpent
    );
    assert_eq!((session.sweep.points.len(), session.wanted()), (2, 2));
    drop(session);
    // An ended control ends the sweep before its next point.
    let mut session = Session::begin(&project, spec.clone(), &SweepRequest::default()).unwrap();
    assert_eq!(session.sweep.points.len(), 2);
    control.end();
    assert_eq!(
        session.run(&control, &mut |_| {}).unwrap(),
        Ended::Interrupted
    );
    drop(session);
    let anew = SweepRequest {
        anew: true,
        ..request
    };
    let session = Session::begin(&project, spec, &anew).unwrap();
    assert_eq!(
        (session.sweep.start.sweep.0, session.sweep.points.len()),
        (2, 0)
    );
}

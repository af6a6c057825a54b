//! The runner as the screen uses it. The built-in harness is a script here.

use crate::lab::Lab;
use lab_project::Project;
use lab_run::verdict::Outcome;
use lab_run::{Ending, Reason};
use lab_runner::{RunEvent, Runner};
use lab_testing::{READ_REQUEST, patience};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

fn runner(script: &str) -> (Lab, Runner, Receiver<RunEvent>) {
    let lab = Lab::empty();
    lab.write("kernel.cu", "// one\n");
    lab.write("problem.toml", "# of the script\n");
    lab.script("../bin/judge", &format!("{READ_REQUEST}{script}"));
    let project = Arc::new(Project::open(&lab.repo, None).unwrap());
    let (send, events) = channel();
    let sink = Arc::new(move |event| drop(send.send(event)));
    let runner =
        Runner::with_program(project, lab.path("../bin/judge"), |_| None, false, sink).unwrap();
    (lab, runner, events)
}

#[track_caller]
fn next(events: &Receiver<RunEvent>) -> RunEvent {
    events.recv_timeout(patience()).expect("an event comes")
}

#[track_caller]
fn ended(events: &Receiver<RunEvent>) -> lab_run::record::Record {
    loop {
        if let RunEvent::Ended(record) = next(events) {
            return *record;
        }
    }
}

#[test]
fn a_newer_start_ends_the_older_run_at_once() {
    // It hangs on the first bytes, and passes the second.
    let (lab, runner, events) =
        runner("grep -q one \"$4\" && { echo hanging; sleep 1000; }; echo 'correctness: pass'");
    runner.start(Reason::Opened);
    loop {
        if let RunEvent::Progress(_, batch) = next(&events)
            && batch.lines.iter().any(|l| l.text == "hanging")
        {
            break;
        }
    }
    lab.write("kernel.cu", "// two\n");
    runner.start(Reason::Saved);
    let first = ended(&events);
    assert_eq!(
        (first.start.id.0, first.ending),
        (1, Some(Ending::Superseded))
    );
    assert_eq!(first.verdict.unwrap().outcome, Outcome::Void);
    let second = ended(&events);
    assert_eq!((second.start.id.0, second.start.reason), (2, Reason::Saved));
    assert_eq!(second.verdict.unwrap().outcome, Outcome::Pass);
}

#[test]
fn the_built_in_harness_judges_a_snapshot_with_what_it_includes() {
    let (lab, runner, events) = runner(
        "[ \"$1\" = harness ] && cat \"$4\" \"$2/../tile/t.cuh\" \"$2/problem.toml\"; echo \"shown_as: $6\"; echo 'correctness: pass'",
    );
    std::fs::create_dir_all(lab.path("a")).unwrap();
    std::fs::create_dir_all(lab.path("tile")).unwrap();
    lab.write("a/kernel.cu", "#include \"../tile/t.cuh\"\n");
    lab.write("a/problem.toml", "# the problem\n");
    lab.write("tile/t.cuh", "// the tile\n");
    runner.set_project(Arc::new(
        Project::open(&lab.repo, Some("a".as_ref())).unwrap(),
    ));
    runner.start(Reason::Opened);
    let record = ended(&events);
    assert_eq!(record.verdict.unwrap().outcome, Outcome::Pass);
    let log = lab.read(".lab/runs/1/run.log");
    assert_eq!(
        log,
        "#include \"../tile/t.cuh\"\n// the tile\n# the problem\nshown_as: a/kernel.cu\ncorrectness: pass\n"
    );
    assert_eq!(
        lab.read(".lab/runs/1/kernel.cu"),
        "#include \"../tile/t.cuh\"\n"
    );
}

#[test]
fn kill_ends_it_and_dropping_the_runner_does_too() {
    let (lab, runner, events) = runner("echo here; sleep 1000");
    runner.start(Reason::Rerun);
    while !matches!(next(&events), RunEvent::Progress(..)) {}
    runner.kill();
    assert_eq!(ended(&events).verdict.unwrap().outcome, Outcome::Void);
    runner.start(Reason::Rerun);
    while !matches!(next(&events), RunEvent::Progress(..)) {}
    drop(runner);
    assert_eq!(ended(&events).ending, Some(Ending::Superseded));
    drop(lab);
}

#[test]
fn fifty_thousand_lines_do_not_drown_the_screen() {
    let (lab, runner, events) =
        runner("yes 'a line of text' | head -n 200000; echo 'correctness: pass'");
    runner.start(Reason::Opened);
    let (mut batches, mut lines) = (0, 0u64);
    let record = loop {
        match next(&events) {
            RunEvent::Progress(_, batch) => {
                assert!(batch.lines.len() <= 1_000);
                batches += 1;
                lines += batch.lines.len() as u64 + batch.skipped;
            }
            RunEvent::Ended(record) => break record,
            _ => {}
        }
    };
    assert_eq!(lines, 200_001, "each line is shown or counted");
    assert!(
        batches <= 2 + (record.seconds.unwrap() / 0.016) as u64,
        "{batches} in {:?} s",
        record.seconds
    );
    assert_eq!(lab.read(".lab/runs/1/run.log").lines().count(), 200_001);
}

#[test]
fn what_cannot_start_is_said() {
    let (lab, runner, events) = runner("true");
    std::fs::remove_file(lab.path("kernel.cu")).unwrap();
    runner.start(Reason::Saved);
    let RunEvent::NotStarted { why, .. } = next(&events) else {
        panic!("nothing can start")
    };
    assert!(why.contains("kernel.cu is not there"), "{why}");
    lab.write("kernel.cu", "// x\n");
    std::fs::remove_file(lab.path("../bin/judge")).unwrap();
    runner.start(Reason::Saved);
    let verdict = ended(&events).verdict.unwrap();
    assert_eq!(verdict.outcome, Outcome::NotJudged);
    assert!(
        verdict.why.contains("could not be started"),
        "{}",
        verdict.why
    );
}

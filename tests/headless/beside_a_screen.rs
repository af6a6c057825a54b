//! `lab run` beside an open screen: if one of them judges bytes, or has just judged them, the other
//! one does not judge them too. A runner plays the screen here.

use crate::lab::Lab;
use lab_project::Project;
use lab_protocol::Target;
use lab_run::inputs;
use lab_run::record::Record;
use lab_run::verdict::Outcome;
use lab_run::{Reason, RunId};
use lab_runner::execute;
use lab_runner::process::Control;
use lab_runner::spec::RunSpec;
use lab_runner::{RunEvent, Runner};
use lab_store::{RunIndex, RunStore};
use lab_testing::{patience, until};
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;

/// The built-in harness is a script here. It passes; while there is a folder `closed`, it waits at
/// the gate first.
fn open_lab() -> Lab {
    let lab = Lab::empty();
    lab.write("kernel.cu", "// the first\n");
    lab.write("problem.toml", "# of the script\n");
    let gate = lab.path("..").display().to_string();
    lab.script(
        "../bin/judge",
        &format!(
            "cd {gate}\necho 'device: Test GPU'\nif [ -d closed ]; then touch here; read -r go < gate; fi\n\
             if [ -e broken ]; then echo 'fault: lab'; echo 'stopped: no GPU'; exit 64; fi\n\
             echo 'h0_max_diff: 1e-6 limit=1e-5'\necho 'correctness: pass'\necho 'throughput_sps: 1000'"
        ),
    );
    lab.git("add -A");
    lab.git("commit -qm start");
    lab.write("kernel.cu", "// better\n");
    lab
}

fn gated() -> Lab {
    let lab = open_lab();
    lab.sh("cd ..; mkfifo gate; mkdir closed").is(0);
    lab
}

/// Waits until a harness is at the gate.
fn at_the_gate(lab: &Lab) {
    until("the harness is at the gate", || {
        lab.path("../here").exists()
    });
}

fn let_go(lab: &Lab) {
    lab.sh("cd ..; rmdir closed; echo go > gate").is(0);
}

fn project(lab: &Lab) -> Arc<Project> {
    Arc::new(Project::open(&lab.repo, None).unwrap())
}

fn judge(lab: &Lab) -> PathBuf {
    lab.path("../bin/judge")
}

fn screen(lab: &Lab) -> (Runner, Receiver<RunEvent>) {
    let (send, events) = channel();
    let sink = Arc::new(move |event| drop(send.send(event)));
    (
        Runner::with_program(project(lab), judge(lab), |_| None, false, sink).unwrap(),
        events,
    )
}

/// Runs `lab run`. Returns its record and all events.
fn command(lab: &Lab, device: Option<Target>) -> JoinHandle<(Record, Vec<RunEvent>)> {
    let (project, program) = (project(lab), judge(lab));
    std::thread::spawn(move || {
        let mut events = Vec::new();
        let spec = RunSpec {
            device,
            program,
            ..RunSpec::new(Reason::Command)
        };
        let control = Control::new().unwrap();
        let mut index = RunIndex::new(&project);
        let record = execute::execute(None, &project, &spec, &mut index, &control, |event| {
            events.push(event);
        })
        .unwrap();
        (record, events)
    })
}

/// The number of the run that a `lab run` reports.
#[track_caller]
fn reported(lab: &Lab, device: Option<Target>) -> u64 {
    let (record, _) = command(lab, device).join().unwrap();
    assert_eq!(record.verdict.unwrap().outcome, Outcome::Pass);
    record.start.id.0
}

#[track_caller]
fn next(events: &Receiver<RunEvent>) -> RunEvent {
    events.recv_timeout(patience()).expect("an event comes")
}

/// The record of the next `Ended`, and whether the run was joined.
#[track_caller]
fn ended(events: &Receiver<RunEvent>) -> (Record, bool) {
    let mut joined = false;
    loop {
        match next(events) {
            RunEvent::Ended(record) => return (*record, joined),
            RunEvent::Joined(_) => joined = true,
            RunEvent::Started(_) => joined = false,
            RunEvent::Progress(..) => {}
            other => panic!("{other:?}"),
        }
    }
}

fn runs(lab: &Lab) -> usize {
    let entries = std::fs::read_dir(lab.path(".lab/runs"))
        .into_iter()
        .flatten()
        .flatten();
    entries.filter(|entry| entry.path().is_dir()).count()
}

#[test]
fn a_save_that_a_command_judges_is_followed_by_the_screen() {
    let lab = gated();
    let (runner, events) = screen(&lab);
    let command = command(&lab, None);
    at_the_gate(&lab);
    runner.start(Reason::Saved);
    let RunEvent::Joined(start) = next(&events) else {
        panic!("it is being judged")
    };
    assert_eq!(start.id, RunId(1));
    let RunEvent::Progress(RunId(1), batch) = next(&events) else {
        panic!("its lines are shown")
    };
    assert_eq!(batch.lines[0].text, "device: Test GPU");
    let_go(&lab);
    let (record, _) = ended(&events);
    assert_eq!(
        (record.start.id, record.verdict.unwrap().outcome),
        (RunId(1), Outcome::Pass)
    );
    command.join().unwrap();
    assert_eq!(runs(&lab), 1);
}

#[test]
fn a_save_that_a_command_has_just_judged_is_not_judged_again() {
    let lab = open_lab();
    let (runner, events) = screen(&lab);
    assert_eq!(reported(&lab, None), 1);
    runner.start(Reason::Saved);
    let (record, joined) = ended(&events);
    assert_eq!((record.start.id, joined), (RunId(1), true));
    // The same bytes, saved again, are a save like any other.
    lab.write("kernel.cu", "// better\n");
    runner.start(Reason::Saved);
    let (record, joined) = ended(&events);
    assert_eq!((record.start.id, joined), (RunId(2), false));
    // A rerun that the user asks for is a new run.
    for reason in [Reason::Rerun, Reason::Measure] {
        runner.start(reason);
        assert!(!ended(&events).1, "{reason:?}");
    }
    assert_eq!(runs(&lab), 4);
}

#[test]
fn a_command_gets_the_verdict_of_the_run_that_the_screen_began() {
    let lab = gated();
    let (runner, events) = screen(&lab);
    runner.start(Reason::Saved);
    at_the_gate(&lab);
    let command = command(&lab, None);
    let_go(&lab);
    let (record, told) = command.join().unwrap();
    assert_eq!(
        (record.start.id, record.verdict.unwrap().outcome),
        (RunId(1), Outcome::Pass)
    );
    let lines = told.iter().filter_map(|event| match event {
        RunEvent::Progress(_, batch) => Some(batch.lines.iter().map(|line| line.text.as_str())),
        _ => None,
    });
    let lines: Vec<&str> = lines.flatten().collect();
    assert_eq!(lines[0], "device: Test GPU");
    assert_eq!(lines.last(), Some(&"throughput_sps: 1000"));
    assert_eq!(ended(&events).0.start.id, RunId(1));
    // Only the first command follows: a second one judges again, and so does a command for another
    // device.
    assert_eq!(reported(&lab, None), 2);
    lab.write("kernel.cu", "// newer\n");
    runner.start(Reason::Saved);
    assert_eq!(ended(&events).0.start.id, RunId(3));
    assert_eq!(reported(&lab, Some(Target::Cpu)), 4);
    assert_eq!(reported(&lab, None), 3);
    assert_eq!(reported(&lab, None), 5);
    lab.lab("discard --run 3 -m newer")
        .is(0)
        .says("discard run 3");
}

#[test]
fn a_run_whose_process_is_killed_is_judged_by_who_followed_it() {
    let lab = open_lab();
    let (runner, events) = screen(&lab);
    let record = command(&lab, None).join().unwrap().0;
    let store = RunStore::new(&project(&lab).lab_dir);
    store
        .write(&Record {
            ended: None,
            ending: None,
            verdict: None,
            ..record
        })
        .unwrap();
    // The process that holds this lock judges.
    let held = File::open(store.log(RunId(1))).unwrap();
    held.lock().unwrap();
    runner.start(Reason::Saved);
    let RunEvent::Joined(_) = next(&events) else {
        panic!("it is being judged")
    };
    drop(held);
    let (record, joined) = ended(&events);
    assert_eq!((record.start.id, joined), (RunId(2), false));
    assert_eq!(record.verdict.unwrap().outcome, Outcome::Pass);
}

#[test]
fn who_follows_a_run_may_stop_following() {
    let lab = gated();
    let (runner, events) = screen(&lab);
    let command = command(&lab, None);
    at_the_gate(&lab);
    runner.start(Reason::Saved);
    let RunEvent::Joined(_) = next(&events) else {
        panic!("it is being judged")
    };
    runner.kill();
    while !matches!(next(&events), RunEvent::Left(RunId(1))) {}
    let_go(&lab);
    assert_eq!(
        command.join().unwrap().0.verdict.unwrap().outcome,
        Outcome::Pass
    );
    assert_eq!(runs(&lab), 1);
}

#[test]
fn what_could_not_be_judged_is_not_tried_twice() {
    let lab = gated();
    lab.write("../broken", "");
    let (runner, events) = screen(&lab);
    let command = command(&lab, None);
    at_the_gate(&lab);
    runner.start(Reason::Saved);
    let RunEvent::Joined(_) = next(&events) else {
        panic!("it is being judged")
    };
    let_go(&lab);
    let of_command = command.join().unwrap().0;
    assert_eq!(
        of_command.verdict.as_ref().unwrap().outcome,
        Outcome::NotJudged
    );
    assert_eq!(ended(&events).0, of_command);
    assert_eq!(runs(&lab), 0);
}

#[test]
fn thirty_turns_beside_a_screen_make_as_many_runs() {
    const TURNS: usize = 30;
    let lab = open_lab();
    lab.write("kernel.cu", "// the first\n");
    assert_eq!(reported(&lab, None), 1);
    let (runner, events) = screen(&lab);
    for turn in 0..TURNS {
        lab.write("kernel.cu", format!("// turn {turn}\n"));
        // The screen sees the save before or after the command has begun.
        let first = (turn % 2 == 0).then(|| command(&lab, None));
        runner.start(Reason::Saved);
        first.unwrap_or_else(|| command(&lab, None)).join().unwrap();
        ended(&events);
        lab.lab(&format!("discard -m 'turn {turn}'")).is(0);
        // The watcher reports the incumbent's bytes.
        runner.start(Reason::Saved);
        assert_eq!(ended(&events).0.start.id, RunId(1));
    }
    assert_eq!(runs(&lab), TURNS + 1);
}

#[test]
fn of_two_that_begin_at_once_one_judges() {
    let lab = open_lab();
    let screens = [screen(&lab), screen(&lab)];
    for turn in 1..=20 {
        lab.write("kernel.cu", format!("// turn {turn}\n"));
        for (runner, _) in &screens {
            runner.start(Reason::Saved);
        }
        for (_, events) in &screens {
            assert_eq!(ended(events).0.verdict.unwrap().outcome, Outcome::Pass);
        }
        assert_eq!(runs(&lab), turn);
    }
}

#[test]
fn bytes_of_another_kernel_or_with_other_rules_are_no_duplicate() {
    let lab = open_lab();
    let (runner, events) = screen(&lab);
    assert_eq!(reported(&lab, None), 1);
    let before = inputs::read(&project(&lab)).unwrap().fingerprint;
    lab.write("problem.toml", "# other rules\n");
    assert_ne!(inputs::read(&project(&lab)).unwrap().fingerprint, before);
    runner.start(Reason::Saved);
    let (record, joined) = ended(&events);
    assert_eq!((record.start.id, joined), (RunId(2), false));
}

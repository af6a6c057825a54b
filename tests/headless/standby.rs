//! The standby judge for the next run, and all reasons for which a run does not use it. The
//! built-in harness is a script here.

use crate::lab::Lab;
use lab_project::Project;
use lab_run::Reason;
use lab_run::inputs;
use lab_run::record::Record;
use lab_run::verdict::Outcome;
use lab_runner::spec::RunSpec;
use lab_runner::standby::{Owner, Standby};
use lab_runner::{RunEvent, Runner};
use lab_testing::{READ_REQUEST, patience, until};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// On standby it writes its process id down and waits for the request, as the judge does.
const WAITS: &str = "echo $$ >> $pids; read order || exit; echo 'stood by'";

struct Bench {
    /// The judge ends before the folder is removed.
    runner: Option<Runner>,
    events: Receiver<RunEvent>,
    lab: Lab,
}

impl Bench {
    /// `on_standby` is the line that the harness runs first when it is started ahead of its run.
    fn new(on_standby: &str) -> Bench {
        let lab = Lab::empty();
        lab.write("kernel.cu", "// one\n");
        lab.write("problem.toml", "# the problem\n");
        lab.script(
            "../bin/judge",
            &format!(
                "pids={}\n{READ_REQUEST}case \"$request\" in *on_standby??true*) {on_standby};; esac\n\
                 case \"$(field incumbent)\" in ?*) echo 'it has an incumbent';; esac\n\
                 cat \"$2/problem.toml\" \"$4\"\ngrep -q crash \"$4\" && kill -SEGV $$\necho 'correctness: pass'",
                lab.path("../pids").display()
            ),
        );
        let project = Arc::new(Project::open(&lab.repo, None).unwrap());
        let (send, events) = channel();
        let sink = Arc::new(move |event| drop(send.send(event)));
        let runner =
            Runner::with_program(project, lab.path("../bin/judge"), |_| None, true, sink).unwrap();
        Bench {
            runner: Some(runner),
            events,
            lab,
        }
    }

    fn runner(&self) -> &Runner {
        self.runner.as_ref().unwrap()
    }

    /// Waits for the `n`-th standby judge. Returns its process id.
    #[track_caller]
    fn standby(&self, n: usize) -> Pid {
        let path: PathBuf = self.lab.path("../pids");
        let lines = || std::fs::read_to_string(&path).unwrap_or_default();
        until("a judge stands by", || lines().matches('\n').count() >= n);
        Pid::from_raw(lines().lines().nth(n - 1).unwrap().parse().unwrap()).unwrap()
    }

    /// Saves this kernel and judges it.
    #[track_caller]
    fn save(&self, kernel: &str) -> Record {
        self.lab.write("kernel.cu", kernel);
        self.runner().start(Reason::Saved);
        loop {
            match self
                .events
                .recv_timeout(patience())
                .expect("an event comes")
            {
                RunEvent::Ended(record) => return *record,
                RunEvent::NotStarted { why, .. } => panic!("{why}"),
                _ => {}
            }
        }
    }

    fn log(&self, run: u64) -> String {
        self.lab.read(&format!(".lab/runs/{run}/run.log"))
    }
}

fn outcome(record: &Record) -> Outcome {
    record.verdict.as_ref().unwrap().outcome
}

#[test]
fn each_run_has_a_judge_that_stood_by_and_that_judges_the_bytes_of_the_save() {
    let bench = Bench::new(WAITS);
    let first = bench.standby(1);
    assert_eq!(outcome(&bench.save("// two\n")), Outcome::Pass);
    assert_eq!(
        bench.log(1),
        "stood by\n# the problem\n// two\ncorrectness: pass\n"
    );
    assert_ne!(bench.standby(2), first, "one judge, one run");
    bench.save("// three\n");
    assert_eq!(
        bench.log(2),
        "stood by\n# the problem\n// three\ncorrectness: pass\n"
    );
    assert_eq!(bench.lab.read(".lab/runs/2/kernel.cu"), "// three\n");
}

#[test]
fn a_kernel_that_crashes_its_judge_does_not_reach_the_next_run() {
    let bench = Bench::new(WAITS);
    bench.standby(1);
    let crashed = bench.save("// crash\n");
    let why = crashed.verdict.as_ref().map(|verdict| verdict.why.clone());
    assert_eq!(outcome(&crashed), Outcome::NotJudged);
    assert_eq!(
        why.as_deref(),
        Some("the judge was ended by signal 11 (segmentation fault)")
    );
    bench.standby(2);
    assert_eq!(outcome(&bench.save("// well\n")), Outcome::Pass);
    assert!(
        bench.log(1).starts_with("stood by\n"),
        "what was not judged used up no number"
    );
}

#[test]
fn a_changed_problem_is_judged_by_a_judge_that_read_it() {
    let bench = Bench::new(WAITS);
    bench.standby(1);
    bench.lab.write("problem.toml", "# another problem\n");
    bench.save("// two\n");
    assert_eq!(
        bench.log(1),
        "# another problem\n// two\ncorrectness: pass\n"
    );
    bench.standby(2);
    bench.lab.write("reference.cu", "// a new file\n");
    bench.save("// three\n");
    assert_eq!(
        bench.log(2),
        "# another problem\n// three\ncorrectness: pass\n"
    );
    bench.standby(3);
    bench.save("// four\n");
    assert!(bench.log(3).starts_with("stood by\n"));
}

#[test]
fn another_device_or_project_is_not_what_it_stood_by_for() {
    let bench = Bench::new(WAITS);
    bench.standby(1);
    let reopened = || Arc::new(Project::open(&bench.lab.repo, None).unwrap());
    bench.lab.write("lab.toml", "device = \"cpu\"\n");
    bench.runner().set_project(reopened());
    bench.save("// two\n");
    assert!(!bench.log(1).contains("stood by"));
    bench.standby(2);
    bench
        .lab
        .write("lab.toml", "device = \"cpu\"\ntime_limit_s = 5\n");
    bench.runner().set_project(reopened());
    bench.save("// three\n");
    assert!(!bench.log(2).contains("stood by"));
}

#[test]
fn a_commit_makes_another_incumbent_and_another_judge_stands_by() {
    let bench = Bench::new(WAITS);
    let first = bench.standby(1);
    bench.runner().check_standby();
    bench.lab.git("add kernel.cu problem.toml");
    bench.lab.git("commit -qm first");
    // The screen gets the event and lets the runner check.
    bench.runner().check_standby();
    assert_ne!(bench.standby(2), first);
    until("the old one is gone", || test_kill_process(first).is_err());
    bench.save("// two\n");
    assert_eq!(
        bench.log(1),
        "stood by\nit has an incumbent\n# the problem\n// two\ncorrectness: pass\n"
    );
    bench.standby(3);
    // A commit of which the runner got no event.
    bench.lab.git("commit -qam second");
    bench.save("// three\n");
    assert!(
        !bench.log(2).contains("stood by"),
        "it stood by for the old incumbent"
    );
}

#[test]
fn one_that_was_killed_is_replaced() {
    let bench = Bench::new(WAITS);
    kill_process(bench.standby(1), Signal::KILL).unwrap();
    assert_eq!(outcome(&bench.save("// two\n")), Outcome::Pass);
    bench.standby(2);
    bench.save("// three\n");
    assert!(bench.log(2).starts_with("stood by\n"));
}

#[test]
fn one_that_hangs_is_replaced() {
    let bench = Bench::new("echo $$ >> $pids; while :; do sleep 1000; done");
    let hanging = bench.standby(1);
    assert_eq!(outcome(&bench.save("// two\n")), Outcome::Pass);
    assert_eq!(bench.log(1), "# the problem\n// two\ncorrectness: pass\n");
    until("the one that hangs is gone", || {
        test_kill_process(hanging).is_err()
    });
}

#[test]
fn one_that_speaks_before_it_is_asked_is_not_believed() {
    let bench = Bench::new("echo 'correctness: pass'; echo $$ >> $pids; read order; exit 0");
    bench.standby(1);
    bench.save("// two\n");
    assert_eq!(bench.log(1), "# the problem\n// two\ncorrectness: pass\n");
}

#[test]
fn one_that_ends_is_replaced() {
    let bench = Bench::new("echo $$ >> $pids; exit 3");
    let gone = bench.standby(1);
    assert_eq!(outcome(&bench.save("// two\n")), Outcome::Pass, "{gone:?}");
    assert_eq!(bench.log(1), "# the problem\n// two\ncorrectness: pass\n");
}

#[test]
fn the_runner_takes_it_along() {
    let mut bench = Bench::new(WAITS);
    let pid = bench.standby(1);
    drop(bench.runner.take());
    assert!(test_kill_process(pid).is_err(), "it is gone and reaped");
}

#[test]
fn an_external_harness_is_never_started_ahead() {
    let lab = Lab::new();
    lab.harness("echo started >> started");
    let project = Project::open(&lab.repo, None).unwrap();
    assert!(
        Standby::start(
            &project,
            &RunSpec::new(Reason::Saved),
            &inputs::read(&project).unwrap(),
            Owner::Screen
        )
        .unwrap()
        .is_none()
    );
    assert!(!lab.path("started").exists());
}

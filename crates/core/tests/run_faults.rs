//! Faults after the start of a run. Each test breaks one thing while the harness runs and checks that the run still
//! ends with its verdict.
//!
//! The harness is a shell script that breaks the thing itself: it runs after the run was announced and before the
//! verdict is recorded.

#![allow(clippy::unwrap_used)]

use lab_core::project::Project;
use lab_core::run::record::Record;
use lab_core::run::verdict::Outcome;
use lab_core::run::{Ending, Reason};
use lab_core::runner::{RunEvent, Runner};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// A repository whose HEAD holds a kernel that was judged, and a runner whose harness is a script.
struct Bench {
    runner: Option<Runner>,
    events: Receiver<RunEvent>,
    temp: tempfile::TempDir,
}

impl Bench {
    fn new() -> Bench {
        let temp = tempfile::tempdir().unwrap();
        let repo = temp.path().join("repo");
        fs::create_dir(&repo).unwrap();
        let git = git2::Repository::init(&repo).unwrap();
        fs::write(repo.join("kernel.cu"), "// kept\n").unwrap();
        fs::write(repo.join("problem.toml"), "# of the script\n").unwrap();
        let mut index = git.index().unwrap();
        index.add_path("kernel.cu".as_ref()).unwrap();
        index.write().unwrap();
        let tree = git.find_tree(index.write_tree().unwrap()).unwrap();
        let user = git2::Signature::now("A User", "user@example.com").unwrap();
        git.commit(Some("HEAD"), &user, &user, "start", &tree, &[]).unwrap();

        let judge = temp.path().join("judge");
        fs::write(&judge, "#!/bin/sh\nexec sh ../script \"$@\"\n").unwrap();
        fs::set_permissions(&judge, fs::Permissions::from_mode(0o755)).unwrap();
        let project = Arc::new(Project::open(&repo, None).unwrap());
        let (send, events) = channel();
        let sink = Arc::new(move |event| drop(send.send(event)));
        let runner = Runner::with_program(project, judge, sink).unwrap();
        Bench { runner: Some(runner), events, temp }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.temp.path().join("repo").join(name)
    }

    /// Judges this kernel with a harness that runs `fault` and then passes. Returns the record of `Ended`.
    #[track_caller]
    fn run(&self, kernel: &str, fault: &str) -> Record {
        let passes = "echo 'device: Test GPU'; echo 'throughput_sps: 100 low=99 high=101'; \
                      echo 'correctness: pass'";
        fs::write(self.path("kernel.cu"), kernel).unwrap();
        fs::write(self.temp.path().join("script"), format!("{fault}\n{passes}\n")).unwrap();
        self.runner.as_ref().unwrap().start(Reason::Saved);
        let mut has_started = false;
        loop {
            match self.events.recv_timeout(Duration::from_secs(60)).expect("an event comes") {
                RunEvent::Started(_) => has_started = true,
                RunEvent::Ended(record) => return *record,
                RunEvent::Progress(..) => {}
                other => panic!("the run was announced ({has_started}), then: {other:?}"),
            }
        }
    }
}

#[track_caller]
fn passes_with_caveat(record: &Record, caveat: &str) {
    let verdict = record.verdict.as_ref().expect("a verdict");
    assert_eq!(verdict.outcome, Outcome::Pass, "{verdict:?}");
    assert!(verdict.objective.is_some(), "{verdict:?}");
    assert!(verdict.caveats.iter().any(|text| text.contains(caveat)), "'{caveat}': {:?}", verdict.caveats);
}

fn recorded(bench: &Bench, run: u64) -> Record {
    serde_json::from_slice(&fs::read(bench.path(&format!(".lab/runs/{run}/record.json"))).unwrap()).unwrap()
}

#[test]
fn without_a_fault_there_is_no_caveat_and_the_incumbent_is_compared() {
    let bench = Bench::new();
    let kept = bench.run("// kept\n", ":");
    assert_eq!(kept.verdict.unwrap().caveats, [""; 0]);
    let tried = bench.run("// tried\n", ":");
    let verdict = tried.verdict.unwrap();
    assert_eq!(verdict.caveats, [""; 0]);
    assert!(verdict.change.is_some(), "the incumbent's recorded figure is compared");
}

#[test]
fn a_git_error_costs_the_comparison_and_not_the_verdict() {
    for fault in ["echo broken > .git/HEAD", "mv .git gone"] {
        let bench = Bench::new();
        bench.run("// kept\n", ":");
        let record = bench.run("// tried\n", fault);
        passes_with_caveat(&record, "not compared with the incumbent");
        assert_eq!(recorded(&bench, 2), record, "{fault}");
    }
}

#[test]
fn a_record_that_cannot_be_written_is_a_caveat() {
    let bench = Bench::new();
    let record = bench.run("// tried\n", "rm .lab/runs/1/record.json; mkdir -p .lab/runs/1/record.json/full");
    passes_with_caveat(&record, "this verdict is not recorded");
}

#[test]
fn a_run_folder_that_is_gone_is_a_caveat() {
    let bench = Bench::new();
    let record = bench.run("// tried\n", "rm -r .lab/runs/1");
    passes_with_caveat(&record, "this verdict is not recorded");
    passes_with_caveat(&record, "run.log is incomplete");
    let record = bench.run("// again\n", "rm -r .lab");
    passes_with_caveat(&record, "this verdict is not recorded");
}

#[test]
fn a_log_that_is_deleted_is_a_caveat() {
    let bench = Bench::new();
    let record = bench.run("// tried\n", "rm .lab/runs/1/run.log");
    passes_with_caveat(&record, "run.log is incomplete");
    assert_eq!(recorded(&bench, 1), record);
}

#[test]
fn an_index_that_cannot_be_read_or_written_changes_nothing() {
    let bench = Bench::new();
    bench.run("// kept\n", ":");
    let record = bench.run("// tried\n", "mkdir .lab/runs/index.jsonl");
    let verdict = record.verdict.as_ref().unwrap();
    assert_eq!(verdict.caveats, [""; 0]);
    assert!(verdict.change.is_some());
    assert_eq!(recorded(&bench, 2), record);
}

#[test]
fn a_harness_that_cannot_start_is_a_recorded_ending() {
    let bench = Bench::new();
    fs::remove_file(bench.temp.path().join("judge")).unwrap();
    let record = bench.run("// tried\n", ":");
    assert_eq!(record.ending, Some(Ending::NotStarted));
    let verdict = record.verdict.as_ref().unwrap();
    assert_eq!(verdict.outcome, Outcome::Crash);
    assert!(verdict.why.starts_with("the harness could not be started: "), "{}", verdict.why);
    assert_eq!(recorded(&bench, 1), record);
}

#[test]
fn the_next_run_works_after_each_fault() {
    let bench = Bench::new();
    bench.run("// one\n", "rm -r .lab/runs/1");
    let record = bench.run("// two\n", ":");
    assert_eq!(record.verdict.as_ref().unwrap().caveats, [""; 0]);
    assert_eq!(recorded(&bench, record.start.id.0), record);
}

//! A repository in a temporary folder, and a runner whose harness is a shell script.

#![allow(clippy::unwrap_used, dead_code)]

use lab_project::Project;
use lab_run::RunId;
use lab_run::record::Record;
use lab_runner::spec::RunSpec;
use lab_runner::{RunEvent, Runner};
use lab_store::RunStore;
use lab_testing::{READ_REQUEST, patience, write_script};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// Records of this process are signed with a key of the tests.
pub fn sign_for_tests() {
    lab_store::signature::use_key_file(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("key"));
}

/// HEAD holds kernel.cu with the text `// kept`.
pub struct Bench {
    runner: Option<Runner>,
    events: Receiver<RunEvent>,
    pub project: Arc<Project>,
    pub temp: tempfile::TempDir,
}

impl Bench {
    /// A repository without a standby judge.
    pub fn new() -> Bench {
        Bench::with(false)
    }

    pub fn with_standby() -> Bench {
        Bench::with(true)
    }

    fn with(keeps_standby: bool) -> Bench {
        sign_for_tests();
        let temp = tempfile::tempdir().unwrap();
        let repo = temp.path().join("repo");
        fs::create_dir(&repo).unwrap();
        git2::Repository::init(&repo).unwrap();
        commit(&repo, "// kept\n");
        fs::write(repo.join("problem.toml"), "# of the script\n").unwrap();
        let judge = temp.path().join("judge");
        write_script(
            &judge,
            &format!(
                "{READ_REQUEST}case \"$request\" in *on_standby??true*) read order || exit;; esac\n\
                 exec sh ../script \"$@\""
            ),
        );
        let project = Arc::new(Project::open(&repo, None).unwrap());
        let (send, events) = channel();
        let sink = Arc::new(move |event| drop(send.send(event)));
        let of = Arc::clone(&project);
        let runner = Runner::with_program(of, judge, |_| None, keeps_standby, sink).unwrap();
        Bench {
            runner: Some(runner),
            events,
            project,
            temp,
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.project.root.join(name)
    }

    /// The shell commands of the harness, from its next start on.
    pub fn script(&self, text: &str) {
        fs::write(self.temp.path().join("script"), text).unwrap();
    }

    pub fn runner(&self) -> &Runner {
        self.runner.as_ref().unwrap()
    }

    #[track_caller]
    pub fn event(&self) -> RunEvent {
        self.events
            .recv_timeout(patience())
            .expect("an event comes")
    }

    /// Starts a run and returns the record of its `Ended`.
    #[track_caller]
    pub fn run(&self, spec: impl Into<RunSpec>) -> Record {
        self.runner().start(spec);
        loop {
            match self.event() {
                RunEvent::Ended(record) => return *record,
                RunEvent::Started(_) | RunEvent::Progress(..) => {}
                other => panic!("no run: {other:?}"),
            }
        }
    }

    /// The record of a run as it is on disk.
    pub fn recorded(&self, run: u64) -> Record {
        RunStore::new(&self.project.lab_dir)
            .read(RunId(run))
            .unwrap()
    }
}

impl Drop for Bench {
    /// The runner's processes end before their folder is removed.
    fn drop(&mut self) {
        drop(self.runner.take());
    }
}

fn commit(repo: &Path, kernel: &str) {
    fs::write(repo.join("kernel.cu"), kernel).unwrap();
    let git = git2::Repository::open(repo).unwrap();
    let mut index = git.index().unwrap();
    index.add_path("kernel.cu".as_ref()).unwrap();
    index.write().unwrap();
    let tree = git.find_tree(index.write_tree().unwrap()).unwrap();
    let user = git2::Signature::now("A User", "user@example.com").unwrap();
    let parent = git.head().ok().map(|head| head.peel_to_commit().unwrap());
    let parents: Vec<_> = parent.iter().collect();
    git.commit(Some("HEAD"), &user, &user, "a commit", &tree, &parents)
        .unwrap();
}
